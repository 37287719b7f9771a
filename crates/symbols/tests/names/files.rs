//! The sources of names: stripped files, shared libraries, separate debug files; and files that are gone, replaced or
//! damaged.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::support::{Build, Program, has_tool, line_of, run};
use tempfile::TempDir;
use unspin_symbols::{AddressSpace, Frame, SymbolKind, Symbols};

/// A program and the library that it is linked with, in one folder.
struct Pair {
    folder: TempDir,
    library: PathBuf,
    program: PathBuf,
}

impl Pair {
    fn build(flags: &[&str]) -> Option<Pair> {
        let library = Build::new("library.c").flags(flags).flags(&["-DLIBRARY", "-shared", "-fPIC"]);
        let (folder, library) = library.compile_as("libpair.so")?;
        let link = [library.to_str()?, "-Wl,-rpath,$ORIGIN"];
        let (own, built) = Build::new("library.c").flags(flags).flags(&link).compile_as("program")?;
        let program = folder.path().join("program");
        fs::rename(built, &program).unwrap();
        drop(own);
        Some(Pair { folder, library, program })
    }

    fn run(self) -> Program {
        Program::run(self.folder, self.program)
    }
}

fn shorts(frames: &[Frame]) -> Vec<&str> {
    frames.iter().map(|frame| frame.short.as_str()).collect()
}

fn strip(file: &Path) {
    run(Command::new("strip").arg(file));
}

#[test]
fn a_shared_library() {
    let Some(pair) = Pair::build(&["-O2", "-g"]) else { return };
    let program = pair.run();
    let symbols = Symbols::new();
    let frames = program.frames(&symbols, "library");
    assert_eq!(
        shorts(&frames)[..4],
        ["called_back", "private_function", "public_function", "main"],
        "{frames:?}"
    );
    let modules: Vec<&str> = frames.iter().take(4).map(|frame| frame.module.as_str()).collect();
    assert_eq!(modules, ["program", "libpair.so", "libpair.so", "program"]);
    let variable = |name| program.variable(&symbols, program.address(name)).unwrap();
    assert_eq!(variable("private_lock").location.unwrap().line, line_of("library.c", "private_lock"));
    assert_eq!(variable("library_lock").module, "libpair.so");
}

#[test]
fn stripped_library_has_its_exported_names() {
    if !has_tool("a_stripped_library", "strip", "binutils") {
        return;
    }
    let Some(pair) = Pair::build(&["-O2", "-g"]) else { return };
    strip(&pair.library);
    strip(&pair.program);
    let program = pair.run();
    let symbols = Symbols::new();
    let frames = program.frames(&symbols, "library");
    // The unwind tables stay in the file, so the chain is complete.
    let kinds: Vec<SymbolKind> = frames.iter().take(4).map(|frame| frame.kind).collect();
    assert_eq!(
        kinds,
        [SymbolKind::Unknown, SymbolKind::Unknown, SymbolKind::Function, SymbolKind::Unknown],
        "{frames:?}"
    );
    assert_eq!(frames[2].short, "public_function");
    assert!(frames[0].function.starts_with("program+0x") && frames[1].function.starts_with("libpair.so+0x"));
    assert_eq!(frames[0].function, format!("program+{:#x}", frames[0].offset));
    let variable = |name| program.variable(&symbols, program.address(name));
    assert_eq!(variable("library_lock").unwrap().name, "library_lock");
    assert_eq!(variable("private_lock"), None);
}

/// Moves the debug information of a file to another file, as packagers do.
fn split(file: &Path, debug: &Path) {
    run(Command::new("objcopy").arg("--only-keep-debug").arg(file).arg(debug));
    strip(file);
}

