//! The kernel's own way, as an oracle: one list, the goodness of each task computed from its formula, a recalculation
//! that visits every task of the machine. Random sequences of operations must have the same outcome in both.

use super::{Grouping, ReadyList};
use crate::schedule::{Nice, Priority, Schedulable, Schedule, WorkerId};
use proptest::prelude::*;

const WORKERS: usize = 3;

/// `struct task_struct`, as far as `goodness` reads it.
#[derive(Clone, Debug)]
struct KernelTask {
    counter: u32,
    nice: i32,
    rt_priority: u32,
    processor: Option<usize>,
    /// The task's position in the order of arrival, if it is in the run queue.
    queued: Option<u64>,
}

/// All tasks of the machine.
#[derive(Default, Debug)]
struct Kernel {
    tasks: Vec<KernelTask>,
    arrivals: u64,
}

impl KernelTask {
    /// `NICE_TO_TICKS` at 100 Hz.
    fn ticks(&self) -> u32 {
        ((20 - self.nice) as u32 >> 2) + 1
    }

    /// `goodness`, without the address space.
    fn goodness(&self, this_cpu: usize) -> u32 {
        if self.rt_priority > 0 {
            return 1000 + self.rt_priority;
        }
        if self.counter == 0 {
            return 0;
        }
        let bonus = if self.processor.is_none_or(|processor| processor == this_cpu) { 15 } else { 0 };
        self.counter + bonus + (20 - self.nice) as u32
    }
}

impl Kernel {
    fn add(&mut self, task: usize) {
        self.arrivals += 1;
        self.tasks[task].queued = Some(self.arrivals);
    }

    /// The loop of `schedule`: which tasks a CPU may run next. All have the same goodness, and each is the first to
    /// have arrived of those that ran last on the same CPU.
    fn candidates(&mut self, this_cpu: usize) -> Vec<usize> {
        let ready = |kernel: &Kernel| -> Vec<usize> {
            (0..kernel.tasks.len()).filter(|&task| kernel.tasks[task].queued.is_some()).collect()
        };
        let ready = ready(self);
        let Some(mut best) = ready.iter().map(|&task| self.tasks[task].goodness(this_cpu)).max() else {
            return Vec::new();
        };
        if best == 0 {
            for task in &mut self.tasks {
                task.counter = (task.counter >> 1) + task.ticks();
            }
            best = ready.iter().map(|&task| self.tasks[task].goodness(this_cpu)).max().unwrap();
        }
        let best: Vec<usize> =
            ready.into_iter().filter(|&task| self.tasks[task].goodness(this_cpu) == best).collect();
        let group = |task: usize| (self.tasks[task].processor, self.tasks[task].rt_priority > 0);
        let is_first = |&task: &usize| {
            let equals = best.iter().filter(|&&other| group(other) == group(task));
            equals.min_by_key(|&&other| self.tasks[other].queued) == Some(&task)
        };
        // The order of real-time tasks does not depend on where they ran.
        if best.first().is_some_and(|&task| self.tasks[task].rt_priority > 0) {
            return best.iter().copied().min_by_key(|&task| self.tasks[task].queued).into_iter().collect();
        }
        best.iter().copied().filter(is_first).collect()
    }

    /// Which tasks may run next if goodness does not count: each that no other of its CPU, nice value and slice precedes.
    /// Real-time tasks come first all the same.
    fn candidates_in_turn(&mut self, this_cpu: usize) -> Vec<usize> {
        let queued = |task: &&KernelTask| task.queued.is_some();
        if self.tasks.iter().filter(queued).any(|task| task.rt_priority > 0) {
            return self.candidates(this_cpu);
        }
        let place = |task: &KernelTask| (task.processor, task.nice, task.counter);
        let is_first = |task: &KernelTask| {
            let equals = self.tasks.iter().filter(queued).filter(|other| place(other) == place(task));
            equals.min_by_key(|other| other.queued).is_some_and(|first| first.queued == task.queued)
        };
        let first = |&number: &usize| self.tasks[number].queued.is_some() && is_first(&self.tasks[number]);
        (0..self.tasks.len()).filter(first).collect()
    }

    fn run(&mut self, task: usize, this_cpu: usize) {
        self.tasks[task].queued = None;
        self.tasks[task].processor = Some(this_cpu);
    }
}

#[derive(Clone, Copy, Debug)]
struct Task {
    number: usize,
    schedule: Schedule,
}

impl Schedulable for Task {
    fn schedule(&self) -> Schedule {
        self.schedule
    }

    fn set_schedule(&mut self, schedule: Schedule) {
        self.schedule = schedule;
    }
}

