//! Functions that are called when a thread ends: by return, `pthread_exit` or cancellation, not when the process ends.
//!
//! libc calls them through one key of thread-specific data (pthread_key_create(3)), which a program can notice: it can
//! create one key less, and no other key has this number. So the key is the highest free one whose values lie in the
//! thread itself: the program's keys get the numbers that they would get without it, and [`call_at_exit`] allocates
//! nothing. (`__cxa_thread_atexit_impl` needs no key, but allocates, which the thread may not be able to do: the
//! program's allocator may hold a lock. And it is never called for what a key's destructor does.) A program that needs
//! every key gets this one as well ([`give_up`]).

use crate::sched;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering::Relaxed, Ordering::SeqCst};
use libc::{c_void, pthread_key_t};

/// Who is told that a thread ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum ExitHook {
    /// The System V engine.
    Sysv,
    /// The preload library.
    Preload,
    /// The read-write locks.
    Readers,
}

const HOOKS: [ExitHook; 3] = [ExitHook::Sysv, ExitHook::Preload, ExitHook::Readers];

/// The function of each [`ExitHook`]; null until it is first used.
static FUNCTIONS: [AtomicPtr<c_void>; HOOKS.len()] = [const { AtomicPtr::new(null_mut()) }; HOOKS.len()];

/// The key: 0 before it is created, [`GIVEN_UP`], or one more than its number.
static KEY: AtomicU32 = AtomicU32::new(0);
const GIVEN_UP: u32 = u32::MAX;

/// The number of threads that may be storing a value under the key.
static STORING: AtomicU32 = AtomicU32::new(0);

/// The number of keys whose values lie in the thread's own memory (`PTHREAD_KEY_2NDLEVEL_SIZE` of glibc).
const KEYS_IN_THREAD: usize = 32;

/// Calls `function` when the calling thread ends. Returns `false` if libc has no key left: then nothing will be called.
///
/// The function runs among the destructors of thread-specific data, in unspecified order. If it runs before another
/// one that needs what the function frees, that one may call this function again (`PTHREAD_DESTRUCTOR_ITERATIONS`
/// times at most).
pub fn call_at_exit(hook: ExitHook, function: extern "C-unwind" fn()) -> bool {
    // Relaxed: the thread reads it itself, and every thread stores the same.
    FUNCTIONS[hook as usize].store(function as *mut c_void, Relaxed);
    // SeqCst, as are the accesses in `give_up`: either it finds this thread here, or this thread finds the key given up.
    STORING.fetch_add(1, SeqCst);
    // SAFETY: the key exists: `give_up` deletes it only while no thread is here.
    let is_stored = key().is_some_and(|key| unsafe {
        let hooks = libc::pthread_getspecific(key) as usize | 1 << hook as usize;
        libc::pthread_setspecific(key, hooks as *const c_void) == 0
    });
    STORING.fetch_sub(1, SeqCst);
    is_stored
}

/// Creates the key now, so that it has a low number.
pub fn reserve() {
    key();
}

/// Deletes the key, if there is one: the program needs it. From then on no function is called. Returns whether libc has
/// a key more than before.
pub fn give_up() -> bool {
    let key = KEY.load(SeqCst);
    if matches!(key, 0 | GIVEN_UP) || KEY.compare_exchange(key, GIVEN_UP, SeqCst, SeqCst).is_err() {
        return false;
    }
    // A value that was stored later would be a value of the program's key. A fork may leave the number of threads of
    // its parent behind; then the key is lost.
    for _ in 0..1000 {
        if STORING.load(SeqCst) == 0 {
            // SAFETY: the key was created by `create`, and no thread stores a value under it any more.
            return unsafe { libc::pthread_key_delete(key - 1) } == 0;
        }
        sched::yield_or_sleep();
    }
    false
}

fn key() -> Option<pthread_key_t> {
    match KEY.load(SeqCst) {
        0 => create(),
        GIVEN_UP => None,
        known => Some(known - 1),
    }
}

