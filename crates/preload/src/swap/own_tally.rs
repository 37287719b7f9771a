//! The tally of this process alone, if the user wants a summary at its end or a status meanwhile.
//!
//! It lies in memory, or in a file that `unspin plan status` finds by the mappings of the process. A child made by fork begins
//! one of its own when it first counts something: with the decisions of its parent, whose locks it has inherited, and without
//! the uses. The process removes its file at its end; what a killed process leaves, `unspin plan status` removes.
//!
//! The decisions are rare, and the uses are those of threads that have waited, so counting costs nothing that a program notices.

use crate::claim::{self, Claim, Claimed};
use crate::{environment, errno, notice, sandbox};
use core::ffi::CStr;
use core::fmt::{self, Write};
use core::ptr::null_mut;
use unspin_locks::Waited;
use unspin_sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use unspin_sys::creds::Creds;
use unspin_sys::mem::Mapping;
use unspin_sys::signal::{Mask, block, set_mask};
use unspin_sys::{Errno, clock, file, generation, process, tid};
use unspin_wire::plan::LockFamily;
use unspin_wire::{Tally, TallyUse};

/// The tally of this process, or of the one that has forked it; null if there is none. Never freed.
static CURRENT: AtomicPtr<OwnTally> = AtomicPtr::new(null_mut());
/// The claim of the thread that begins one after a fork.
static RENEWING: Claim = Claim::free();

/// Whether uses are counted.
static COUNTS_USES: AtomicBool = AtomicBool::new(false);

struct OwnTally {
    tally: Tally,
    /// The process generation of its process.
    generation: u32,
    /// The process, which differs in a child made by vfork.
    pid: u32,
    /// The path of its file, with a zero byte behind it; empty if it lies in memory.
    path: [u8; PATH],
}

/// Bytes of the longest path of a file.
const PATH: usize = 256;

/// Begins the tally, if the user wants one. To be called when the plan has been read.
pub fn begin() {
    if !environment::wants_summary() && environment::status().is_none() {
        return;
    }
    let (tally, path, failed) = create();
    if let Some(error) = failed {
        notice::print(format_args!(
            "no tally for `unspin plan status`: no file can be created: {error}; name a folder in UNSPIN_STATUS"
        ));
    }
    if let Some(tally) = tally {
        keep(tally, path);
        // Relaxed: threads that see it load CURRENT by an Acquire.
        COUNTS_USES.store(true, Ordering::Relaxed);
    }
}

/// The tally of this process.
#[inline]
pub fn get() -> Option<&'static Tally> {
    // Acquire: pairs with the Release in `keep`.
    let current = CURRENT.load(Ordering::Acquire);
    // SAFETY: null, or what `keep` has leaked.
    let current = unsafe { current.as_ref()? };
    if current.generation == generation::get() { Some(&current.tally) } else { renew() }
}

/// The tally, unless it is one that was inherited by a fork and to which this process has added nothing.
pub fn get_used() -> Option<&'static Tally> {
    // Acquire: as in `get`.
    // SAFETY: as in `get`.
    let current = unsafe { CURRENT.load(Ordering::Acquire).as_ref()? };
    (current.generation == generation::get() && current.pid == process::pid()).then_some(&current.tally)
}

/// Notes how an acquisition of a replaced lock waited.
#[inline(always)]
pub fn note(family: LockFamily, waited: Waited) {
    if waited != Waited::No {
        note_wait(family, waited);
    }
}

#[cold]
#[inline(never)]
fn note_wait(family: LockFamily, waited: Waited) {
    note_use(if waited == Waited::Slept { TallyUse::Slept(family) } else { TallyUse::Spun(family) });
}

/// Counts one use, if uses are counted.
#[cold]
pub fn note_use(used: TallyUse) {
    // Relaxed: as in `begin`.
    if COUNTS_USES.load(Ordering::Relaxed)
        && let Some(tally) = get()
    {
        tally.add_use(used, tid::get_cached());
    }
}

/// To be called at the end of the process: removes the tally's file.
pub fn end() {
    if get_used().is_some() {
        // Acquire: as in `get`.
        // SAFETY: as in `get`; it is not null.
        let path = unsafe { &(*CURRENT.load(Ordering::Acquire)).path };
        if let Some(path) = CStr::from_bytes_until_nul(path).ok().filter(|path| !path.is_empty()) {
            let _ = file::remove_at(path);
        }
    }
}

/// Begins the tally of a child. Signals are blocked: a handler of this thread that counted half-way through would wait for its own
/// thread.
#[cold]
#[inline(never)]
fn renew() -> Option<&'static Tally> {
    if sandbox::is_closed() {
        return None;
    }
    let before = errno::get();
    let mask = block(Mask::ALL_BUT_SIGBUS);
    let renewed = loop {
        // Acquire: as in `get`.
        // SAFETY: as in `get`; it is not null, because this function is called for one of another generation.
        let current = unsafe { &*CURRENT.load(Ordering::Acquire) };
        if current.generation == generation::get() {
            break Some(&current.tally);
        }
        match RENEWING.take() {
            Claimed::Now => {
                // Acquire: as in `get`. Another thread may have renewed it in the meantime.
                // SAFETY: as above.
                let latest = unsafe { &*CURRENT.load(Ordering::Acquire) };
                if latest.generation != generation::get()
                    && let (Some(tally), path, _) = create_beside(&latest.path)
                {
                    tally.add_decisions(&latest.tally);
                    keep(tally, path);
                }
                RENEWING.give_up();
                // Acquire: as in `get`.
                // SAFETY: as above.
                let kept = unsafe { &*CURRENT.load(Ordering::Acquire) };
                break (kept.generation == generation::get()).then_some(&kept.tally);
            }
            Claimed::Before => break None,
            Claimed::ByAnother => claim::wait_for_owner(),
        }
    };
    set_mask(mask);
    errno::set(before);
    renewed
}

