//! Cancellation of threads while they are in the engine.
//!
//! Asynchronous cancellation unwinds a thread from between any two instructions. Compiled Rust has no landing pads
//! there, and the thread may hold a lock of the engine: glibc would abort the program, where a thread in a system call
//! is just cancelled. So a thread with asynchronous cancellation gets deferred cancellation while it is in the engine
//! ([`with_cancel_deferred`]), except in the engine's sleeps. Nor does it use the fast path, so the fast path need not check for
//! cancellation. `pthread_setcanceltype` is the only way to become such a thread, so its hook knows them.
//!
//! Such a thread may be unwound before its cancellation is deferred, and in those sleeps. The functions through which
//! it is unwound have nothing to drop, and so no table of landing pads; functions that have something to drop are not
//! inlined into them.

use crate::next::next;
use core::ffi::{c_int, c_void};
use core::mem::{MaybeUninit, transmute};
use unspin_sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use unspin_sys::sched;
use unspin_sysv::cancel::{self, CancelType};

/// PTHREAD_CANCEL_DEFERRED and PTHREAD_CANCEL_ASYNCHRONOUS.
pub const DEFERRED: c_int = 0;
/// See [`DEFERRED`].
pub const ASYNCHRONOUS: c_int = 1;

next! {
    static SET_TYPE = c"pthread_setcanceltype";
}

/// Makes the engine's sleeps in msgsnd and msgrcv cancellation points; for threads with asynchronous cancellation, the
/// sleeps of all calls. To be called before the program begins.
pub fn prepare() {
    cancel::set_sleeper(sleep);
    find_handling();
}

/// Where glibc keeps a thread's `cancelhandling` (nptl/descr.h), in bytes from pthread_self(3); 0: not known. Relaxed: written
/// before the program begins.
static HANDLING: AtomicUsize = AtomicUsize::new(0);
/// CANCELTYPE_BITMASK, CANCELING_BITMASK and CANCELED_BITMASK of glibc before 2.41.
const TYPE: u32 = 2;
const ANNOUNCED: u32 = 4;
const ARRIVED: u32 = 8;
/// Words of glibc's `struct pthread` that are looked at: it has some six hundred on x86-64.
const WORDS: usize = 384;

/// Finds `cancelhandling`: the only word that has one bit more while the thread may be cancelled anywhere. Cancellation is
/// disabled meanwhile: a thread that uses the library before its constructor may have been cancelled already.
// Not part of its caller's frame: a program may have little stack.
#[inline(never)]
fn find_handling() {
    let state = cancel_state(DISABLED);
    let before: [u32; WORDS] = core::array::from_fn(word);
    let kind = cancellation(ASYNCHRONOUS);
    let mut changed = (0..WORDS).map(|n| (n, word(n))).filter(|&(n, meanwhile)| before[n] != meanwhile);
    let (changed, other) = (changed.next(), changed.next());
    cancellation(kind);
    let after = changed.map(|(n, _)| word(n));
    cancel_state(state);
    if let (Some((n, meanwhile)), None) = (changed, other)
        && Some(before[n]) == after
        && before[n] & (TYPE | ANNOUNCED | ARRIVED) == 0
        && meanwhile == before[n] | TYPE
    {
        // Relaxed: see there.
        HANDLING.store(4 * n, Relaxed);
    }
}

/// PTHREAD_CANCEL_DISABLE.
const DISABLED: c_int = 1;

/// Sets whether the thread can be cancelled, and returns what was set before.
fn cancel_state(state: c_int) -> c_int {
    let mut before = 0;
    // SAFETY: a live int.
    unsafe { pthread_setcancelstate(state, &mut before) };
    before
}

/// One of the first [`WORDS`] words of the calling thread's `struct pthread`.
fn word(n: usize) -> u32 {
    // SAFETY: pthread_self(3) of glibc is the address of a `struct pthread`, which is longer. Volatile: libc writes to it.
    unsafe { (libc::pthread_self() as *const u32).add(n).read_volatile() }
}

/// Returns when a cancellation that was announced to the thread has arrived. glibc announces it to a thread that may be
/// cancelled anywhere, and then sends a signal; a thread that goes on before the signal arrives may have ended by then, and
/// would be joined as a cancelled one though it had returned. glibc's own sleeps wait likewise
/// (`__pthread_disable_asynccancel`).
fn await_announced() {
    // Relaxed: see there.
    let handling = HANDLING.load(Relaxed);
    if handling == 0 {
        return;
    }
    // SAFETY: a word of the calling thread's `struct pthread`; other threads change it by atomic instructions.
    let word = unsafe { &*(libc::pthread_self() as *const AtomicU32).byte_add(handling) };
    // Relaxed: the signal's handler runs in this thread.
    while word.load(Relaxed) & (ANNOUNCED | ARRIVED) == ANNOUNCED {
        sched::yield_or_sleep();
    }
}

/// The end of a sleep in which the thread might be cancelled anywhere. It may be cancelled at points again; a
/// cancellation that came during the sleep takes effect here.
pub fn end_of_sleep() {
    cancellation(DEFERRED);
    await_announced();
    pthread_testcancel();
}

/// pthread_setcanceltype(3).
///
/// # Safety
/// As for libc's: `before` is null or a live int.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_setcanceltype(how: c_int, before: *mut c_int) -> c_int {
    // The note covers the whole time: it is made before libc changes the type, and removed after libc has changed it
    // back.
    if how == ASYNCHRONOUS {
        cancel::note(CancelType::Asynchronous);
    }
    // SAFETY: the caller's promise.
    let code = unsafe { set_type(how, before) };
    if (code, how) == (0, DEFERRED) {
        cancel::note(CancelType::Deferred);
    }
    code
}

