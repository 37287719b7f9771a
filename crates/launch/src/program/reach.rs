//! Checks whether the preload library can reach a program.
//!
//! The dynamic linker ignores `LD_PRELOAD` silently where it does not apply. A measurement would then compare the
//! program with itself. So everything that can be known beforehand is checked and reported.
//!
//! A program without glibc's dynamic linker, such as a static one, cannot be reached, but programs that it starts can: it
//! hands `LD_PRELOAD` on. Whether it starts any is known only after it has run.

use crate::error::Error;
use crate::program::runtime::Runtime;
use object::LittleEndian;
use object::elf::{EM_X86_64, FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader};
use std::ffi::{CString, OsStr};
use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use unspin_sys::creds::Creds;
use unspin_sys::regular::{self, Links};

/// Refuses a file that cannot be executed or cannot be preloaded.
pub fn check(path: &Path, creds: &Creds) -> Result<(), Error> {
    check_at(path, Some(creds), Reached::Program, Depth(0))
}

/// The same for a program that a service runs, as any user.
pub fn check_for_any_user(path: &Path) -> Result<(), Error> {
    check_at(path, None, Reached::Program, Depth(0))
}

/// Refuses a file that cannot be executed, and one whose descendants cannot be preloaded either: the dynamic linker removes
/// `LD_PRELOAD` from the environment of a program with more privileges than its caller.
pub fn check_launcher(path: &Path, creds: &Creds) -> Result<(), Error> {
    check_at(path, Some(creds), Reached::Descendants, Depth(0))
}

/// Refuses only a file that cannot be executed, and a file whose dynamic linker would print an error about the preload
/// library. The library need not reach anything: the dynamic linker ignores `LD_PRELOAD` for a program with more
/// privileges.
pub fn check_runnable(path: &Path, creds: &Creds) -> Result<(), Error> {
    check_at(path, Some(creds), Reached::Nothing, Depth(0))
}

/// What the preload library must be able to reach.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reached {
    /// The program itself.
    Program,
    /// The program, or what it starts.
    Descendants,
    /// Neither.
    Nothing,
}

/// Whether any user may execute it. Only exec decides whether this user may.
pub fn is_executable(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|m| m.is_file() && m.mode() & 0o111 != 0)
}

/// The program that is executed in the end: the interpreter of a script, any other file itself.
pub fn interpreter(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    for _ in 0..DEPTH_MAX {
        match read_head(&path) {
            Ok(head) if head.starts_with(b"#!") => path = named_interpreter(&head).to_path_buf(),
            Ok(head) if is_shell_script(&head) => path = SHELL.into(),
            _ => break,
        }
    }
    path
}

/// Number of interpreters of interpreters that have been followed.
#[derive(Clone, Copy)]
struct Depth(u32);

/// The kernel gives up with ELOOP after this many: `exec_binprm` in fs/exec.c.
const DEPTH_MAX: u32 = 5;

fn check_at(path: &Path, creds: Option<&Creds>, reached: Reached, depth: Depth) -> Result<(), Error> {
    let refuse = |why: String| Err(Error::CannotRun(format!("{}: {why}", path.display())));
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(e) => return refuse(e.to_string()),
    };
    if metadata.is_dir() {
        return refuse("is a folder, not a program".into());
    }
    if !is_executable(path) {
        return refuse("is not executable (chmod +x makes it so)".into());
    }
    let head = match read_head(path) {
        Ok(head) => head,
        // Execute permission suffices for exec; an unreadable file cannot be checked.
        Err(e) if e.kind() == ErrorKind::PermissionDenied => return Ok(()),
        Err(e) => return refuse(e.to_string()),
    };
    if head.starts_with(b"#!") {
        return check_script(path, named_interpreter(&head), creds, reached, depth);
    }
    // Check this only for the first file, because the kernel refuses such a file as an interpreter.
    if depth.0 == 0 && is_shell_script(&head) {
        return check_script(path, Path::new(SHELL), creds, reached, depth);
    }
    let privileges = privileges(path, &metadata, creds).filter(|_| reached != Reached::Nothing);
    privileges.map_or(Ok(()), |(why, what)| {
        refuse(format!(
            "{why}: the dynamic linker ignores LD_PRELOAD for it; run a copy without the {what} (cp)"
        ))
    })?;
    match linkage(&head) {
        None => Ok(()),
        Some(Obstacle::OwnLinker(_)) if reached != Reached::Program || is_dynamic_linker(path) => Ok(()),
        Some(_) if Runtime::of_file(path).contains(&Runtime::Go) => {
            refuse(format!("is a Go program without libc. {}", Runtime::Go.advice().trim_end_matches('.')))
        }
        Some(Obstacle::OwnLinker(why) | Obstacle::Foreign(why)) => refuse(why),
    }
}

/// Whether a file is glibc's dynamic linker, which starts the program that it is given, and preloads libraries into it.
fn is_dynamic_linker(path: &Path) -> bool {
    let file = fs::canonicalize(path).ok();
    file.as_deref().and_then(Path::file_name).is_some_and(|name| name.as_bytes().starts_with(b"ld-linux"))
}

