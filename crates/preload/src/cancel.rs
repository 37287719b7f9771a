//! Cancellation of threads, and what it may meet.
//!
//! Asynchronous cancellation unwinds a thread from between any two instructions. Compiled Rust has no landing place there, and
//! the engine may hold a lock: glibc would abort the program, where a thread in a system call is just cancelled. So a thread
//! that lets itself be cancelled like that does not while it is in the engine, but for the engine's sleeps ([`sheltered`]);
//! nor does it use the fast path, which so need not ask. Which threads these are is known from `pthread_setcanceltype`, the
//! one way to become one. Until it is sheltered, and in those sleeps, it may be unwound through functions that have nothing
//! to drop, and so no table of landing places; what has is not inlined into them.

use crate::next::next;
use core::ffi::{c_int, c_void};
use core::mem::{MaybeUninit, transmute};
use unspin_sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use unspin_sys::sched;
use unspin_sysv::cancel::{self, Manner};

/// PTHREAD_CANCEL_DEFERRED and PTHREAD_CANCEL_ASYNCHRONOUS.
pub const DEFERRED: c_int = 0;
/// See [`DEFERRED`].
pub const ASYNCHRONOUS: c_int = 1;

next! {
    static SET_TYPE = c"pthread_setcanceltype";
}

/// Makes the sleeps of the engine in msgsnd and msgrcv cancellation points, and in all calls of threads of that kind. To be
/// called before the program begins.
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

/// Finds `cancelhandling`: the only word that has one bit more while the thread may be cancelled anywhere.
fn find_handling() {
    let before = words();
    let kind = cancellation(ASYNCHRONOUS);
    let meanwhile = words();
    cancellation(kind);
    let after = words();
    let mut changed = (0..WORDS).filter(|&n| before[n] != meanwhile[n]);
    if let (Some(n), None) = (changed.next(), changed.next())
        && before[n] == after[n]
        && before[n] & (TYPE | ANNOUNCED | ARRIVED) == 0
        && meanwhile[n] == before[n] | TYPE
    {
        // Relaxed: see there.
        HANDLING.store(4 * n, Relaxed);
    }
}

/// The beginning of the calling thread's `struct pthread`.
fn words() -> [u32; WORDS] {
    // SAFETY: pthread_self(3) of glibc is the address of a `struct pthread`, which is longer. Volatile: libc writes to it.
    unsafe { (libc::pthread_self() as *const [u32; WORDS]).read_volatile() }
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
        sched::give_way();
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
    // From before it is so until after it is so no more.
    if how == ASYNCHRONOUS {
        cancel::note(Manner::Asynchronous);
    }
    // SAFETY: the caller's promise.
    let code = unsafe { set_type(how, before) };
    if (code, how) == (0, DEFERRED) {
        cancel::note(Manner::Deferred);
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

/// Lets the thread be cancelled like this from now on, and answers how it was before. To libc only: the engine knows the
/// thread by what the program chose.
pub fn cancellation(how: c_int) -> c_int {
    let mut before = DEFERRED;
    // SAFETY: a live int.
    unsafe { set_type(how, &mut before) };
    before
}

/// Runs a handler of the program, in which its thread may be cancelled as if the kernel had answered the calls that it has
/// interrupted: anywhere, if that is what the program chose, whatever the engine has made of it for its call; and in the
/// sleep of a cancellation point, where libc (before 2.41) and the engine let it. A call of the engine in the handler must know
/// that. Who leaves the handler by a jump stays as it was in there, as with libc.
#[inline(always)]
pub fn handling(handler: impl FnOnce()) {
    // To look it up takes the dynamic linker's lock, which may be what was interrupted.
    if SET_TYPE.known() == 0 {
        return handler();
    }
    match cancel::manner() {
        Manner::Asynchronous => {
            let before = cancellation(ASYNCHRONOUS);
            handler();
            // Else what the handler chose remains.
            if before == DEFERRED {
                cancellation(DEFERRED);
            }
        }
        Manner::Deferred if cancellation(DEFERRED) == DEFERRED => handler(),
        Manner::Deferred => {
            cancel::note(Manner::Asynchronous);
            cancellation(ASYNCHRONOUS);
            handler();
            cancel::note(Manner::Deferred);
        }
    }
}

/// Makes a call of the engine.
#[inline(always)]
pub fn sheltered<R: Copy>(call: impl FnOnce() -> R) -> R {
    match cancel::manner() {
        Manner::Deferred => aside(call),
        Manner::Asynchronous => undisturbed(call),
    }
}

/// Makes a call in which the thread is not cancelled, of whatever kind it may be: before there is an engine it may be in a
/// handler in which libc lets it be cancelled anywhere, and nothing tells.
pub fn undisturbed<R: Copy>(call: impl FnOnce() -> R) -> R {
    let before = cancellation(DEFERRED);
    let answer = aside(call);
    // What came meanwhile takes effect here.
    cancellation(before);
    answer
}

/// Makes a call, in a function of its own.
#[inline(never)]
fn aside<R>(call: impl FnOnce() -> R) -> R {
    call()
}

/// Runs a sleep of the engine, in which the thread may be cancelled.
fn sleep(sleep: &mut dyn FnMut()) {
    let mut buffer = MaybeUninit::<Buffer>::uninit();
    let manner = core::ptr::without_provenance_mut(cancel::manner() as usize);
    // SAFETY: the buffer is popped before this function returns.
    unsafe {
        _pthread_cleanup_push(buffer.as_mut_ptr(), cancelled, manner);
        let before = cancellation(ASYNCHRONOUS);
        sleep();
        if before == DEFERRED {
            end_of_sleep();
        }
        _pthread_cleanup_pop(buffer.as_mut_ptr(), 0);
    }
}

/// What a thread does that was cancelled in its sleep, before its own clean-up handlers. glibc's longjmp(3) calls it too; then
/// no wait is under way, as the trampoline of the handler that jumps has ended it, and the thread goes on as the program lets
/// it be cancelled.
unsafe extern "C-unwind" fn cancelled(manner: *mut c_void) {
    cancellation(DEFERRED);
    cancel::leave();
    if manner.addr() == Manner::Asynchronous as usize {
        cancellation(ASYNCHRONOUS);
    } else {
        // The handler may have run as in a thread of the other kind.
        cancel::note(Manner::Deferred);
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
    /// What pthread_cleanup_push(3) was before glibc 2.3.3, and is to programs of that time: a function, where today's is a
    /// macro.
    pub fn _pthread_cleanup_push(
        buffer: *mut Buffer,
        routine: unsafe extern "C-unwind" fn(*mut c_void),
        argument: *mut c_void,
    );
    /// Its counterpart.
    pub fn _pthread_cleanup_pop(buffer: *mut Buffer, execute: c_int);
}
