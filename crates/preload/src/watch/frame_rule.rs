//! How the caller of a function is found on the stack, while that function calls another: a row of its unwind table.

/// The end of a function's frame while it calls another: directly above its own return address (the psABI's canonical
/// frame address).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// This many bytes above the stack pointer that the function has after its callee has returned.
    AboveStackPointer(usize),
    /// This many bytes above its frame-base register.
    AboveFrameBase(usize),
}

/// Where the frame-base register of the caller is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameBase {
    /// In the register: the function does not change it.
    Kept,
    /// On the stack, this many bytes below the end of the frame.
    Saved(usize),
    /// Unknown.
    Lost,
}

/// The row of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameRule {
    /// Where the frame ends.
    pub end: End,
    /// Where the caller's frame-base register is.
    pub frame_base: FrameBase,
}

/// The lowest bits of a packed rule are the distance to the end, the next ones say where the frame base is.
const DISTANCE_BITS: u32 = 32;
const BASE_BITS: u32 = 16;
/// The highest value of those bits: no frame saves the register as far below its end.
const LOST: u64 = (1 << BASE_BITS) - 1;
const ABOVE_STACK_POINTER: u64 = 1 << 62;
const ABOVE_FRAME_BASE: u64 = 1 << 63;

impl FrameRule {
    /// A call without a rule, packed.
    pub const NONE: u64 = 0;

    /// The rule as a word; [`NONE`](Self::NONE) for a frame of 4 GiB.
    pub fn pack(self) -> u64 {
        let (kind, distance) = match self.end {
            End::AboveStackPointer(n) => (ABOVE_STACK_POINTER, n as u64),
            End::AboveFrameBase(n) => (ABOVE_FRAME_BASE, n as u64),
        };
        // The register cannot be saved above the frame, so 0 is free.
        let base = match self.frame_base {
            FrameBase::Kept => 0,
            FrameBase::Saved(below) if (1..LOST).contains(&(below as u64)) => below as u64,
            FrameBase::Saved(_) | FrameBase::Lost => LOST,
        };
        if distance >> DISTANCE_BITS == 0 { kind | base << DISTANCE_BITS | distance } else { Self::NONE }
    }

    /// The rule of [`pack`](Self::pack); none if there is none.
    pub fn unpack(packed: u64) -> Option<FrameRule> {
        let distance = (packed & ((1 << DISTANCE_BITS) - 1)) as usize;
        let end = match packed & (ABOVE_STACK_POINTER | ABOVE_FRAME_BASE) {
            ABOVE_STACK_POINTER => End::AboveStackPointer(distance),
            ABOVE_FRAME_BASE => End::AboveFrameBase(distance),
            _ => return None,
        };
        let frame_base = match packed >> DISTANCE_BITS & LOST {
            0 => FrameBase::Kept,
            LOST => FrameBase::Lost,
            below => FrameBase::Saved(below as usize),
        };
        Some(FrameRule { end, frame_base })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_survives_packing() {
        for end in [End::AboveStackPointer(0), End::AboveStackPointer(4096), End::AboveFrameBase(16)] {
            for frame_base in [FrameBase::Kept, FrameBase::Saved(16), FrameBase::Lost] {
                let rule = FrameRule { end, frame_base };
                assert_eq!(FrameRule::unpack(rule.pack()), Some(rule));
            }
        }
        assert_eq!(FrameRule::unpack(FrameRule::NONE), None);
    }

    #[test]
    fn rule_that_does_not_fit_is_none_or_loses_the_frame_base() {
        let huge = FrameRule { end: End::AboveStackPointer(1 << 32), frame_base: FrameBase::Kept };
        assert_eq!(huge.pack(), FrameRule::NONE);
        let far = FrameRule { end: End::AboveFrameBase(16), frame_base: FrameBase::Saved(1 << 20) };
        assert_eq!(FrameRule::unpack(far.pack()).unwrap().frame_base, FrameBase::Lost);
    }
}
