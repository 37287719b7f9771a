//! The frame of a call chain after which a lock is named.

use super::shared::Shared;
use super::words;
use unspin_symbols::{Frame, SymbolKind};

/// Maximum number of wrappers that are skipped.
const WRAPPERS_MAX: usize = 4;

/// A frame, and the wrappers below it.
#[derive(Debug)]
pub struct NamedFrame<'f> {
    /// `queue_init`, or `DBImpl::DBImpl ▸ port::Mutex::Mutex`.
    pub name: String,
    frame: &'f Frame,
}

impl NamedFrame<'_> {
    /// Number of frames of the chain up to and including it: at least one.
    pub fn depth(&self, chain: &[Frame]) -> usize {
        chain.iter().position(|frame| std::ptr::eq(frame, self.frame)).map_or(1, |index| index + 1)
    }

    /// `queue.c:31`. Without debug information the offset within the function and the library, because one function can
    /// initialise several locks.
    pub fn place(&self) -> Option<String> {
        let Frame { location, kind, offset, module, .. } = self.frame;
        match (location, kind) {
            (Some(location), _) => Some(location.to_string()),
            (None, SymbolKind::Unknown) => None,
            (None, SymbolKind::Function | SymbolKind::Inlined) => Some(format!("+{offset:#x}, {module}")),
        }
    }
}

/// The frame of a chain, innermost first, that distinguishes its lock from others.
///
/// This is the innermost frame outside the system's libraries, unless it is a wrapper. Then it is the next outer one,
/// which may be a wrapper too. A function is a wrapper if its name says so ([`words::is_wrapper`]). The innermost
/// function is also a wrapper if it has several callers.
pub fn of<'f>(chain: &'f [Frame], shared: &Shared) -> Option<NamedFrame<'f>> {
    let mut frames = visible(chain).peekable();
    let Some(inner) = frames.next() else {
        // A lock of a system library.
        return chain.first().map(|frame| NamedFrame { name: frame.short.clone(), frame });
    };
    let mut frame = inner;
    for depth in 0..WRAPPERS_MAX {
        let wrapper = words::is_wrapper(&frame.short) || depth == 0 && shared.contains(&frame.short);
        match frames.next_if(|_| wrapper) {
            Some(outer) => frame = outer,
            None => break,
        }
    }
    let name = if std::ptr::eq(frame, inner) {
        inner.short.clone()
    } else {
        format!("{} ▸ {}", frame.short, inner.short)
    };
    Some(NamedFrame { name, frame })
}

/// The innermost frame outside the system's libraries, or else the innermost one.
pub fn innermost(frames: &[Frame]) -> Option<&Frame> {
    visible(frames).next().or(frames.first())
}

/// The first caller of a wrapper that is neither in a system library nor a wrapper, or else the outermost wrapper.
pub fn caller_of_wrapper(callers: &[Frame]) -> Option<String> {
    let mut last = None;
    for frame in visible(callers).take(WRAPPERS_MAX) {
        last = Some(frame);
        if !words::is_wrapper(&frame.short) {
            break;
        }
    }
    last.map(Frame::to_string)
}

/// The frames outside the system's libraries.
pub fn visible(chain: &[Frame]) -> impl Iterator<Item = &Frame> {
    chain.iter().filter(|frame| !words::is_runtime(frame))
}

#[cfg(test)]
mod tests {
    use super::super::lookup::Chain;
    use super::*;
    use std::rc::Rc;

    fn chain(functions: &[&str]) -> Vec<Frame> {
        let frame = |function: &&str| {
            let (module, short) = function.split_once('!').unwrap_or(("program", function));
            Frame {
                function: short.into(),
                short: short.into(),
                offset: 4,
                location: None,
                module: module.into(),
                kind: SymbolKind::Function,
            }
        };
        functions.iter().map(frame).collect()
    }

    fn name_of(functions: &[&str], others: &[&[&str]]) -> String {
        let chains = others.iter().map(|other| chain(other)).chain([chain(functions)]);
        let shared =
            Shared::new(chains.map(|frames| Rc::new(Chain { frames, beyond: 1, returns: Vec::new() })));
        of(&chain(functions), &shared).unwrap().name
    }

    #[test]
    fn plain_function_names_its_lock() {
        assert_eq!(name_of(&["queue_init", "main", "libc.so.6!__libc_start_main"], &[]), "queue_init");
        assert_eq!(
            name_of(&["libstdc++.so.6!f", "std::mutex::mutex", "Queue::Queue", "main"], &[]),
            "Queue::Queue"
        );
    }

    #[test]
    fn wrappers_are_skipped_by_name() {
        let through =
            ["port::Mutex::Mutex", "InstrumentedMutex::InstrumentedMutex", "DBImpl::DBImpl", "DB::Open"];
        assert_eq!(name_of(&through, &[]), "DBImpl::DBImpl ▸ port::Mutex::Mutex");
        assert_eq!(name_of(&["mutex_init"], &[]), "mutex_init", "the wrapper has no known caller");
    }

    #[test]
    fn function_with_several_callers_is_a_wrapper() {
        let other: &[&str] = &["node_new", "tree_open", "main"];
        assert_eq!(name_of(&["node_new", "list_open", "main"], &[]), "node_new");
        assert_eq!(name_of(&["node_new", "list_open", "main"], &[other]), "list_open ▸ node_new");
    }

    #[test]
    fn lock_of_a_system_library_has_a_name() {
        assert_eq!(name_of(&["libc.so.6!malloc_init"], &[]), "malloc_init");
        assert!(of(&[], &Shared::default()).is_none());
    }

    #[test]
    fn caller_of_a_wrapper_names_the_lock() {
        let callers = chain(&["MutexLock::MutexLock", "libstdc++.so.6!f", "DBImpl::Write", "main"]);
        assert_eq!(caller_of_wrapper(&callers).as_deref(), Some("DBImpl::Write"));
        assert_eq!(caller_of_wrapper(&callers[..2]).as_deref(), Some("MutexLock::MutexLock"));
        assert_eq!(caller_of_wrapper(&[]), None);
    }
}