/// Both at once.
struct Both {
    kernel: Kernel,
    list: ReadyList<Task>,
    /// Tasks that are not in the list.
    away: Vec<Task>,
}

#[derive(Clone, Debug)]
enum Act {
    Start {
        real_time: u8,
        nice: i32,
    },
    /// The task that has been away longest, or one of the others, becomes runnable.
    Wake {
        which: usize,
    },
    Charge {
        which: usize,
        ticks: u32,
    },
    Pop {
        worker: usize,
    },
    /// A task that is away yields on the worker on which it ran.
    Yield {
        which: usize,
    },
}

fn act() -> impl Strategy<Value = Act> {
    let real_time = prop_oneof![9 => Just(0u8), 1 => 1u8..4];
    prop_oneof![
        1 => (real_time, -20..20i32).prop_map(|(real_time, nice)| Act::Start { real_time, nice }),
        4 => any::<usize>().prop_map(|which| Act::Wake { which }),
        4 => (any::<usize>(), 0..8u32).prop_map(|(which, ticks)| Act::Charge { which, ticks }),
        6 => (0..WORKERS).prop_map(|worker| Act::Pop { worker }),
        2 => any::<usize>().prop_map(|which| Act::Yield { which }),
    ]
}

impl Both {
    fn new(grouping: Grouping) -> Both {
        Both { kernel: Kernel::default(), list: ReadyList::new(grouping), away: Vec::new() }
    }

    fn act(&mut self, act: &Act) {
        match *act {
            Act::Start { real_time, nice } => self.start(real_time, nice),
            Act::Pop { worker } => self.pop(worker),
            _ if self.away.is_empty() => {}
            Act::Wake { which } => {
                let task = self.away.swap_remove(which % self.away.len());
                self.kernel.add(task.number);
                self.push(task);
            }
            Act::Charge { which, ticks } => {
                let at = which % self.away.len();
                let task = &mut self.away[at];
                let kernel = &mut self.kernel.tasks[task.number];
                if kernel.rt_priority == 0 {
                    kernel.counter = kernel.counter.saturating_sub(ticks);
                }
                task.schedule = task.schedule.recalculate_to(self.list.epoch()).charge(ticks.into());
            }
            Act::Yield { which } => self.yields(which % self.away.len()),
        }
    }

    fn start(&mut self, real_time: u8, nice: i32) {
        let priority = if real_time == 0 { Priority::Normal } else { Priority::RealTime(real_time) };
        let schedule = Schedule::new(priority, Nice::new(nice));
        let (number, rt_priority) = (self.kernel.tasks.len(), real_time.into());
        let mut task = KernelTask { counter: 0, nice, rt_priority, processor: None, queued: None };
        task.counter = task.ticks();
        self.kernel.tasks.push(task);
        self.kernel.add(number);
        self.list.push(Task { number, schedule });
    }

    fn push(&mut self, mut task: Task) {
        task.schedule = task.schedule.recalculate_to(self.list.epoch());
        self.list.push(task);
    }

    fn candidates(&mut self, worker: usize) -> Vec<usize> {
        match self.list.turns.is_next() {
            true => self.kernel.candidates_in_turn(worker),
            false => self.kernel.candidates(worker),
        }
    }

    fn pop(&mut self, worker: usize) {
        let candidates = self.candidates(worker);
        match self.list.pop(WorkerId::new(worker)) {
            None => assert_eq!(candidates, []),
            Some(task) => self.ran(task, worker, &candidates),
        }
        self.check();
    }

    fn ran(&mut self, task: Task, worker: usize, candidates: &[usize]) {
        assert!(
            candidates.contains(&task.number),
            "{task:?} ran, not one of {candidates:?}: {:?}",
            self.kernel
        );
        self.kernel.run(task.number, worker);
        assert_eq!(task.schedule.last(), Some(WorkerId::new(worker)));
        self.away.push(task);
    }

    fn yields(&mut self, at: usize) {
        let Some(worker) = self.away[at].schedule.last() else { return };
        let task = self.away.swap_remove(at);
        let candidates = self.candidates(worker.index());
        let next = self.list.exchange(task, worker);
        if candidates.is_empty() {
            assert_eq!(next.number, task.number, "there is no other");
            return self.away.push(next);
        }
        self.ran(next, worker.index(), &candidates);
        self.kernel.add(task.number);
        self.check();
    }

