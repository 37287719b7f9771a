//! Letting other tasks go first.

use crate::executor::context::Context as WorkerContext;
use core::pin::Pin;
use core::task::{Context, Poll};

/// The future of [`yield_now`].
#[derive(Debug)]
struct YieldNow {
    has_yielded: bool,
}

/// Lets all other tasks that can run on this worker go first, for this once.
///
/// A task that yields in a loop uses up its slice as any other.
pub async fn yield_now() {
    YieldNow { has_yielded: false }.await;
}

impl Future for YieldNow {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.has_yielded {
            return Poll::Ready(());
        }
        self.has_yielded = true;
        WorkerContext::with(|worker| match worker {
            Some(worker) => worker.yield_by(context.waker()),
            None => context.waker().wake_by_ref(),
        });
        Poll::Pending
    }
}