/// Whether the names and lines from the library's separate debug file are found.
fn has_separate_names(program: &Program, symbols: &Symbols) -> bool {
    let frames = program.frames(symbols, "library");
    let found = frames[1].short == "private_function";
    let line = frames[1].location.as_ref().map(|location| location.line);
    assert_eq!(line, found.then(|| line_of("library.c", "private_function")), "{frames:?}");
    let variable = program.variable(symbols, program.address("private_lock"));
    assert_eq!(variable.is_some(), found);
    assert!(variable.is_none_or(|variable| variable.location.is_some()));
    found
}

#[test]
fn separate_debug_files_by_build_id() {
    if !has_tool("separate_debug_files_by_build_id", "objcopy", "binutils") {
        return;
    }
    let flags = ["-O2", "-g", "-Wl,--build-id=0xabcdef0123456789"];
    let Some(pair) = Pair::build(&flags) else { return };
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join(".build-id/ab");
    fs::create_dir_all(&folder).unwrap();
    let debug = folder.join("cdef0123456789.debug");
    split(&pair.library, &debug);
    let program = pair.run();
    assert!(!has_separate_names(&program, &Symbols::new()), "not where this looks");
    assert!(has_separate_names(&program, &Symbols::with_debug_root(root.path())));
    // A debug file with the right name, but of another build.
    let flags = ["-O2", "-g", "-DLIBRARY", "-shared", "-fPIC", "-Wl,--build-id=0xabcdef0123456780"];
    let (_other, path) = Build::new("library.c").flags(&flags).compile_as("other").unwrap();
    fs::copy(path, &debug).unwrap();
    assert!(!has_separate_names(&program, &Symbols::with_debug_root(root.path())));
    fs::write(&debug, b"\x7fELF").unwrap();
    assert!(!has_separate_names(&program, &Symbols::with_debug_root(root.path())));
}

#[test]
fn separate_debug_files_by_name() {
    if !has_tool("separate_debug_files_by_name", "objcopy", "binutils") {
        return;
    }
    let flags = ["-O2", "-g", "-Wl,--build-id=none"];
    let Some(pair) = Pair::build(&flags) else { return };
    let beside = pair.folder.path().join("libpair.debug");
    split(&pair.library, &beside);
    let link = format!("--add-gnu-debuglink={}", beside.display());
    run(Command::new("objcopy").arg(link).arg(&pair.library));
    let root = tempfile::tempdir().unwrap();
    let folder = pair.folder.path().to_path_buf();
    let program = pair.run();
    let found = || has_separate_names(&program, &Symbols::with_debug_root(root.path()));
    assert!(found(), "beside");
    let below_root = root.path().join(folder.strip_prefix("/").unwrap());
    for place in [folder.join(".debug"), below_root] {
        fs::create_dir_all(&place).unwrap();
        let moved = place.join("libpair.debug");
        fs::rename(&beside, &moved).unwrap();
        assert!(found(), "{place:?}");
        fs::rename(&moved, &beside).unwrap();
    }
    // One bit differs, as in another build: the checksum does not match.
    let mut bytes = fs::read(&beside).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&beside, bytes).unwrap();
    assert!(!found(), "wrong checksum");
}

#[test]
fn compressed_debug_data_in_the_program_is_read() {
    let test = "compressed_debug_data_in_the_program_is_read";
    if !has_tool(test, "objcopy", "binutils") || !has_tool(test, "xz", "xz-utils") {
        return;
    }
    let Some(pair) = Pair::build(&["-O2", "-g0"]) else { return };
    let names = pair.folder.path().join("names");
    split(&pair.library, &names);
    run(Command::new("xz").arg(&names));
    let section = format!("--add-section=.gnu_debugdata={}.xz", names.display());
    run(Command::new("objcopy").arg(section).arg(&pair.library));
    let program = pair.run();
    let frames = program.frames(&Symbols::new(), "library");
    assert_eq!(
        shorts(&frames)[..4],
        ["called_back", "private_function", "public_function", "main"],
        "{frames:?}"
    );
}