#[cold]
fn create() -> Option<pthread_key_t> {
    let mine = create_highest();
    let word = mine.map_or(GIVEN_UP, |key| key + 1);
    match KEY.compare_exchange(0, word, SeqCst, SeqCst) {
        Ok(_) => mine,
        Err(other) => {
            if let Some(mine) = mine {
                delete(mine);
            }
            (other != GIVEN_UP).then(|| other - 1)
        }
    }
}

/// Creates the highest free key below [`KEYS_IN_THREAD`], or any if there is none. libc assigns the lowest free number:
/// the keys below are created too, and deleted again.
fn create_highest() -> Option<pthread_key_t> {
    let mut highest = None;
    let mut below = [0; KEYS_IN_THREAD];
    let mut count = 0;
    while let Some(key) = create_lowest() {
        let fits = (key as usize) < KEYS_IN_THREAD;
        if let Some(lower) = if fits || highest.is_none() { highest.replace(key) } else { Some(key) } {
            below[count] = lower;
            count += 1;
        }
        if key as usize + 1 >= KEYS_IN_THREAD {
            break;
        }
    }
    below[..count].iter().copied().for_each(delete);
    highest
}

fn create_lowest() -> Option<pthread_key_t> {
    let mut key = 0;
    // SAFETY: `key` is live, and the destructor takes the values that `call_at_exit` stores.
    (unsafe { libc::pthread_key_create(&mut key, Some(run)) } == 0).then_some(key)
}

fn delete(key: pthread_key_t) {
    // SAFETY: the key was created, and no thread has stored a value under it.
    unsafe { libc::pthread_key_delete(key) };
}

/// The destructor: `hooks` has a bit for each [`ExitHook`].
unsafe extern "C" fn run(hooks: *mut c_void) {
    for hook in HOOKS {
        // Relaxed: this thread has stored it itself.
        let function = FUNCTIONS[hook as usize].load(Relaxed);
        if hooks as usize & 1 << hook as usize != 0 && !function.is_null() {
            // SAFETY: `call_at_exit` has stored a function of this type.
            let function = unsafe { core::mem::transmute::<*mut c_void, extern "C-unwind" fn()>(function) };
            function();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::AtomicUsize;

    static CALLS: AtomicUsize = AtomicUsize::new(0);

    extern "C-unwind" fn count() {
        CALLS.fetch_add(1, SeqCst);
    }

    extern "C-unwind" fn count_hundred() {
        CALLS.fetch_add(100, SeqCst);
    }

    /// One test, as all threads of the process share the key.
    #[test]
    fn functions_are_called_until_the_program_needs_the_key() {
        let thread = |hooks: &'static [(ExitHook, extern "C-unwind" fn())]| {
            let all = move || hooks.iter().all(|&(hook, function)| call_at_exit(hook, function));
            std::thread::spawn(all).join().unwrap()
        };
        reserve();
        // The test program's own runtime may have created some keys.
        assert_eq!(key(), Some(KEYS_IN_THREAD as u32 - 1));
        let free = create_lowest().unwrap();
        assert!((free as usize) < KEYS_IN_THREAD - 1, "the lower keys are free: {free}");
        delete(free);
        assert!(thread(&[(ExitHook::Sysv, count), (ExitHook::Preload, count_hundred)]));
        assert_eq!(CALLS.load(SeqCst), 101);
        assert!(thread(&[(ExitHook::Preload, count_hundred)]));
        assert_eq!(CALLS.load(SeqCst), 201);

        STORING.fetch_add(1, SeqCst);
        assert!(!give_up(), "a thread may be storing a value");
        STORING.fetch_sub(1, SeqCst);
        KEY.store(KEYS_IN_THREAD as u32, SeqCst);
        assert!(give_up() && !give_up());
        assert_eq!(key(), None);
        assert!(!thread(&[(ExitHook::Sysv, count)]));
        assert_eq!(CALLS.load(SeqCst), 201);
    }
}
