//! Which message a receiver wants: `convert_mode` and `testmsg` of `ipc/msg.c`.

use crate::participant::Errand;
use unspin_sync::atomic::Ordering;
use unspin_sys::ipc::flag::{MSG_COPY, MSG_EXCEPT};

/// A selection of messages: see the module's text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wanted {
    /// The first message.
    Any,
    /// The first message of the lowest type that is not above this one.
    UpTo(i64),
    /// The first message of this type.
    Only(i64),
    /// The first message of any other type.
    Except(i64),
    /// The message at this position, counted from 0.
    Number(i64),
}

impl Wanted {
    /// The selection that `msgtyp` and `msgflg` of msgrcv(2) give.
    pub fn new(kind: i64, flags: i32) -> Wanted {
        match kind {
            _ if flags & MSG_COPY != 0 => Wanted::Number(kind),
            0 => Wanted::Any,
            // The lowest number has no negative; the highest is used (`convert_mode`).
            ..0 => Wanted::UpTo(kind.checked_neg().unwrap_or(i64::MAX)),
            _ if flags & MSG_EXCEPT != 0 => Wanted::Except(kind),
            _ => Wanted::Only(kind),
        }
    }

    /// Whether a message of this type is acceptable, if there is no better one.
    #[inline]
    pub fn admits(self, kind: i64) -> bool {
        match self {
            Wanted::Any | Wanted::Number(_) => true,
            Wanted::UpTo(highest) => kind <= highest,
            Wanted::Only(one) => kind == one,
            Wanted::Except(other) => kind != other,
        }
    }

    /// The selection as two words for shared memory.
    pub fn pack(self) -> (u32, i64) {
        match self {
            Wanted::Any => (0, 0),
            Wanted::UpTo(kind) => (1, kind),
            Wanted::Only(kind) => (2, kind),
            Wanted::Except(kind) => (3, kind),
            Wanted::Number(number) => (4, number),
        }
    }

    /// The inverse of [`Wanted::pack`].
    pub fn unpack((mode, kind): (u32, i64)) -> Wanted {
        match mode {
            0 => Wanted::Any,
            1 => Wanted::UpTo(kind),
            2 => Wanted::Only(kind),
            3 => Wanted::Except(kind),
            _ => Wanted::Number(kind),
        }
    }
}

impl Errand {
    // Relaxed: the waiter wrote these before it entered the queue under the queue's lock, which the reader holds.

    /// Which messages the receiver wants.
    pub(crate) fn wanted(&self) -> Wanted {
        Wanted::unpack((self.mode.load(Ordering::Relaxed), self.kind.load(Ordering::Relaxed)))
    }

    /// Stores which messages the thread wants.
    pub(crate) fn want(&self, wanted: Wanted) {
        let (mode, kind) = wanted.pack();
        self.mode.store(mode, Ordering::Relaxed);
        self.kind.store(kind, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_as_in_the_manual() {
        assert_eq!(Wanted::new(0, MSG_EXCEPT), Wanted::Any);
        assert_eq!(Wanted::new(5, 0), Wanted::Only(5));
        assert_eq!(Wanted::new(5, MSG_EXCEPT), Wanted::Except(5));
        assert_eq!(Wanted::new(-5, MSG_EXCEPT), Wanted::UpTo(5));
        assert_eq!(Wanted::new(i64::MIN, 0), Wanted::UpTo(i64::MAX));
        assert_eq!(Wanted::new(-5, MSG_COPY), Wanted::Number(-5));
    }

    #[test]
    fn packing_keeps_it() {
        for wanted in
            [Wanted::Any, Wanted::UpTo(3), Wanted::Only(i64::MAX), Wanted::Except(1), Wanted::Number(-7)]
        {
            assert_eq!(Wanted::unpack(wanted.pack()), wanted);
        }
    }
}
