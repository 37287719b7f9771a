//! Why there is no plan: the program runs as without it, and one line on standard error says so.
//!
//! Children inherit the variable that names the plan. Where the plan does not say for which program it is, a child whose parent was
//! started with the same plan and runs under the library says nothing: its parent, or a process above that, has said it. Where it
//! does, its program says it, unless the parent runs the same program.

use crate::{environment, notice};
use core::ffi::CStr;
use unspin_sys::{Errno, file, process};
use unspin_wire::environment::{PLAN, SYSV};
use unspin_wire::plan::{MODULES, PLACES, RULES, SITES, TEXT, Wrong};

/// The version of this library.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Why there is no plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The plan's folder is gone: its creator has finished.
    Dropped,
    /// The file cannot be read.
    Unreadable(Errno),
    /// The text is no plan.
    Wrong(Wrong),
    /// A deployed plan is for other programs.
    OtherProgram,
    /// The program, or another file of a deployed plan, is of another build.
    OtherBuild(&'static [u8]),
    /// A deployed plan is for a library of this other version.
    OtherLibrary(&'static [u8]),
    /// It cannot be found out which program this is.
    NoMaps(Errno),
}

/// Which processes find that there is no plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Readers {
    /// All that the variable reaches.
    Any,
    /// Those of the program for which the plan is.
    ItsProgram,
}

impl Failure {
    /// The plan cannot be read.
    pub fn unreadable(path: &CStr, error: Errno) -> Failure {
        // `unspin` sets this variable for every program that it starts, and removes the plan's folder at its end. A process that
        // outlives it and starts another program should not get an error message because of that.
        let is_launched = environment::value(SYSV).is_some();
        if is_launched && is_folder_gone(path) { Failure::Dropped } else { Failure::Unreadable(error) }
    }

    /// Prints the line about the plan at this path.
    #[cold]
    #[inline(never)]
    pub fn report(self, path: &CStr, readers: Readers) {
        let is_silent = matches!(self, Failure::Dropped | Failure::OtherProgram);
        let is_said = || {
            is_plan_of_parent(path)
                && is_under_parent()
                && (readers == Readers::Any || is_program_of_parent())
        };
        if is_silent || is_said() {
            return;
        }
        let shown = core::str::from_utf8(path.to_bytes()).unwrap_or("(not UTF-8)");
        let none = "no lock is replaced";
        match self {
            Failure::Dropped | Failure::OtherProgram => {}
            Failure::Unreadable(error) => {
                notice::print(format_args!("{none}: {shown} cannot be read: {error}"))
            }
            Failure::NoMaps(error) => {
                notice::print(format_args!("{none}: /proc/self/maps cannot be read: {error}; mount /proc"));
            }
            Failure::OtherBuild(module) => {
                let module = core::str::from_utf8(module).unwrap_or("(not UTF-8)");
                notice::print(format_args!(
                    "{none}: {module} is not of the build that the plan {shown} is for; make the plan again for this build \
                     (`unspin prove --plan`, `unspin plan compile`)"
                ));
            }
            Failure::OtherLibrary(version) => {
                let version = core::str::from_utf8(version).ok();
                notice::print(format_args!(
                    "{none}: the plan {shown} is for the library of unspin {}, and this is that of {VERSION}; let `unspin plan \
                     compile` write both",
                    version.unwrap_or("(not UTF-8)")
                ));
            }
            Failure::Wrong(Wrong::Damaged) => notice::print(format_args!(
                "{none}: the plan {shown} is damaged or cut short; let `unspin plan compile` write it again"
            )),
            Failure::Wrong(Wrong::Title) => notice::print(format_args!(
                "{none}: {shown} is no compiled plan of this version; let `unspin run` or `unspin plan compile` write it"
            )),
            Failure::Wrong(Wrong::Line(number)) => notice::print(format_args!(
                "{none}: line {number} of {shown} is no rule; let `unspin run` or `unspin plan compile` write it"
            )),
            Failure::Wrong(Wrong::TooLong) => notice::print(format_args!(
                "{none}: {shown} holds more than {RULES} rules, {SITES} call sites, {PLACES} places, {MODULES} modules or {TEXT} \
                 bytes; name fewer locks"
            )),
        }
    }
}

// None is part of its caller's frame: a program may have little stack.

