//! The share of the ticks in which CPUs spun for a lock: the sentence of the report of 2002, "70 % of 8 CPUs spinning on
//! .text.lock.sem".

use std::fmt;

/// Functions of the kernel in which a CPU does nothing but wait for a lock, by parts of their names. Sources:
/// kernel/locking/qspinlock.c, qrwlock.c, osq_lock.c, mutex.c and rwsem.c; `.text.lock` is the section of the spin loops in 2.4 and 2.5.
const OF_THE_KERNEL: [&str; 7] = [
    "queued_spin_lock_slowpath",
    "queued_read_lock_slowpath",
    "queued_write_lock_slowpath",
    "osq_lock",
    "mutex_spin_on_owner",
    "rwsem_spin_on_owner",
    ".text.lock.",
];

/// The same of programs: the lock of the System V engines, and pthread's spin lock.
const OF_PROGRAMS: [&str; 2] = ["unspin_sysv::sync::lock::Lock::acquire_slow", "pthread_spin_lock"];

/// How many ticks were spent spinning.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SpinShare {
    /// All ticks.
    total: u64,
    /// Functions that spin, and their ticks, in the order of the table.
    spinning: Vec<(String, u64)>,
}

impl SpinShare {
    /// Of the rows of a table: names and ticks.
    pub fn of<'a>(rows: impl Iterator<Item = (&'a str, u64)>) -> SpinShare {
        let mut share = SpinShare::default();
        for (name, ticks) in rows {
            share.total += ticks;
            if spins(name) {
                share.spinning.push((name.to_owned(), ticks));
            }
        }
        share
    }
}

impl fmt::Display for SpinShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.total == 0 {
            return f.write_str("not spinning for a lock: unknown, as there is no tick");
        }
        let spun: u64 = self.spinning.iter().map(|(_, ticks)| ticks).sum();
        let share = 100.0 * (self.total - spun) as f64 / self.total as f64;
        write!(f, "not spinning for a lock: {share:.2} % of {} ticks", self.total)?;
        for (index, (name, ticks)) in self.spinning.iter().enumerate() {
            write!(f, "{} {ticks} in {name}", if index == 0 { "; spinning:" } else { "," })?;
        }
        Ok(())
    }
}

fn spins(name: &str) -> bool {
    OF_THE_KERNEL.iter().chain(&OF_PROGRAMS).any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(rows: &[(&str, u64)]) -> String {
        SpinShare::of(rows.iter().copied()).to_string()
    }

    #[test]
    fn share_of_hartner_2002_is_found() {
        let rows = [(".text.lock.sem", 70), ("default_idle", 20), ("sys_semop", 10)];
        assert_eq!(
            line(&rows),
            "not spinning for a lock: 30.00 % of 100 ticks; spinning: 70 in .text.lock.sem"
        );
    }

    #[test]
    fn functions_that_only_take_a_lock_do_not_count() {
        let rows = [
            ("_raw_spin_lock", 1),
            ("native_queued_spin_lock_slowpath", 1),
            ("mutex_lock", 1),
            ("osq_lock", 1),
        ];
        assert_eq!(
            line(&rows),
            "not spinning for a lock: 50.00 % of 4 ticks; spinning: 1 in native_queued_spin_lock_slowpath, 1 in osq_lock"
        );
        assert_eq!(line(&[("a", 3)]), "not spinning for a lock: 100.00 % of 3 ticks");
        assert_eq!(line(&[]), "not spinning for a lock: unknown, as there is no tick");
    }
}
