//! A process that may run under a deployed plan, as `/proc` shows it.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use unspin_launch::error::Error;
use unspin_launch::library;
use unspin_sys::creds::Creds;
use unspin_sys::maps;
use unspin_wire::{OwnTally, OwnTallyPlace};

/// The most bytes of data of the library that are searched for the place of the tally.
const DATA: u64 = 1 << 20;

/// A process with the preload library.
pub struct Process {
    pid: u32,
    /// The memory into which the library's files are mapped.
    library: Vec<Mapped>,
}

struct Mapped {
    range: Range<u64>,
    is_data: bool,
}

impl Process {
    /// The process of this number.
    pub fn of(pid: u32) -> Result<Process, Error> {
        let maps =
            fs::read(format!("/proc/{pid}/maps")).map_err(|error| unreadable(pid, "it", &error, ""))?;
        // The kernel shows a process without memory: a zombie, or a thread of its own.
        if maps.is_empty() {
            return Err(Error::Usage(format!("process {pid} has ended (a zombie), or is the kernel's")));
        }
        let library = maps.split(|&byte| byte == b'\n').filter_map(mapped_library).collect();
        Ok(Process { pid, library })
    }

    /// Whether the preload library is loaded.
    pub fn has_library(&self) -> bool {
        !self.library.is_empty()
    }

    /// Whether the dynamic linker began to load the library and gave up. The part of the file that it mapped first stays.
    pub fn could_not_load_library(&self) -> bool {
        self.has_library() && !self.library.iter().any(|mapped| mapped.is_data)
    }

    /// Its own tally, if it keeps one.
    pub fn tally(&self) -> Result<Option<OwnTally>, Error> {
        let path = format!("/proc/{}/mem", self.pid);
        let yama = " with kernel.yama.ptrace_scope 0";
        let memory = File::open(path).map_err(|error| unreadable(self.pid, "its memory", &error, yama))?;
        self.tally_in(&memory).map_err(|error| unreadable(self.pid, "its memory", &error, yama))?.ok_or_else(|| {
            Error::Input(format!(
                "process {}: its library is not that of this unspin; use the one that has written both files of the plan",
                self.pid
            ))
        })
    }

    /// None if the library is of another version.
    fn tally_in(&self, memory: &File) -> io::Result<Option<Option<OwnTally>>> {
        let mut found = None;
        for Mapped { range, .. } in self.library.iter().filter(|mapped| mapped.is_data) {
            let mut data = vec![0; range.end.saturating_sub(range.start).min(DATA) as usize];
            memory.read_exact_at(&mut data, range.start)?;
            match OwnTallyPlace::find(&data) {
                None => {}
                // A second copy of the library may keep it (dlmopen).
                Some(0) => found = Some(None),
                Some(address) => {
                    let mut bytes = [0; OwnTally::BYTES];
                    memory.read_exact_at(&mut bytes, address)?;
                    return Ok(Some(Some(OwnTally::copy_of(&bytes)?)));
                }
            }
        }
        Ok(found)
    }

    /// Where this process finds a file of the other one, whose root may be that of a container.
    pub fn file(&self, path: &Path) -> PathBuf {
        match path.strip_prefix("/") {
            Ok(path) => Path::new(&format!("/proc/{}/root", self.pid)).join(path),
            Err(_) => Path::new(&format!("/proc/{}/cwd", self.pid)).join(path),
        }
    }

    /// The name of its program.
    pub fn name(&self) -> String {
        let program = fs::read_link(format!("/proc/{}/exe", self.pid)).unwrap_or_default();
        program.file_name().map_or_else(|| "?".into(), |name| name.to_string_lossy().into_owned())
    }
}

fn unreadable(pid: u32, what: &str, error: &io::Error, remedy: &str) -> Error {
    match error.kind() {
        ErrorKind::NotFound => none(pid),
        // ESRCH of a process that is a zombie or ends at this moment.
        _ if error.raw_os_error() == Some(3) => none(pid),
        // Nothing is read of a process that ends or executes another program at this moment; EIO: it has other mappings by now.
        kind if kind == ErrorKind::UnexpectedEof || error.raw_os_error() == Some(5) => Error::Environment(
            format!("process {pid}: it ended, or began another program, meanwhile; repeat this"),
        ),
        _ => Error::Environment(format!(
            "process {pid}: {what} may not be read: {error}; {}",
            privilege(Creds::current().uid == 0, remedy)
        )),
    }
}

/// Which privilege is missing.
fn privilege(is_root: bool, remedy: &str) -> String {
    match is_root {
        true => "root needs the capability CAP_SYS_PTRACE for that, which containers often lack (--cap-add SYS_PTRACE)".into(),
        false => format!("run this as root, or as its user{remedy}"),
    }
}

fn none(pid: u32) -> Error {
    Error::Usage(format!("there is no process {pid}"))
}

/// Where a line of `/proc/PID/maps` maps the library, if it does.
fn mapped_library(line: &[u8]) -> Option<Mapped> {
    let path = &line[line.iter().position(|&byte| byte == b'/')?..];
    let file = path.rsplit(|&byte| byte == b'/').next()?;
    file.starts_with(library::NAME.as_bytes()).then_some(())?;
    Some(Mapped {
        range: maps::range(line)?,
        is_data: line.split(|&byte| byte == b' ').nth(1)?.starts_with(b"rw"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_not_told_to_be_root() {
        let as_root = privilege(true, " with kernel.yama.ptrace_scope 0");
        assert!(as_root.contains("CAP_SYS_PTRACE") && !as_root.contains("run this as root"), "{as_root}");
        assert_eq!(privilege(false, ""), "run this as root, or as its user");
    }

    #[test]
    fn mapped_library_is_found() {
        let this = Process::of(std::process::id()).unwrap();
        assert!(!this.has_library() && !this.could_not_load_library());
        let part = Process { pid: 1, library: vec![Mapped { range: 0..1, is_data: false }] };
        assert!(part.could_not_load_library());
        let of = |line: &str| mapped_library(line.as_bytes()).map(|mapped| (mapped.range, mapped.is_data));
        let data = "7f10-7f20 rw-p 00001000 00:01 9   /a b/libunspin_preload.so (deleted)";
        assert_eq!(of(data), Some((0x7f10..0x7f20, true)));
        assert_eq!(of(&data.replace("rw-p", "r-xp")), Some((0x7f10..0x7f20, false)));
        assert_eq!(of("7f10-7f20 rw-p 00000000 00:00 0 [heap]"), None);
        assert_eq!(of("7f10-7f20 rw-p 00000000 00:01 9   /libunspin_preload.so.d/other"), None);
        assert!(matches!(Process::of(u32::MAX), Err(Error::Usage(_))));
    }
}
