//! The suspended tasks of an executor. They are in no run queue, and their wakers may never be used, so without this list
//! an executor that ends could not drop their futures.

use crate::queue::Padded;
use crate::task::Listed;
use unspin_locks::Adaptive;
use unspin_locks::api::{Mutex, MutexGuard};

/// The suspended tasks of an executor. A task stays in the list from its first suspension to its end.
pub(crate) struct SuspendedTasks {
    shards: Box<[Padded<Mutex<Adaptive, Shard>>]>,
}

#[derive(Default)]
struct Shard {
    tasks: Vec<Option<Listed>>,
    /// Places in `tasks` that are free.
    free: Vec<u32>,
}

impl SuspendedTasks {
    /// An empty list, with a part for each of so many workers.
    pub fn new(workers: usize) -> SuspendedTasks {
        SuspendedTasks { shards: (0..workers).map(|_| Padded(Mutex::new(Shard::default()))).collect() }
    }

    fn shard(&self, number: usize) -> MutexGuard<'_, Adaptive, Shard> {
        // Nothing panics under the lock but an allocation, and that aborts.
        self.shards[number].lock()
    }

    /// Adds a task to a worker's part. Returns its place, which is not 0.
    pub fn insert(&self, worker: usize, task: Listed) -> u64 {
        let mut shard = self.shard(worker);
        let place = match shard.free.pop() {
            Some(place) => {
                shard.tasks[place as usize] = Some(task);
                place
            }
            None => {
                shard.tasks.push(Some(task));
                u32::try_from(shard.tasks.len() - 1).expect("there is no memory for so many tasks")
            }
        };
        (worker as u64 + 1) << 32 | u64::from(place)
    }

    /// Takes out the task at a place.
    pub fn remove(&self, place: u64) -> Option<Listed> {
        let mut shard = self.shard((place >> 32) as usize - 1);
        let place = place as u32;
        let task = shard.tasks.get_mut(place as usize)?.take()?;
        shard.free.push(place);
        Some(task)
    }

    /// Cancels all tasks. Those that run remain in the list until their workers have dropped their futures.
    pub fn cancel_all(&self) {
        for number in 0..self.shards.len() {
            let tasks: Vec<Listed> = self.shard(number).tasks.iter().flatten().map(Listed::another).collect();
            // Without the lock: a task that ends is taken from the list.
            tasks.iter().for_each(Listed::cancel);
        }
    }

    /// Number of tasks in the list.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        (0..self.shards.len()).map(|number| self.shard(number).tasks.iter().flatten().count()).sum()
    }
}