#[cold]
#[inline(never)]
fn is_folder_gone(path: &CStr) -> bool {
    let mut folder = [0; 4096];
    let length = path.to_bytes().iter().rposition(|&byte| byte == b'/').unwrap_or(0);
    let Some(begin) = folder.get_mut(..length) else { return false };
    begin.copy_from_slice(&path.to_bytes()[..length]);
    let folder = CStr::from_bytes_until_nul(&folder).unwrap_or(c"");
    !folder.is_empty() && file::inode(folder).is_none()
}

/// Whether the environment with which the parent was started names the same plan.
#[cold]
#[inline(never)]
fn is_plan_of_parent(path: &CStr) -> bool {
    let wanted = [PLAN.as_bytes(), b"=", path.to_bytes()];
    let mut entry = Matched::new(&wanted);
    is_in_parents_file("environ", |byte| {
        entry.see(byte);
        entry.found
    })
}

/// Whether the parent has loaded this library: the variables may have reached it through a parent that could not, a static one or a
/// set-uid one.
#[cold]
#[inline(never)]
fn is_under_parent() -> bool {
    let mut so_far = 0;
    is_in_parents_file("maps", |byte| {
        // The name has one slash, its first byte: it can begin again only there.
        so_far = if LIBRARY[so_far] == byte { so_far + 1 } else { usize::from(byte == LIBRARY[0]) };
        so_far == LIBRARY.len()
    })
}

/// The beginning of the name of this library's file, as `/proc` shows it.
const LIBRARY: &[u8] = concat!("/lib", env!("CARGO_CRATE_NAME")).as_bytes();

/// Whether a file that `/proc` shows of the parent has bytes up to one for which `is_last` is true.
fn is_in_parents_file(name: &str, mut is_last: impl FnMut(u8) -> bool) -> bool {
    use std::io::Write;
    let mut path = [0u8; 32];
    let _ = write!(&mut path[..31], "/proc/{}/{name}", process::parent());
    let Ok(path) = CStr::from_bytes_until_nul(&path) else { return false };
    let mut found = false;
    let read = file::read_pieces(path, &mut [0; 512], |piece| {
        found = piece.iter().any(|&byte| is_last(byte));
        !found
    });
    read.is_ok() && found
}

/// Whether the parent runs the program that this process runs.
#[cold]
#[inline(never)]
fn is_program_of_parent() -> bool {
    use std::io::Write;
    let mut exe = [0u8; 32];
    let _ = write!(&mut exe[..31], "/proc/{}/exe", process::parent());
    let parents = CStr::from_bytes_until_nul(&exe).ok().and_then(file::device_and_inode);
    parents.is_some() && parents == file::device_and_inode(c"/proc/self/exe")
}

/// Compares entries, each of which ends with a zero byte, with a wanted one that lies in several pieces.
struct Matched<'w> {
    wanted: &'w [&'w [u8]],
    /// The number of bytes of the present entry that are those of the wanted one; none if one is another.
    so_far: Option<usize>,
    found: bool,
}

impl<'w> Matched<'w> {
    fn new(wanted: &'w [&'w [u8]]) -> Matched<'w> {
        Matched { wanted, so_far: Some(0), found: false }
    }

    fn see(&mut self, byte: u8) {
        let at = self.so_far.and_then(|at| self.wanted.iter().copied().flatten().nth(at));
        match (byte, self.so_far) {
            (0, so_far) => {
                self.found |= so_far.is_some() && at.is_none();
                self.so_far = Some(0);
            }
            (_, Some(so_far)) if at == Some(&byte) => self.so_far = Some(so_far + 1),
            _ => self.so_far = None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_is_found_among_others_that_begin_alike() {
        let found = |environ: &[u8]| {
            let mut entry = Matched::new(&[b"PLAN", b"=", b"/p"]);
            environ.iter().for_each(|&byte| entry.see(byte));
            entry.found
        };
        assert!(found(b"A=1\0PLAN=/p\0") && found(b"PLAN=/p\0B=2\0"));
        for environ in [&b"PLAN=/pq\0"[..], b"PLAN=/\0", b"XPLAN=/p\0", b"PLAN=/p", b"", b"\0\0"] {
            assert!(!found(environ), "{}", String::from_utf8_lossy(environ));
        }
    }
}