    fn check(&self) {
        for task in &self.away {
            let slice = task.schedule.recalculate_to(self.list.epoch()).slice();
            assert_eq!(u32::from(slice), self.kernel.tasks[task.number].counter, "{task:?}");
        }
        let queued = self.kernel.tasks.iter().filter(|task| task.queued.is_some()).count();
        assert_eq!((self.list.len(), self.list.is_empty()), (queued, queued == 0));
        let best = self.kernel.tasks.iter().filter(|task| task.queued.is_some());
        // No CPU has this number.
        let plain =
            |task: &KernelTask| KernelTask { processor: Some(WORKERS), ..task.clone() }.goodness(WORKERS + 1);
        assert_eq!(self.list.best().map(|best| best.value().into()), best.map(plain).max());
    }

    /// Takes out everything: no task is lost.
    fn finish(mut self) {
        while !self.list.is_empty() {
            self.pop(0);
        }
        assert_eq!(self.away.len(), self.kernel.tasks.len());
    }
}

proptest! {
    #[test]
    fn list_for_all_workers_chooses_as_the_kernel_does(acts in prop::collection::vec(act(), 0..300)) {
        let mut both = Both::new(Grouping::ByLastWorker(WORKERS));
        acts.iter().for_each(|act| both.act(act));
        both.finish();
    }

    /// Only the owner takes tasks from it here, so the kernel has one CPU.
    #[test]
    fn list_of_one_worker_chooses_as_the_kernel_does(acts in prop::collection::vec(act(), 0..300)) {
        let mut both = Both::new(Grouping::OwnedBy(WorkerId::new(0)));
        for act in &acts {
            both.act(&match act {
                Act::Pop { .. } => Act::Pop { worker: 0 },
                act => act.clone(),
            });
        }
        both.finish();
    }
}

/// The oracle finds a list that forgets the bonus.
#[test]
#[should_panic(expected = "ran, not one of")]
fn planted_list_without_affinity_is_found() {
    let mut both = Both::new(Grouping::OwnedBy(WorkerId::new(2)));
    for worker in [0, 1] {
        both.start(0, 0);
        both.pop(worker);
    }
    // The task that ran on worker 0 is the second one to wake.
    both.act(&Act::Wake { which: 1 });
    both.act(&Act::Wake { which: 0 });
    both.pop(0);
}

/// Tasks that end within their first slice keep coming. By goodness alone no other task would run, whether it ran elsewhere,
/// has less left of its slice, or has spent it.
#[test]
fn no_task_waits_for_ever_behind_new_tasks() {
    for grouping in [Grouping::ByLastWorker(3), Grouping::OwnedBy(WorkerId::new(0))] {
        let mut list = ReadyList::new(grouping);
        let task = |number, nice: Nice| Task { number, schedule: Schedule::normal(nice) };
        let ran =
            |nice, worker, ticks| task(0, nice).schedule.charge(ticks).start_on(WorkerId::new(worker), 0);
        let mut waiting = Vec::new();
        for nice in [Nice::LOWEST, Nice::DEFAULT, Nice::HIGHEST] {
            waiting.extend([ran(nice, 0, 1), ran(nice, 0, 100), ran(nice, 1, 0), ran(nice, 2, 100)]);
        }
        for (number, &schedule) in waiting.iter().enumerate() {
            list.push(Task { number: number + 1, schedule });
        }
        let mut left: Vec<_> = (1..=waiting.len()).collect();
        for _ in 0..10_000 {
            // Two kinds, so that turns do not fall to the others by chance.
            list.push(task(0, Nice::DEFAULT));
            list.push(task(0, Nice::LOWEST));
            for _ in 0..2 {
                let taken = list.pop(WorkerId::new(0)).unwrap().number;
                left.retain(|&number| number != taken);
            }
        }
        assert_eq!(left, [], "{grouping:?}");
    }
}

#[test]
fn no_task_waits_for_ever_behind_tasks_that_yield() {
    let mut list = ReadyList::new(Grouping::ByLastWorker(2));
    let worker = WorkerId::new(0);
    let nice = [Nice::LOWEST, Nice::DEFAULT, Nice::HIGHEST];
    let tasks =
        nice.iter().enumerate().map(|(number, &nice)| Task { number, schedule: Schedule::normal(nice) });
    tasks.for_each(|task| list.push(task));
    let mut running = list.pop(worker).unwrap();
    let mut turns = [0; 3];
    for _ in 0..1_000 {
        turns[running.number] += 1;
        running.schedule = running.schedule.recalculate_to(list.epoch()).charge(1);
        running = list.exchange(running, worker);
    }
    assert!(turns.iter().all(|&turns| turns > 50), "{turns:?}");
    assert!(turns[0] > turns[1] && turns[1] > turns[2], "{turns:?}");
}