/// libc's function. May unwind.
///
/// # Safety
/// As for `pthread_setcanceltype`.
unsafe fn set_type(how: c_int, before: *mut c_int) -> c_int {
    let address = SET_TYPE.address();
    if address == 0 {
        return libc::EINVAL;
    }
    // SAFETY: the next definition has the type that libc's header gives it; the caller's promise.
    unsafe {
        transmute::<usize, unsafe extern "C-unwind" fn(c_int, *mut c_int) -> c_int>(address)(how, before)
    }
}

/// Sets the cancellation type of the calling thread in libc, and returns the type before. The engine is not told: for
/// the engine the type that the program chose counts.
pub fn cancellation(how: c_int) -> c_int {
    let mut before = DEFERRED;
    // SAFETY: a live int.
    unsafe { set_type(how, &mut before) };
    before
}

/// Runs a handler of the program. In it the thread can be cancelled as if the kernel had answered the interrupted
/// calls: anywhere if the program chose asynchronous cancellation, even if the engine has deferred it for its call; and
/// also if the handler interrupts the sleep of a cancellation point, where libc (before 2.41) and the engine set the
/// asynchronous type. A call of the engine from the handler must know that. If the handler leaves by longjmp the thread
/// keeps the type that it had in the handler, as with libc.
#[inline(always)]
pub fn handling(handler: impl FnOnce()) {
    // A lookup takes the dynamic linker's lock, which the interrupted thread may hold.
    if SET_TYPE.known() == 0 {
        return handler();
    }
    match cancel::cancel_type() {
        CancelType::Asynchronous => {
            let before = cancellation(ASYNCHRONOUS);
            handler();
            // Otherwise the type that the handler chose remains.
            if before == DEFERRED {
                cancellation(DEFERRED);
            }
        }
        CancelType::Deferred if cancellation(DEFERRED) == DEFERRED => handler(),
        CancelType::Deferred => {
            cancel::note(CancelType::Asynchronous);
            cancellation(ASYNCHRONOUS);
            handler();
            cancel::note(CancelType::Deferred);
        }
    }
}

/// Makes a call of the engine, with asynchronous cancellation deferred.
#[inline(always)]
pub fn with_cancel_deferred<R: Copy>(call: impl FnOnce() -> R) -> R {
    match cancel::cancel_type() {
        CancelType::Deferred => call_out_of_line(call),
        CancelType::Asynchronous => with_cancel_always_deferred(call),
    }
}

/// Makes a call in which the thread is not cancelled asynchronously, whatever type the engine knows for it. Before an
/// engine is open the thread may be in a handler in which libc allows asynchronous cancellation, and nothing records
/// that.
pub fn with_cancel_always_deferred<R: Copy>(call: impl FnOnce() -> R) -> R {
    let before = cancellation(DEFERRED);
    let answer = call_out_of_line(call);
    // A cancellation that was requested in the meantime takes effect here.
    cancellation(before);
    answer
}

/// Makes a call in a separate stack frame, so that the caller has nothing to drop.
#[inline(never)]
fn call_out_of_line<R>(call: impl FnOnce() -> R) -> R {
    call()
}

/// Runs a sleep of the engine, in which the thread may be cancelled.
fn sleep(sleep: &mut dyn FnMut()) {
    let mut buffer = MaybeUninit::<Buffer>::uninit();
    let manner = core::ptr::without_provenance_mut(cancel::cancel_type() as usize);
    // SAFETY: the buffer is popped before this function returns.
    unsafe {
        _pthread_cleanup_push(buffer.as_mut_ptr(), restore_cancel_type, manner);
        let before = cancellation(ASYNCHRONOUS);
        sleep();
        if before == DEFERRED {
            end_of_sleep();
        }
        _pthread_cleanup_pop(buffer.as_mut_ptr(), 0);
    }
}

/// Runs when a thread is cancelled in its sleep, before the program's clean-up handlers. glibc's longjmp(3) calls it
/// too. Then no wait is in progress, as the trampoline of the handler that jumps has ended it, and the thread continues
/// with the cancellation type that the program chose.
unsafe extern "C-unwind" fn restore_cancel_type(manner: *mut c_void) {
    cancellation(DEFERRED);
    cancel::leave();
    if manner.addr() == CancelType::Asynchronous as usize {
        cancellation(ASYNCHRONOUS);
    } else {
        // A handler during the sleep may have run with the note of asynchronous cancellation.
        cancel::note(CancelType::Deferred);
    }
}

/// `struct _pthread_cleanup_buffer` of pthread.h.
#[repr(C)]
pub struct Buffer {
    routine: usize,
    argument: usize,
    type_before: c_int,
    previous: usize,
}

unsafe extern "C-unwind" {
    /// pthread_testcancel(3).
    pub safe fn pthread_testcancel();
    /// pthread_setcancelstate(3).
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
    /// Implements pthread_cleanup_push(3) in programs built against glibc before 2.3.3. Unlike today's macro it is a
    /// function.
    pub fn _pthread_cleanup_push(
        buffer: *mut Buffer,
        routine: unsafe extern "C-unwind" fn(*mut c_void),
        argument: *mut c_void,
    );
    /// The counterpart of [`_pthread_cleanup_push`].
    pub fn _pthread_cleanup_pop(buffer: *mut Buffer, execute: c_int);
}
