//! Of which waits for a lock the holder is not recorded, and why: `docs/serve.md` lists all reasons.

use crate::lock::Lock;
use unspin_wire::RecordKind;

/// A smaller part of the time lost is due to rounding.
const ROUNDING: f64 = 1e-6;

/// Waits for a lock without a recorded holder.
#[derive(Clone, PartialEq, Debug)]
pub struct UnknownHolders {
    /// The time that threads waited for them, in seconds.
    pub seconds: f64,
    /// Why the holders are not recorded: sentences without their ends.
    pub reasons: Vec<String>,
}

impl Lock {
    /// The waits for this lock without a recorded holder; none if all holders are recorded.
    pub fn unknown_holders(&self) -> Option<UnknownHolders> {
        let known: f64 = self.holders.iter().map(|holder| holder.seconds).sum();
        let seconds = self.row.lost - known;
        (seconds > ROUNDING * self.row.lost)
            .then(|| UnknownHolders { seconds, reasons: reasons(self, seconds) })
    }
}

/// The reasons that apply to `seconds` of waits for a lock, without those of a hundredth of it.
fn reasons(lock: &Lock, seconds: f64) -> Vec<String> {
    let matters = |part: f64| part > 0.01 * seconds;
    let lost = |applies: fn(RecordKind) -> bool| -> f64 {
        lock.uses.iter().filter(|one| applies(one.kind)).map(|one| one.row.lost).sum()
    };
    let mut reasons = Vec::new();
    let without_holder = lost(|kind| kind.holder().is_none());
    let noun = lock.uses.iter().find(|one| one.kind.holder().is_none()).map(|one| one.kind.noun());
    if let Some(noun) = noun.filter(|_| matters(without_holder)) {
        reasons.push(format!("a {noun} has no holder that libc or unspin knows"));
    }
    let reacquired = lost(|kind| kind == RecordKind::Reacquired);
    if matters(reacquired) {
        reasons.push(
            "threads that wake up from a condition wait for its mutex within libc, where the holder is not seen"
                .into(),
        );
    }
    if matters(seconds - without_holder - reacquired) {
        reasons.push(
            "the holder let go just when it was looked for, was in another process, held 32 other locks, or was not \
             among the 64 threads that are searched"
                .into(),
        );
    }
    reasons
}
