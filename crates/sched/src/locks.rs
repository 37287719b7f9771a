//! The table of the queues' locks, in the form of Lockmeter 2001.

use serde::Serialize;
use unspin_figures::Percent::{Lockmeter, ThreeDigits};
use unspin_figures::lockmeter_time;

/// What a lock is for.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "snake_case")]
pub enum LockClass {
    /// The lock of a CPU's run queue in the kernel.
    RunQueue,
    /// The lock of a queue of ours.
    DispatchQueue,
    /// All other spin locks of the kernel.
    Other,
}

/// The use of one lock: `struct lock_use` of bpf/locks.h, summed over the CPUs.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockUse {
    /// What it is for.
    pub class: LockClass,
    /// The CPU or the queue.
    pub number: u32,
    /// Acquisitions, at most; 0: not known.
    pub acquired: u64,
    /// Acquisitions that had to wait.
    pub contended: u64,
    /// Time for which CPUs waited.
    pub wait_ns: u64,
    /// The longest wait.
    pub wait_ns_max: u64,
}

impl LockUse {
    /// The lock's use as one CPU has counted it; None if there are too few bytes.
    pub fn parse(class: LockClass, number: u32, bytes: &[u8]) -> Option<LockUse> {
        let mut words =
            bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()));
        let [acquired, contended, wait_ns, wait_ns_max] = std::array::from_fn(|_| words.next());
        Some(LockUse {
            class,
            number,
            acquired: acquired?,
            contended: contended?,
            wait_ns: wait_ns?,
            wait_ns_max: wait_ns_max?,
        })
    }

    /// The sum of both uses.
    pub fn plus(self, other: LockUse) -> LockUse {
        LockUse {
            acquired: self.acquired + other.acquired,
            contended: self.contended + other.contended,
            wait_ns: self.wait_ns + other.wait_ns,
            wait_ns_max: self.wait_ns_max.max(other.wait_ns_max),
            ..self
        }
    }
}

/// What is measured while the scheduler was loaded.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Its length.
    pub seconds: f64,
    /// CPUs of the machine.
    pub cpus: usize,
}

const HEADER: &str = "\
SPINLOCKS         HOLD            WAIT
  UTIL  CON    MEAN(  MAX )   MEAN(  MAX )(% CPU)     TOTAL NOWAIT SPIN RJECT  NAME
";
const UNKNOWN: &str = "\
-: not measured. The kernel shows when a thread waits for a spin lock, not when it takes or releases one. So there is no UTIL and no HOLD, and
TOTAL, CON, NOWAIT and SPIN are those of the dispatch queues only: this scheduler counts its own calls, each at most one acquisition.
";

/// The table, with the sentence of Hartner 2001 on each class of queues' locks above it.
pub fn table(uses: &[LockUse], window: Window) -> String {
    let mut text = String::new();
    let mut rows = String::new();
    for (class, name) in [
        (LockClass::DispatchQueue, "dsq_lock"),
        (LockClass::RunQueue, "runqueue_lock"),
        (LockClass::Other, "other spin locks"),
    ] {
        let of_class: Vec<LockUse> = uses.iter().copied().filter(|one| one.class == class).collect();
        let Some(sum) = of_class.iter().copied().reduce(LockUse::plus) else { continue };
        if class != LockClass::Other {
            text += &headline(name, of_class.len(), &sum, window);
        }
        rows += &format!("\n{}\n", row(&sum, name, window));
        if of_class.len() > 1 {
            for one in of_class.iter().filter(|one| one.acquired + one.contended > 0) {
                rows += &format!("{}\n", row(one, &format!("  {name}[{}]", one.number), window));
            }
        }
    }
    text + "\n" + HEADER + &rows + "\n" + UNKNOWN
}

fn headline(name: &str, locks: usize, sum: &LockUse, window: Window) -> String {
    let waited = sum.wait_ns as f64 / 1e9;
    let plural = if locks == 1 { "" } else { "s" };
    format!(
        "The ({locks}) {name}{plural} spun for {} for a total of {:.2} of the {} CPUs.\n",
        ThreeDigits.of(share(waited, window)),
        waited / window.seconds.max(1e-9),
        window.cpus
    )
}

/// Of the whole machine.
fn share(waited: f64, window: Window) -> f64 {
    waited / (window.cpus as f64 * window.seconds).max(1e-9)
}

fn row(one: &LockUse, name: &str, window: Window) -> String {
    let waited = one.wait_ns as f64 / 1e9;
    let wait = match one.contended {
        0 => format!("    0us{}", " ".repeat(15)),
        contended => format!(
            " {}({})({})",
            lockmeter_time(waited / contended as f64),
            lockmeter_time(one.wait_ns_max as f64 / 1e9),
            Lockmeter.of(share(waited, window))
        ),
    };
    let dash = "    -";
    // Acquisitions are counted without the lock. More that waited than that: the count is not the whole.
    let (con, total, nowait) = if one.acquired >= one.contended && one.acquired > 0 {
        let con = one.contended as f64 / one.acquired as f64;
        (Lockmeter.of(con), format!("{:9}", one.acquired), Lockmeter.of(1.0 - con))
    } else {
        (dash.into(), format!("{:>9}", "-"), dash.into())
    };
    let spin = if total.trim() == "-" { dash } else { &con };
    format!(" {dash} {con}      -(     -){wait} {total} {nowait} {spin} {dash}  {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(class: LockClass, number: u32, acquired: u64, contended: u64) -> LockUse {
        LockUse { class, number, acquired, contended, wait_ns: contended * 10_000, wait_ns_max: 40_000 }
    }

    #[test]
    fn columns_stand_below_their_header() {
        let uses = [
            one(LockClass::DispatchQueue, 0, 2_392_438, 100_000),
            one(LockClass::RunQueue, 0, 0, 7),
            one(LockClass::RunQueue, 1, 0, 0),
        ];
        let text = table(&uses, Window { seconds: 1.0, cpus: 2 });
        assert!(
            text.starts_with(
                "The (1) dsq_lock spun for 50.0 % for a total of 1.00 of the 2 CPUs.\n\
             The (2) runqueue_locks spun for 0 % for a total of 0.00 of the 2 CPUs.\n"
            ),
            "{text}"
        );
        assert!(
            text.contains(
                "     -  4.2%      -(     -)   10us(  40us)(50.0%)   2392438 95.8%  4.2%     -  dsq_lock\n"
            ),
            "{text}"
        );
        assert!(
            text.contains("     -     -      -(     -)   10us(  40us)(0.00%)         -     -     -     -  runqueue_lock\n"),
            "{text}"
        );
        assert!(text.contains("  runqueue_lock[0]\n") && !text.contains("runqueue_lock[1]"), "{text}");
    }

    #[test]
    fn use_is_parsed_in_order() {
        let bytes: Vec<u8> = (1..=4u64).flat_map(u64::to_ne_bytes).collect();
        let parsed = LockUse::parse(LockClass::Other, 0, &bytes).unwrap();
        assert_eq!((parsed.acquired, parsed.contended, parsed.wait_ns, parsed.wait_ns_max), (1, 2, 3, 4));
        assert_eq!(LockUse::parse(LockClass::Other, 0, &bytes[8..]), None);
    }
}
