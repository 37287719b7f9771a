//! What the schedulers count, and whether it adds up.

use serde::Serialize;

/// Declares the counters, in the order of `struct counters` of bpf/tasks.h.
macro_rules! counters {
    ($($(#[$doc:meta])+ $name:ident,)+) => {
        /// The counters of all CPUs together: `struct counters` of bpf/tasks.h, field by field.
        #[derive(Serialize, Clone, Copy, Default, PartialEq, Eq, Debug)]
        pub struct Counters {
            $($(#[$doc])+ pub $name: u64,)+
        }

        /// Number of counters.
        const FIELDS: usize = [$(stringify!($name)),+].len();

        impl Counters {
            fn from_words([$($name),+]: [u64; FIELDS]) -> Counters {
                Counters { $($name),+ }
            }

            /// The sum of two CPUs' counters.
            pub fn plus(self, other: Counters) -> Counters {
                Counters { $($name: self.$name + other.$name),+ }
            }
        }
    };
}

counters! {
    /// Tasks put into a queue of the scheduler.
    enqueued,
    /// Tasks put into the local queue of an idle CPU.
    direct,
    /// Tasks taken from a queue in order to run.
    dispatched,
    /// Runs of tasks that had been enqueued.
    runs_queued,
    /// Runs of tasks that had been put into a local queue.
    runs_direct,
    /// Runs that the kernel began by itself, without handing the task to the scheduler before.
    resumed,
    /// Runs that ended.
    stops,
    /// Tasks that left a queue without a run.
    withdrawn,
    /// Tasks that were in the local queue of a CPU when a task of a higher class took it, and were enqueued again.
    reenqueued,
    /// Of `dispatched`: from the queue of another CPU.
    stolen,
    /// Tasks for which their last CPU was idle, and was woken.
    last_idle,
    /// Tasks for which the CPU that had been idle longest was woken.
    longest_idle,
    /// Idle CPUs that were woken in order to steal.
    thief_woken,
    /// Runs on another CPU than the run before.
    migrations,
    /// Kicks of idle CPUs.
    kicks,
    /// Tasks that came under the scheduler.
    tasks,
    /// Tasks that left it.
    left,
}

impl Counters {
    /// The counters of one CPU, as the kernel hands them out; None if there are too few bytes.
    pub fn parse(bytes: &[u8]) -> Option<Counters> {
        let words = bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()));
        let words: Vec<u64> = words.collect();
        words.try_into().ok().map(Counters::from_words)
    }

    /// Runs that began.
    pub fn runs(&self) -> u64 {
        self.runs_queued + self.runs_direct + self.resumed
    }

    /// The sums that must be equal once the scheduler has been unloaded, and are not: a sentence for each.
    ///
    /// `tasks_at_unload`: the tasks that the scheduler had when it was unloaded. The kernel runs those by its own rules
    /// while it switches back, so their last runs need no `dispatched`.
    pub fn contradictions(&self, tasks_at_unload: u64) -> Vec<String> {
        let mut found = Vec::new();
        let handed = self.enqueued + self.direct;
        let accounted = self.runs_queued + self.runs_direct + self.withdrawn;
        if handed != accounted {
            found.push(format!(
                "{} enqueued and {} direct are not the {} and {} that ran and the {} withdrawn",
                self.enqueued, self.direct, self.runs_queued, self.runs_direct, self.withdrawn
            ));
        }
        // A task can be withdrawn after it was dispatched.
        let fewest = self.runs_queued.saturating_sub(tasks_at_unload);
        if self.dispatched < fewest || self.dispatched > self.runs_queued + self.withdrawn {
            found.push(format!(
                "{} dispatched are not the {} that ran from a queue ({} withdrawn)",
                self.dispatched, self.runs_queued, self.withdrawn
            ));
        }
        if self.runs() != self.stops {
            found.push(format!("{} runs began and {} ended", self.runs(), self.stops));
        }
        if self.tasks != self.left {
            found.push(format!("{} tasks came and {} left", self.tasks, self.left));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sound() -> Counters {
        Counters {
            enqueued: 10,
            direct: 5,
            dispatched: 9,
            runs_queued: 9,
            runs_direct: 5,
            resumed: 3,
            stops: 17,
            withdrawn: 1,
            tasks: 4,
            left: 4,
            ..Counters::default()
        }
    }

    #[test]
    fn sums_that_are_equal_contradict_nothing() {
        assert_eq!(sound().contradictions(0), Vec::<String>::new());
    }

    #[test]
    fn each_lost_event_is_found() {
        for wrong in [
            Counters { enqueued: 11, ..sound() },
            Counters { direct: 4, ..sound() },
            Counters { dispatched: 8, ..sound() },
            Counters { dispatched: 11, ..sound() },
            Counters { stops: 16, ..sound() },
            Counters { left: 3, ..sound() },
        ] {
            assert_eq!(wrong.contradictions(0).len(), 1, "{wrong:?}");
        }
    }

    #[test]
    fn tasks_at_unload_need_no_dispatch() {
        assert_eq!(Counters { dispatched: 7, ..sound() }.contradictions(2), Vec::<String>::new());
    }

    #[test]
    fn counters_are_parsed_in_order() {
        let bytes: Vec<u8> = (1..=FIELDS as u64).flat_map(u64::to_ne_bytes).collect();
        let counters = Counters::parse(&bytes).unwrap();
        assert_eq!((counters.enqueued, counters.reenqueued, counters.stolen, counters.left), (1, 9, 10, 17));
        assert_eq!(Counters::parse(&bytes[8..]), None);
        let twice: Vec<u8> = (1..=FIELDS as u64).flat_map(|word| (2 * word).to_ne_bytes()).collect();
        assert_eq!(Some(counters.plus(counters)), Counters::parse(&twice));
    }
}
