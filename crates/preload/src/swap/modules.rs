//! The addresses at which the modules of the plan are mapped.
//!
//! They are looked up in `/proc/self/maps`: when the plan is read; when a lock or a caller lies in a module that was
//! not mapped at the last lookup; and after `dlclose`. (`dl_iterate_phdr` would take a lock of the dynamic linker.
//! Another thread may hold that lock and wait for this one.)

use super::plan::{MODULES, Plan, copy};
use crate::sandbox;
use crate::watch::frames;
use unspin_sync::atomic::{AtomicUsize, Ordering::Relaxed};
use unspin_sys::maps;
use unspin_sys::page::BYTES as PAGE;

/// The load bias of each module: the difference between mapped and link-time addresses. [`ABSENT`] while the module is
/// not mapped. Relaxed throughout this file: a thread that uses a module's code has learnt of it through the dynamic
/// linker, whose locks order the accesses. It is the program's error if it uses a lock of a module that is being
/// loaded or unloaded at this moment.
static BIASES: [AtomicUsize; MODULES] = [const { AtomicUsize::new(ABSENT) }; MODULES];

const ABSENT: usize = usize::MAX;

/// The modules that were mapped when `/proc/self/maps` was last read, by their start addresses: each causes one lookup.
/// In a program with more modules, the others cause repeated lookups, up to [`LOOKS`] times.
static SEEN: [AtomicUsize; 512] = [const { AtomicUsize::new(0) }; 512];
static LOOKS_LEFT: AtomicUsize = AtomicUsize::new(LOOKS);
const LOOKS: usize = 10_000;

/// The load bias of a module of the plan; `None` if it is not mapped.
#[inline]
pub fn bias(plan: &Plan, module: usize) -> Option<usize> {
    debug_assert!(module < plan.modules().len());
    Some(BIASES[module].load(Relaxed)).filter(|&bias| bias != ABSENT)
}

/// Ensures that the modules of a lock and of its user are known, if they are in the plan.
pub fn look(plan: &Plan, lock: usize, code: usize) {
    let is_complete = (0..plan.modules().len()).all(|module| bias(plan, module).is_some());
    if is_complete || sandbox::is_closed() {
        return;
    }
    for begin in [lock, code].into_iter().filter_map(frames::module) {
        if SEEN.iter().any(|seen| seen.load(Relaxed) == begin) || LOOKS_LEFT.load(Relaxed) == 0 {
            continue;
        }
        LOOKS_LEFT.fetch_sub(1, Relaxed);
        find(plan);
        if let Some(free) = SEEN.iter().find(|seen| seen.load(Relaxed) == 0) {
            free.store(begin, Relaxed);
        }
    }
}

/// To be called after code was unloaded: other modules may be mapped at its addresses.
pub fn forget(plan: &Plan) {
    SEEN.iter().for_each(|seen| seen.store(0, Relaxed));
    if !sandbox::is_closed() {
        find(plan);
    }
}

/// Looks up all modules of the plan.
pub fn find(plan: &Plan) {
    let mut found = [ABSENT; MODULES];
    let result = maps::lines(|line| {
        let Some(mapped) = plan.mapped_file(line) else { return };
        if let Some(at) = plan.modules().iter().position(|module| module.is(&mapped))
            && found[at] == ABSENT
            && let Some(bias) = bias_of(mapped.range.start)
        {
            found[at] = bias;
        }
    });
    if result.is_ok() {
        BIASES.iter().zip(found).for_each(|(bias, found)| bias.store(found, Relaxed));
    }
}

/// The load bias of the module whose file is mapped from its beginning at this address: elf(5).
fn bias_of(start: usize) -> Option<usize> {
    const PT_LOAD: u64 = 1;
    const HEADER: usize = 64;
    const ENTRY: usize = 56;
    let mut header = [0; HEADER];
    copy(start, &mut header).then_some(())?;
    if header[..4] != *b"\x7FELF" {
        return None;
    }
    let number = |bytes: &[u8], at: usize, length: usize| {
        bytes[at..at + length].iter().rev().fold(0u64, |number, &byte| number << 8 | u64::from(byte))
    };
    let (first, count) = (number(&header, 32, 8) as usize, number(&header, 56, 2) as usize);
    for at in (0..count).map(|n| start.wrapping_add(first).wrapping_add(n * ENTRY)) {
        let mut entry = [0; ENTRY];
        copy(at, &mut entry).then_some(())?;
        let (kind, offset) = (number(&entry, 0, 4), number(&entry, 8, 8) as usize);
        if kind == PT_LOAD && offset / PAGE == 0 {
            return Some(start.wrapping_sub(number(&entry, 16, 8) as usize / PAGE * PAGE));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bias_is_the_dynamic_linkers() {
        frames::prepare();
        let here = the_bias_is_the_dynamic_linkers as fn() as usize;
        let begin = frames::module(here);
        let mut found = None;
        maps::lines(|line| {
            let range = maps::range(line).unwrap();
            if maps::offset(line) == Some(0) && begin == Some(range.start as usize) {
                found = bias_of(range.start as usize);
            }
        })
        .unwrap();
        // SAFETY: an all-zero `Dl_info` is valid; the function fills it.
        let base = unsafe {
            let mut info: libc::Dl_info = core::mem::zeroed();
            assert_ne!(libc::dladdr(here as *const _, &mut info), 0);
            info.dli_fbase as usize
        };
        assert_eq!(found, Some(base), "a test program is linked for address 0");
        assert_eq!(bias_of(&raw const base as usize), None, "no module begins on the stack");
    }
}