/// Enough for the program headers, which linkers put directly after the file header, and for a `#!` line.
const HEAD_BYTES: u64 = 64 * 1024;

fn read_head(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    regular::open(path, Links::Followed)?.take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok(head)
}

fn check_script(
    path: &Path,
    interpreter: &Path,
    creds: Option<&Creds>,
    reached: Reached,
    depth: Depth,
) -> Result<(), Error> {
    let refuse = |why: String| {
        let script = path.display();
        Err(Error::CannotRun(format!("{script}: its interpreter {}: {why}", interpreter.display())))
    };
    if depth.0 >= DEPTH_MAX {
        return refuse("is a script of a script of a script: the kernel gives up".into());
    }
    if !interpreter.exists() {
        return refuse("there is no such program (first line of the script)".into());
    }
    match check_at(interpreter, creds, reached, Depth(depth.0 + 1)) {
        Err(Error::CannotRun(why)) => {
            Err(Error::CannotRun(format!("{}: its interpreter {why}", path.display())))
        }
        other => other,
    }
}

/// The shell that execvp(3) starts for a file in whose format the kernel knows no program (ENOEXEC).
const SHELL: &str = "/bin/sh";

/// Whether a file is a text without `#!`, which shells and execvp(3) run as a script. POSIX ("sh", "Command Search and Execution")
/// lets a shell refuse a file with a byte 0 in its first line.
fn is_shell_script(head: &[u8]) -> bool {
    let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
    !head.starts_with(b"\x7fELF") && !head.starts_with(b"#!") && !line.contains(&0)
}

/// The interpreter in a script's first line.
fn named_interpreter(head: &[u8]) -> &Path {
    let line = head[2..].split(|&b| b == b'\n').next().unwrap_or_default();
    let mut words = line.split(|b| b" \t\r".contains(b));
    Path::new(OsStr::from_bytes(words.find(|word| !word.is_empty()).unwrap_or_default()))
}

/// Why the kernel would start the program in secure mode (AT_SECURE of getauxval(3)), and which privilege a copy must
/// not have; none if it would not.
fn privileges(
    path: &Path,
    metadata: &fs::Metadata,
    creds: Option<&Creds>,
) -> Option<(&'static str, &'static str)> {
    let bits = Privileges {
        set_uid: (metadata.mode() & 0o4000 != 0).then(|| metadata.uid()),
        // Without group execute permission the bit means something else (mandatory locking).
        set_gid: (metadata.mode() & 0o2010 == 0o2010).then(|| metadata.gid()),
        capabilities: CString::new(path.as_os_str().as_bytes())
            .is_ok_and(|path| unspin_sys::file::has_attribute(&path, c"security.capability")),
    };
    bits.reason(creds)
}

struct Privileges {
    set_uid: Option<u32>,
    set_gid: Option<u32>,
    capabilities: bool,
}

impl Privileges {
    /// Ids that do not change do not count, and file capabilities add nothing for root. Without `creds` the user may be any.
    fn reason(&self, creds: Option<&Creds>) -> Option<(&'static str, &'static str)> {
        if self.set_uid.is_some_and(|uid| creds.is_none_or(|creds| uid != creds.uid)) {
            Some(("is set-uid", "set-uid bit"))
        } else if self.set_gid.is_some_and(|gid| creds.is_none_or(|creds| gid != creds.gid)) {
            Some(("is set-gid", "set-gid bit"))
        } else if self.capabilities && creds.is_none_or(|creds| creds.uid != 0) {
            Some(("has file capabilities", "capabilities"))
        } else {
            None
        }
    }
}

/// Why a program cannot be preloaded.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Obstacle {
    /// It has no dynamic linker, or one that is not glibc's. Programs that it starts may be preloaded.
    OwnLinker(String),
    /// It cannot be executed; or the dynamic linker would complain about the library.
    Foreign(String),
}

