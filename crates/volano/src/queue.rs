//! A queue from which one reader or writer takes, as a thread or as a task.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Poll, Waker};
use unspin_workloads::libc_pthread::{Monitor, MonitorGuard};

/// A queue that is this long, or longer, is full. A queue never refuses an item; a reader that has filled one waits with
/// [`Queue::drained`] before it reads the next message. So a user that does not read makes those wait that send to it.
pub const FULL: usize = 64;

/// Items for one taker. Threads wait for a condition, tasks leave a waker; one queue is used in one of both ways.
#[derive(Debug)]
pub struct Queue<T> {
    state: Pin<Box<Monitor<State<T>>>>,
}

#[derive(Debug)]
struct State<T> {
    items: VecDeque<T>,
    /// No more items will come.
    is_closed: bool,
    /// The task that waits for an item.
    taker: Option<Waker>,
    /// Tasks that wait until the queue is not full.
    readers: Vec<Waker>,
}

/// The condition that there is an item, or that the queue is closed.
const NOT_EMPTY: usize = 0;
/// The condition that the queue is not full.
const NOT_FULL: usize = 1;

impl<T> Queue<T> {
    /// An empty queue.
    #[inline(never)] // A lock meter names the locks by this function.
    pub fn new() -> Queue<T> {
        let state = State { items: VecDeque::new(), is_closed: false, taker: None, readers: Vec::new() };
        Queue { state: Monitor::new(state, 2) }
    }

    /// Appends items, and returns the length of the queue. A closed queue drops them.
    pub fn push(&self, items: impl IntoIterator<Item = T>) -> usize {
        let mut state = self.state.enter();
        if state.is_closed {
            return 0;
        }
        state.items.extend(items);
        let length = state.items.len();
        state.signal(NOT_EMPTY);
        let taker = state.taker.take();
        drop(state);
        taker.into_iter().for_each(Waker::wake);
        length
    }

    /// No more items will come. The taker gets those that are there.
    pub fn close(&self) {
        self.end(|_| {});
    }

    /// Drops all items, and closes the queue: its taker has ended.
    pub fn abandon(&self) {
        self.end(|state| state.items.clear());
    }

    fn end(&self, change: impl FnOnce(&mut State<T>)) {
        let mut state = self.state.enter();
        state.is_closed = true;
        change(&mut state);
        state.signal(NOT_EMPTY);
        state.broadcast(NOT_FULL);
        let taker = state.taker.take();
        let readers = std::mem::take(&mut state.readers);
        drop(state);
        taker.into_iter().chain(readers).for_each(Waker::wake);
    }

    /// Takes the oldest item; the thread waits for it. None if the queue is closed and empty.
    pub fn take(&self) -> Option<T> {
        let mut state = self.state.enter();
        while state.items.is_empty() && !state.is_closed {
            state.wait(NOT_EMPTY);
        }
        Self::pop(state)
    }

    /// Takes the oldest item; the task waits for it. None if the queue is closed and empty.
    pub async fn next(&self) -> Option<T> {
        poll_fn(|context| {
            let mut state = self.state.enter();
            if state.items.is_empty() && !state.is_closed {
                state.taker = Some(context.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(Self::pop(state))
        })
        .await
    }

    /// The oldest item, if there is one. Wakes those that wait until the queue is not full.
    fn pop(mut state: MonitorGuard<'_, State<T>>) -> Option<T> {
        let item = state.items.pop_front();
        if state.items.len() + 1 == FULL {
            state.broadcast(NOT_FULL);
            let readers = std::mem::take(&mut state.readers);
            drop(state);
            readers.into_iter().for_each(Waker::wake);
        }
        item
    }

    /// The thread waits until the queue is not full, or closed.
    pub fn wait_until_drained(&self) {
        let mut state = self.state.enter();
        while state.is_full() {
            state.wait(NOT_FULL);
        }
    }

    /// The task waits until the queue is not full, or closed.
    pub async fn drained(&self) {
        poll_fn(|context| {
            let mut state = self.state.enter();
            if state.is_full() {
                state.readers.push(context.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
    }
}

impl<T> State<T> {
    fn is_full(&self) -> bool {
        self.items.len() >= FULL && !self.is_closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::task::{Context, Wake};

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    /// Polls once, with a waker that counts.
    fn poll<T>(future: Pin<&mut impl Future<Output = T>>, woken: &Arc<Woken>) -> Poll<T> {
        future.poll(&mut Context::from_waker(&Arc::clone(woken).into()))
    }

    #[test]
    fn items_come_in_order_and_then_the_end() {
        let queue = Queue::new();
        assert_eq!(queue.push([1, 2]), 2);
        assert_eq!(queue.push([3]), 3);
        queue.close();
        assert_eq!(queue.push([4]), 0, "it is closed");
        let taken: Vec<i32> = std::iter::from_fn(|| queue.take()).collect();
        assert_eq!(taken, [1, 2, 3]);
    }

    #[test]
    fn waiting_thread_gets_the_item() {
        let queue = Queue::new();
        std::thread::scope(|scope| {
            let taker = scope.spawn(|| (queue.take(), queue.take()));
            queue.push(["item"]);
            queue.close();
            assert_eq!(taker.join().unwrap(), (Some("item"), None));
        });
    }

    #[test]
    fn waiting_task_is_woken_by_an_item_and_by_the_end() {
        let (queue, woken) = (Queue::new(), Arc::new(Woken::default()));
        let mut next = Box::pin(queue.next());
        assert_eq!(poll(next.as_mut(), &woken), Poll::Pending);
        queue.push([1]);
        assert_eq!((woken.0.load(SeqCst), poll(next.as_mut(), &woken)), (1, Poll::Ready(Some(1))));
        let mut next = Box::pin(queue.next());
        assert_eq!(poll(next.as_mut(), &woken), Poll::Pending);
        queue.close();
        assert_eq!((woken.0.load(SeqCst), poll(next.as_mut(), &woken)), (2, Poll::Ready(None)));
    }

    #[test]
    fn full_queue_holds_up_readers_until_one_item_is_taken() {
        let (queue, woken) = (Queue::new(), Arc::new(Woken::default()));
        queue.push(0..FULL - 1);
        queue.wait_until_drained();
        queue.push([0]);
        let mut drained = [Box::pin(queue.drained()), Box::pin(queue.drained())];
        for future in &mut drained {
            assert_eq!(poll(future.as_mut(), &woken), Poll::Pending);
        }
        std::thread::scope(|scope| {
            let threads = [(); 2].map(|()| scope.spawn(|| queue.wait_until_drained()));
            let mut next = Box::pin(queue.next());
            assert_eq!(poll(next.as_mut(), &woken), Poll::Ready(Some(0)));
            assert_eq!(woken.0.load(SeqCst), 2);
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        for future in &mut drained {
            assert_eq!(poll(future.as_mut(), &woken), Poll::Ready(()));
        }
    }

    #[test]
    fn abandoned_queue_holds_up_nothing() {
        let (queue, woken) = (Queue::new(), Arc::new(Woken::default()));
        queue.push(0..FULL);
        let mut drained = Box::pin(queue.drained());
        assert_eq!(poll(drained.as_mut(), &woken), Poll::Pending);
        queue.abandon();
        assert_eq!((woken.0.load(SeqCst), poll(drained.as_mut(), &woken)), (1, Poll::Ready(())));
        assert_eq!(queue.take(), None);
    }
}
