//! The loop of a worker.

use crate::executor::blocking_on::hand_over;
use crate::executor::context::Context;
use crate::executor::idling::Idling;
use crate::executor::reactor_check::ReactorCheck;
use crate::executor::shared::Shared;
use crate::pool::Worker;
use crate::schedule::WorkerId;
use crate::task::Runnable;
use std::sync::Arc;

/// Runs tasks until the executor stops.
pub(crate) fn work(shared: Arc<Shared>, id: WorkerId) {
    let context = Context::new(shared, id);
    context.enter(|| {
        let pool = &context.shared.pool;
        let mut worker = pool.worker(id);
        let mut check = ReactorCheck::new(pool.sleeper().check_interval());
        while let Some(mut task) = worker.next_task() {
            while let Some(again) = run(&context, &mut worker, task, &mut check) {
                task = again;
            }
        }
    });
    hand_over();
}

/// Runs a task. Returns the one to run next if the task was put back into the queue.
#[inline(always)]
fn run(
    context: &Context,
    worker: &mut Worker<'_, Runnable, Idling>,
    task: Runnable,
    check: &mut ReactorCheck,
) -> Option<Runnable> {
    let again = context.run(task);
    // This comes before the choice of the next task, because an event may wake a better one.
    check.after_run(context);
    let (task, how) = again?;
    let next = worker.requeue(task, how);
    if context.shared.pool.is_stopped() {
        // Dropping the task cancels it, like all other tasks that are left.
        return None;
    }
    Some(next)
}
