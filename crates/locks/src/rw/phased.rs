//! PLACEHOLDER until the real locks land: correct and slow, with the contract's layout.

use super::{RawRwLock, Recursion, Refused};
use crate::backoff::Backoff;
use crate::{Until, Waited};
use core::marker::PhantomData;
use unspin_sync::atomic::{AtomicU32, Ordering};

#[derive(Debug)]
#[repr(C, align(8))]
/// placeholder
pub struct Phased<P> {
    hints: [AtomicU32; 1],
    mine: core::cell::UnsafeCell<[u32; 3]>,
    word: AtomicU32,
    rest: [AtomicU32; 3],
    policy: PhantomData<P>,
}
unsafe impl<P> Sync for Phased<P> {}
#[derive(Debug)]
/// placeholder
pub struct A;
#[derive(Debug)]
/// placeholder
pub struct B;
#[derive(Debug)]
/// placeholder
pub struct C;
/// Phase-fair.
pub type RwFair = Phased<A>;
/// Writers first.
pub type RwWriter = Phased<B>;
/// Biased.
pub type RwBiased = Phased<C>;
const WRITER: u32 = 1 << 31;
unsafe impl<P: Send + Sync + 'static> RawRwLock for Phased<P> {
    crate::raw::free!(Phased {
        hints: [const { AtomicU32::new(0) }; 1],
        mine: core::cell::UnsafeCell::new([0; 3]),
        word: AtomicU32::new(0),
        rest: [const { AtomicU32::new(0) }; 3],
        policy: PhantomData
    });
    fn try_read(&self, _: Recursion) -> Result<(), Refused> {
        let word = self.word.load(Ordering::Relaxed);
        if word & WRITER != 0 {
            return Err(Refused::Busy);
        }
        self.word
            .compare_exchange(word, word + 1, Ordering::Acquire, Ordering::Relaxed)
            .map(|_| ())
            .map_err(|_| Refused::Busy)
    }
    fn read(&self, r: Recursion, until: Option<Until>) -> Result<Waited, Refused> {
        if self.try_read(r).is_ok() {
            return Ok(Waited::No);
        }
        let mut b = Backoff::default();
        loop {
            if self.try_read(r).is_ok() {
                return Ok(Waited::Slept);
            }
            if until.is_some_and(Until::is_over) {
                return Err(Refused::Busy);
            }
            b.pause();
        }
    }
    fn try_write(&self) -> bool {
        self.word.compare_exchange(0, WRITER, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }
    fn write(&self, until: Option<Until>) -> Option<Waited> {
        if self.try_write() {
            return Some(Waited::No);
        }
        let mut b = Backoff::default();
        loop {
            if self.try_write() {
                return Some(Waited::Slept);
            }
            if until.is_some_and(Until::is_over) {
                return None;
            }
            b.pause();
        }
    }
    unsafe fn unlock_read(&self) {
        if self.readers() > 0 {
            self.word.fetch_sub(1, Ordering::Release);
        }
    }
    unsafe fn unlock_write(&self) {
        self.word.store(0, Ordering::Release);
    }
    fn is_write_locked(&self) -> bool {
        self.word.load(Ordering::Relaxed) & WRITER != 0
    }
    fn readers(&self) -> u32 {
        self.word.load(Ordering::Relaxed) & !WRITER
    }
}
