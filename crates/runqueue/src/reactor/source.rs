//! Descriptors that are registered with the reactor.

use crate::reactor::Reactor;
use crate::reactor::direction::{Direction, ShortRead};
use core::task::Waker;
use mio::event::Event;
use mio::unix::SourceFd;
use mio::{Events, Interest, Token};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use unspin_locks::Adaptive;
use unspin_locks::api::{Mutex, MutexGuard};
use unspin_sync::atomic::Ordering;

/// What the reactor knows of a descriptor.
#[derive(Debug)]
pub(super) struct Source {
    /// The slot, and above it a number that differs from those of the sources that had the slot before.
    key: usize,
    pub reads: Direction,
    pub writes: Direction,
}

/// All sources, by key.
#[derive(Default)]
pub(super) struct Sources(Mutex<Adaptive, Slots>);

#[derive(Default)]
struct Slots {
    sources: Vec<Option<Arc<Source>>>,
    free: Vec<usize>,
    /// Sources that were made so far.
    made: usize,
}

/// Bits of a key for the slot.
const SLOT_BITS: u32 = 32;
/// The numbers above them. The highest key is the interrupter's.
const NUMBERS: usize = 1 << 31;

fn slot(key: usize) -> usize {
    key & ((1 << SLOT_BITS) - 1)
}

impl Slots {
    fn find(&self, key: usize) -> Option<&Arc<Source>> {
        self.sources.get(slot(key))?.as_ref().filter(|source| source.key == key)
    }
}

impl Sources {
    fn slots(&self) -> MutexGuard<'_, Adaptive, Slots> {
        // Nothing panics under the lock.
        self.0.lock()
    }

    fn insert(&self, short_read: ShortRead) -> Arc<Source> {
        let mut slots = self.slots();
        let slot = slots.free.pop().unwrap_or_else(|| {
            slots.sources.push(None);
            slots.sources.len() - 1
        });
        slots.made = (slots.made + 1) % NUMBERS;
        let key = slot | slots.made << SLOT_BITS;
        let source = Arc::new(Source {
            key,
            reads: Direction::new(short_read),
            writes: Direction::new(ShortRead::Nothing),
        });
        slots.sources[slot] = Some(Arc::clone(&source));
        source
    }

    fn remove(&self, key: usize) {
        let mut slots = self.slots();
        let removed = slots.sources[slot(key)].take();
        slots.free.push(slot(key));
        drop(slots);
        // Its wakers are code of the program.
        drop(removed);
    }

    /// Marks the sources of the events as ready, and adds the wakers of the tasks that wait to the list. Events of
    /// sources that were removed meanwhile are dropped: a new source that waits for its connection must not take one for
    /// its own.
    pub fn take_ready(&self, events: &Events, woken: &mut Vec<Waker>) {
        let slots = self.slots();
        for event in events.iter() {
            let Some(source) = slots.find(event.token().0) else { continue };
            if is_readable(event) {
                source.reads.set_ready(short_read_after(event), woken);
            }
            if is_writable(event) {
                source.writes.set_ready(ShortRead::Nothing, woken);
            }
        }
    }
}

fn is_readable(event: &Event) -> bool {
    event.is_readable() || event.is_priority() || event.is_read_closed() || event.is_error()
}

fn is_writable(event: &Event) -> bool {
    event.is_writable() || event.is_write_closed() || event.is_error()
}

/// What a short read shows after an event. The end of the stream may have come with the last data: the one event is for
/// both. A read stops before urgent data, whatever comes after it.
fn short_read_after(event: &Event) -> ShortRead {
    let is_drained = !(event.is_read_closed() || event.is_priority() || event.is_error());
    if is_drained { ShortRead::Drained } else { ShortRead::Nothing }
}

impl Source {
    /// Registers a descriptor, which must be in non-blocking mode. The caller [unregisters](Source::unregister) it before it
    /// closes it.
    pub fn register(io: &impl AsFd, short_read: ShortRead) -> io::Result<Arc<Source>> {
        let reactor = Reactor::get()?;
        let source = reactor.sources.insert(short_read);
        reactor.add_user();
        let interests = Interest::READABLE | Interest::WRITABLE | Interest::PRIORITY;
        let descriptor = io.as_fd().as_raw_fd();
        let added = reactor.registry.register(&mut SourceFd(&descriptor), Token(source.key), interests);
        if let Err(error) = added {
            source.forget(reactor);
            return Err(error);
        }
        Ok(source)
    }

    /// Takes the descriptor out.
    pub fn unregister(&self, io: &impl AsFd) {
        if let Some(reactor) = Reactor::get_existing() {
            // It fails for a descriptor that is not registered: there is nothing to take out then.
            let _ = reactor.registry.deregister(&mut SourceFd(&io.as_fd().as_raw_fd()));
            self.forget(reactor);
        }
    }

    fn forget(&self, reactor: &Reactor) {
        reactor.sources.remove(self.key);
        // Relaxed: a hint.
        reactor.users.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_of_a_removed_source_does_not_reach_the_next_one_in_its_slot() {
        let sources = Sources::default();
        let old = sources.insert(ShortRead::Nothing).key;
        sources.remove(old);
        let new = sources.insert(ShortRead::Nothing).key;
        assert_eq!(slot(new), slot(old));
        assert!(sources.slots().find(old).is_none() && sources.slots().find(new).is_some());
    }
}