#[test]
fn deleted_or_replaced_files_are_unknown() {
    let Some(pair) = Pair::build(&["-O2", "-g"]) else { return };
    let (library, folder) = (pair.library.clone(), pair.folder.path().to_path_buf());
    let program = pair.run();
    let known = program.unwind(&Symbols::new(), "library");
    let address = known[1];
    // Changed after the process had ended: another file that reuses the inode of the mapped one.
    let earlier =
        Symbols::new().as_of(fs::metadata(&library).unwrap().modified().unwrap() - Duration::from_secs(1));
    assert_eq!(earlier.code(&program.space, address)[0].kind, SymbolKind::Unknown);
    let later = Symbols::new().as_of(SystemTime::now());
    assert_eq!(later.code(&program.space, address)[0].kind, SymbolKind::Function);
    // Same path and contents, but another file.
    let copy = folder.join("copy");
    fs::copy(&library, &copy).unwrap();
    fs::rename(&copy, &library).unwrap();
    let unknown = |program: &Program| {
        let frames = Symbols::new().code(&program.space, address);
        assert_eq!(frames.len(), 1);
        assert_eq!((frames[0].kind, frames[0].location.as_ref()), (SymbolKind::Unknown, None), "{frames:?}");
        assert!(frames[0].function.starts_with("libpair.so+0x"), "{frames:?}");
        assert_eq!(program.variable(&Symbols::new(), program.address("library_lock")), None);
    };
    unknown(&program);
    // Without its tables the chain ends at the library, unless it has frame pointers.
    assert!(program.unwind(&Symbols::new(), "library").len() < known.len());
    fs::remove_file(&library).unwrap();
    unknown(&program);
    fs::create_dir(&library).unwrap();
    unknown(&program);
}

#[test]
fn read_only_mapping_has_no_variables() {
    let Some(program) = Build::new("plain.c").flags(&["-g", "-no-pie"]).run() else {
        return;
    };
    let line = program.maps.lines().next().unwrap();
    let (_, rest) = line.split_once(" r--p ").unwrap();
    // As mapped by a debugger, or by the program itself to print a backtrace.
    let (base, length) = (0x1000_0000, fs::metadata(&program.path).unwrap().len() / 4096 * 4096 + 4096);
    let maps = format!("{}{base:x}-{:x} r--p {rest}\n", program.maps, base + length);
    let (space, symbols) = (AddressSpace::parse(maps.as_bytes()), Symbols::new());
    for name in ["global_lock", "queues", "field"] {
        let address = program.address(name);
        assert!(symbols.variable(&space, address).is_some(), "{name}");
        assert_eq!(symbols.variable(&space, base + address - 0x40_0000), None, "{name}");
    }
}

#[test]
fn deleted_file_is_not_opened() {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let line = maps.lines().find(|line| line.contains("r-xp") && line.contains('/')).unwrap();
    let start = u64::from_str_radix(line.split('-').next().unwrap(), 16).unwrap();
    let symbols = Symbols::new();
    let frames = symbols.code(&AddressSpace::parse(format!("{line} (deleted)\n").as_bytes()), start + 0x100);
    assert_eq!(frames[0].kind, SymbolKind::Unknown);
    assert!(frames[0].function.contains("+0x") && !frames[0].function.contains("deleted"), "{frames:?}");
}

#[test]
fn kernel_areas_have_their_name() {
    let maps = b"1000-2000 r-xp 00000000 00:00 0  [vdso]\n5000-6000 rw-p 00000000 00:00 0  [heap]\n";
    let (space, symbols) = (AddressSpace::parse(maps), Symbols::new());
    assert_eq!(symbols.code(&space, 0x1234)[0].function, "[vdso]+0x234");
    assert_eq!(symbols.code(&space, 0x3000)[0].function, "0x3000");
    assert_eq!(symbols.code(&space, 0)[0].function, "0x0");
    assert_eq!(symbols.variable(&space, 0x5010), None);
}
