//! Properties of functions that follow from their names.

use unspin_launch::program::system_code::{is_library_of_system, is_of_system};
use unspin_symbols::Frame;

/// Words in the names of functions that only lock, or only initialise a lock, for their caller.
const WORDS: [&str; 22] = [
    "lock",
    "locked",
    "locker",
    "locks",
    "unlock",
    "trylock",
    "mutex",
    "mtx",
    "rwlock",
    "spinlock",
    "spin",
    "semaphore",
    "sem",
    "monitor",
    "latch",
    "acquire",
    "guard",
    "cond",
    "condvar",
    "condition",
    "barrier",
    "futex",
];

/// Words in the names of functions that wait for descriptors or threads for their caller: the inner function of an
/// event loop, a function that reads until all bytes have arrived.
const WAIT_WORDS: [&str; 13] = [
    "poll", "epoll", "select", "dispatch", "wait", "read", "recv", "receive", "accept", "join", "fill", "io",
    "sleep",
];

/// Crates that sleep on futexes for Rust programs.
const CRATES: [&str; 3] = ["parking_lot::", "parking_lot_core::", "lock_api::"];

/// Whether a function's name says that it locks, or initialises a lock, for its caller: `rocksdb::port::Mutex::Lock`,
/// `g_mutex_init`. In a C++ name the last two parts count: class and function.
pub fn is_wrapper(function: &str) -> bool {
    let mut parts = function.rsplit("::");
    let named = [parts.next(), parts.next()];
    named.into_iter().flatten().any(|part| words(part).any(|word| WORDS.contains(&word.as_str())))
}

/// Whether a function's name says that it waits for its caller: `uv__io_poll`, `epoll_dispatch`, `Socket::recvAll`.
pub fn is_wait_wrapper(function: &str) -> bool {
    let mut parts = function.rsplit("::");
    parts.next().is_some_and(|part| words(part).any(|word| WAIT_WORDS.contains(&word.as_str())))
}

/// Whether a frame is in a language runtime or system library, where users do not search for their locks.
pub fn is_runtime(frame: &Frame) -> bool {
    let function = frame.short.trim_start_matches('<');
    is_library_of_system(&frame.module)
        || is_of_system(function)
        || CRATES.iter().any(|of| function.starts_with(of))
}

/// The words of an identifier, in lower case: of `InstrumentedMutex` as well as `item_lock_init`.
fn words(identifier: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut previous = None;
    let characters: Vec<char> = identifier.chars().collect();
    for (index, &character) in characters.iter().enumerate() {
        let after_lower = previous.is_some_and(|p: char| p.is_lowercase() || p.is_numeric());
        let before_lower = characters.get(index + 1).is_some_and(|next| next.is_lowercase());
        // `PLock`, `RWLock`, `LOCK`: a capital letter begins a word after or before a small letter.
        if !character.is_alphanumeric() || character.is_uppercase() && (after_lower || before_lower) {
            words.push(String::new());
        }
        if character.is_alphanumeric() {
            words.last_mut().expect("there is one").extend(character.to_lowercase());
        }
        previous = Some(character);
    }
    words.into_iter().filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapper_names_are_recognised() {
        for wrapper in [
            "rocksdb::port::Mutex::Lock",
            "rocksdb::port::Mutex::Mutex",
            "rocksdb::InstrumentedMutex::InstrumentedMutex",
            "g_mutex_lock",
            "item_lock",
            "kyotocabinet::RWLock::lock_reader",
            "PyThread_acquire_lock",
            "Spinlock::take",
            "CLOCK_LOCK",
        ] {
            assert!(is_wrapper(wrapper), "{wrapper}");
        }
        for other in [
            "rocksdb::DBImpl::DBImpl",
            "BlockCache::Insert",
            "clock_tick",
            "unblocked",
            "lock::deep::Cache::get",
            "main",
            "",
        ] {
            assert!(!is_wrapper(other), "{other}");
        }
    }

    #[test]
    fn waiting_wrapper_names_are_recognised() {
        for wrapper in ["uv__io_poll", "epoll_dispatch", "Socket::recvAll", "select_epoll_poll_impl"] {
            assert!(is_wait_wrapper(wrapper), "{wrapper}");
        }
        for other in ["main", "ReaderThread::run", "wait::deep::serve", "readn", ""] {
            assert!(!is_wait_wrapper(other), "{other}");
        }
    }
}