/// Makes a tally that of this process. Without memory for it there is none.
fn keep(tally: Tally, path: [u8; PATH]) {
    let Ok(room) = Mapping::map_private(size_of::<OwnTally>()) else { return };
    let own = OwnTally { tally, generation: generation::get(), pid: process::pid(), path };
    let at = room.leak().cast::<OwnTally>().as_ptr();
    // SAFETY: new pages, which are large enough and aligned, and to which no other code has access.
    unsafe { at.write(own) };
    // Release: pairs with the Acquire in `get`; publishes what was just written.
    CURRENT.store(at, Ordering::Release);
}

/// A new tally, the path of its file, and the reason why it has none although the user wants one.
fn create() -> (Option<Tally>, [u8; PATH], Option<Errno>) {
    let Some(wanted) = environment::status() else { return create_in_first(&[]) };
    let variable = |name| environment::value(name).filter(|value| value.first() == Some(&b'/'));
    match wanted.first() {
        Some(b'/') => create_in_first(&[Some(wanted)]),
        _ => create_in_first(&[Some(b"/dev/shm"), variable("TMPDIR"), Some(b"/tmp"), Some(b"/var/tmp")]),
    }
}

/// The same for a child made by fork: in the folder of its parent's file, if that has one. The environment is not asked again: a
/// program may have overwritten it.
fn create_beside(path: &[u8; PATH]) -> (Option<Tally>, [u8; PATH], Option<Errno>) {
    match path.iter().rposition(|&byte| byte == b'/') {
        Some(end) => create_in_first(&[Some(&path[..end])]),
        None => create_in_first(&[]),
    }
}

/// In the first folder in which a file can be created; else in memory.
fn create_in_first(folders: &[Option<&[u8]>]) -> (Option<Tally>, [u8; PATH], Option<Errno>) {
    let mut failed = None;
    for folder in folders.iter().copied().flatten() {
        match create_in(folder) {
            Ok((tally, path)) => return (Some(tally), path, None),
            Err(error) => _ = failed.get_or_insert(error),
        }
    }
    (Tally::own(None).ok(), [0; PATH], failed)
}

/// Attempts to find a name that no file has: every user may create files of any name in these folders.
const ATTEMPTS: u64 = 8;

fn create_in(folder: &[u8]) -> Result<(Tally, [u8; PATH]), Errno> {
    let mut last = Errno::EEXIST;
    for attempt in 0..ATTEMPTS {
        let mut path = Path { bytes: [0; PATH], length: 0 };
        let random = (process::image() ^ clock::ticks())
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(attempt as u32);
        path.push(folder)?;
        let name = format_args!(
            "/{}{}-{}-{:08x}",
            unspin_wire::OWN_TALLY,
            Creds::current().uid,
            process::pid(),
            random >> 32
        );
        path.write_fmt(name).map_err(|_| Errno(libc::ENAMETOOLONG))?;
        let c_path = CStr::from_bytes_until_nul(&path.bytes).map_err(|_| Errno(libc::ENAMETOOLONG))?;
        match Tally::own(Some(c_path)) {
            Ok(tally) => return Ok((tally, path.bytes)),
            Err(Errno::EEXIST) => {}
            Err(error) => {
                last = error;
                break;
            }
        }
    }
    Err(last)
}

/// A path that is being written. A zero byte stays behind it.
struct Path {
    bytes: [u8; PATH],
    length: usize,
}

impl Path {
    fn push(&mut self, text: &[u8]) -> Result<(), Errno> {
        let (start, end) = (self.length, self.length + text.len());
        let room = self.bytes[..PATH - 1].get_mut(start..end).ok_or(Errno(libc::ENAMETOOLONG))?;
        room.copy_from_slice(text);
        self.length = end;
        Ok(())
    }
}

impl Write for Path {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes()).map_err(|_| fmt::Error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_private_and_its_name_says_whose_it_is() {
        let folder = std::env::temp_dir().join(format!("unspin-own-tally-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let (tally, path) = create_in(folder.as_os_str().as_encoded_bytes()).unwrap();
        let file = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap();
        let name = file.file_name().into_string().unwrap();
        assert!(
            name.starts_with(&format!("unspin-status-{}-{}-", Creds::current().uid, std::process::id())),
            "{name}"
        );
        let written = CStr::from_bytes_until_nul(&path).unwrap().to_str().unwrap();
        assert_eq!(std::path::Path::new(written), file.path());
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(tally.owner().map(|owner| owner.pid), Some(std::process::id()));
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(create_in(&[b'/'; PATH]).unwrap_err(), Errno(libc::ENAMETOOLONG));
        assert_eq!(create_in(b"/no/such/folder").unwrap_err(), Errno::ENOENT);
    }
}