/// Why a program with this header cannot be preloaded; none if it can.
fn linkage(head: &[u8]) -> Option<Obstacle> {
    let refuse = |why: &str| Some(Obstacle::Foreign(why.into()));
    if !head.starts_with(b"\x7fELF") {
        return refuse("is neither an ELF program nor a script");
    }
    let foreign = || refuse("is not a 64-bit x86 program: the preload library is");
    // 32-bit programs have another header, so the class is checked first: e_ident[EI_CLASS] of elf(5).
    if head.get(4) != Some(&2) || head.get(5) != Some(&1) {
        return foreign();
    }
    let Ok(header) = FileHeader64::<LittleEndian>::parse(head) else {
        return refuse("its ELF header is damaged");
    };
    if header.e_machine(LittleEndian) != EM_X86_64 {
        return foreign();
    }
    let Ok(segments) = header.program_headers(LittleEndian, head) else {
        return refuse("its ELF program headers are damaged");
    };
    let Some(segment) = segments.iter().find(|s| s.p_type(LittleEndian) == PT_INTERP) else {
        return Some(Obstacle::OwnLinker(
            "is statically linked: there is no dynamic linker to preload anything; link it without -static"
                .into(),
        ));
    };
    let interpreter = segment.data(LittleEndian, head).unwrap_or_default();
    let interpreter = String::from_utf8_lossy(interpreter.strip_suffix(b"\0").unwrap_or(interpreter));
    if interpreter.contains("ld-musl") {
        let why = format!("uses another C library ({interpreter}); the preload library is for glibc");
        return Some(Obstacle::OwnLinker(why));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn file(folder: &Path, name: &str, contents: &[u8], mode: u32) -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, contents).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    fn refusal(path: &Path) -> String {
        check(path, &Creds::current()).unwrap_err().to_string()
    }

    #[test]
    fn unexecutable_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let f = |name, contents: &[u8], mode| refusal(&file(folder.path(), name, contents, mode));
        assert!(f("plain", b"\x7fELF", 0o644).contains("not executable"));
        assert!(f("data", b"MZ\0\x01\n", 0o755).contains("neither an ELF program nor a script"));
        let script = file(folder.path(), "script", b"exit 7\n", 0o755);
        assert!(check(&script, &Creds::current()).is_ok() && interpreter(&script) == Path::new(SHELL));
        assert!(
            f("nested", format!("#!{}\n", script.display()).as_bytes(), 0o755)
                .contains("neither an ELF program")
        );
        assert!(f("short", b"\x7fELF\x02\x01", 0o755).contains("damaged"));
        assert!(f("32-bit", b"\x7fELF\x01\x01", 0o755).contains("not a 64-bit x86"));
        assert!(f("lost", b"#! /no/such/interpreter -x\n", 0o755).contains("/no/such/interpreter"));
        assert!(f("bare", b"#!\n", 0o755).contains("interpreter"));
        assert!(refusal(folder.path()).contains("is a folder"));
    }

    #[test]
    fn script_is_checked_by_its_interpreter() {
        let folder = tempfile::tempdir().unwrap();
        let good = file(folder.path(), "good", b"#!/bin/sh\necho\n", 0o755);
        check(&good, &Creds::current()).unwrap();
        let own = folder.path().join("loop");
        let looped = file(folder.path(), "loop", format!("#!{}\n", own.display()).as_bytes(), 0o755);
        assert!(refusal(&looped).contains("kernel gives up"));
    }

    #[test]
    fn elf_header_decides() {
        let ourselves = read_head(Path::new("/proc/self/exe")).unwrap();
        assert_eq!(linkage(&ourselves), None);
        let mut other_machine = ourselves.clone();
        other_machine[18] = 183; // e_machine: EM_AARCH64
        let Some(Obstacle::Foreign(why)) = linkage(&other_machine) else { panic!("it cannot be executed") };
        assert!(why.contains("not a 64-bit x86"));
        let mut fixed = ourselves;
        fixed[56] = 0; // e_phnum: no program headers, so no interpreter
        fixed[57] = 0;
        let Some(Obstacle::OwnLinker(why)) = linkage(&fixed) else { panic!("it may start others") };
        assert!(why.contains("statically linked"));
    }

    #[test]
    fn static_launcher_and_its_scripts_are_refused_for_themselves_only() {
        let folder = tempfile::tempdir().unwrap();
        let mut ourselves = fs::read("/proc/self/exe").unwrap();
        (ourselves[56], ourselves[57]) = (0, 0);
        let launcher = file(folder.path(), "static", &ourselves, 0o755);
        let script = file(folder.path(), "script", format!("#!{}\n", launcher.display()).as_bytes(), 0o755);
        for path in [&launcher, &script] {
            assert!(refusal(path).contains("statically linked"));
            check_launcher(path, &Creds::current()).unwrap();
        }
        let data = file(folder.path(), "data", b"\0hello\n", 0o755);
        assert!(check_launcher(&data, &Creds::current()).is_err());
    }

    #[test]
    fn dynamic_linker_reaches_what_it_is_given() {
        let this = unspin_symbols::File::open(Path::new("/proc/self/exe"));
        let linker = this.and_then(|file| file.interpreter()).expect("this program has one");
        check(&linker, &Creds::current()).unwrap();
    }

    #[test]
    fn privileges_without_effect_are_accepted() {
        let creds = |uid| Creds::new(uid, 5, 0).with_groups(Vec::new());
        let reason = |set_uid, set_gid, capabilities, uid| {
            Privileges { set_uid, set_gid, capabilities }.reason(Some(&creds(uid)))
        };
        assert_eq!(reason(Some(0), None, false, 1000), Some(("is set-uid", "set-uid bit")));
        assert_eq!(reason(Some(0), None, false, 0), None);
        assert_eq!(reason(None, Some(5), false, 0), None);
        assert_eq!(reason(None, Some(6), false, 0), Some(("is set-gid", "set-gid bit")));
        assert_eq!(reason(None, None, true, 1000), Some(("has file capabilities", "capabilities")));
        let any_user =
            |set_uid, capabilities| Privileges { set_uid, set_gid: None, capabilities }.reason(None);
        assert_eq!(any_user(Some(0), false), Some(("is set-uid", "set-uid bit")));
        assert_eq!(any_user(None, true), Some(("has file capabilities", "capabilities")));
        assert_eq!(any_user(None, false), None);
        assert_eq!(reason(None, None, true, 0), None);
    }
}
