//! Which message a receiver wants: `convert_mode` and `testmsg` of `ipc/msg.c`.

use crate::participant::MsgWait;
use unspin_sync::atomic::Ordering;
use unspin_sys::ipc::flag::{MSG_COPY, MSG_EXCEPT};

/// A selection of messages: see the module's text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Selector {
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

impl Selector {
    /// The selection that `msgtyp` and `msgflg` of msgrcv(2) give.
    pub fn new(mtype: i64, flags: i32) -> Selector {
        match mtype {
            _ if flags & MSG_COPY != 0 => Selector::Number(mtype),
            0 => Selector::Any,
            // The lowest number has no negative; the highest is used (`convert_mode`).
            ..0 => Selector::UpTo(mtype.checked_neg().unwrap_or(i64::MAX)),
            _ if flags & MSG_EXCEPT != 0 => Selector::Except(mtype),
            _ => Selector::Only(mtype),
        }
    }

    /// Whether a message of this type is acceptable, if there is no better one.
    #[inline]
    pub fn admits(self, mtype: i64) -> bool {
        match self {
            Selector::Any | Selector::Number(_) => true,
            Selector::UpTo(highest) => mtype <= highest,
            Selector::Only(one) => mtype == one,
            Selector::Except(other) => mtype != other,
        }
    }

    /// The selection as two words for shared memory.
    pub fn pack(self) -> (u32, i64) {
        match self {
            Selector::Any => (0, 0),
            Selector::UpTo(mtype) => (1, mtype),
            Selector::Only(mtype) => (2, mtype),
            Selector::Except(mtype) => (3, mtype),
            Selector::Number(number) => (4, number),
        }
    }

    /// The inverse of [`Selector::pack`].
    pub fn unpack((mode, mtype): (u32, i64)) -> Selector {
        match mode {
            0 => Selector::Any,
            1 => Selector::UpTo(mtype),
            2 => Selector::Only(mtype),
            3 => Selector::Except(mtype),
            _ => Selector::Number(mtype),
        }
    }
}

impl MsgWait {
    // Relaxed: the waiter wrote these before it entered the queue under the queue's lock, which the reader holds.

    /// Which messages the receiver wants.
    pub(crate) fn selector(&self) -> Selector {
        Selector::unpack((self.mode.load(Ordering::Relaxed), self.mtype.load(Ordering::Relaxed)))
    }

    /// Stores which messages the thread wants.
    pub(crate) fn set_selector(&self, wanted: Selector) {
        let (mode, mtype) = wanted.pack();
        self.mode.store(mode, Ordering::Relaxed);
        self.mtype.store(mtype, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selector_follows_msgrcv_manual() {
        assert_eq!(Selector::new(0, MSG_EXCEPT), Selector::Any);
        assert_eq!(Selector::new(5, 0), Selector::Only(5));
        assert_eq!(Selector::new(5, MSG_EXCEPT), Selector::Except(5));
        assert_eq!(Selector::new(-5, MSG_EXCEPT), Selector::UpTo(5));
        assert_eq!(Selector::new(i64::MIN, 0), Selector::UpTo(i64::MAX));
        assert_eq!(Selector::new(-5, MSG_COPY), Selector::Number(-5));
    }

    #[test]
    fn packing_round_trips() {
        for wanted in [
            Selector::Any,
            Selector::UpTo(3),
            Selector::Only(i64::MAX),
            Selector::Except(1),
            Selector::Number(-7),
        ] {
            assert_eq!(Selector::unpack(wanted.pack()), wanted);
        }
    }
}
