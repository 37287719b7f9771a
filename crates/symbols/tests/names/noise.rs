//! For any input there is no panic, and every query ends.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use proptest::prelude::*;
use unspin_symbols::{AddressSpace, StackCopy, Symbols};

use crate::support::{Build, Program};

/// A program with all kinds of symbols, which has run, once in a test. Its file is removed when the thread ends. `None` without a
/// compiler.
fn program() -> Option<Rc<Program>> {
    thread_local! {
        static PROGRAM: Option<Rc<Program>> =
            Build::new("plain.c").flags(&["-O2", "-g", "-no-pie"]).run().map(Rc::new);
    }
    PROGRAM.with(Clone::clone)
}

/// A C++ program with inlined functions that have no symbol.
fn inlining_program() -> Option<Rc<Program>> {
    thread_local! {
        static PROGRAM: Option<Rc<Program>> =
            Build::new("classes.cc").flags(&["-O2", "-g", "-no-pie", "-std=c++17"]).run().map(Rc::new);
    }
    PROGRAM.with(Clone::clone)
}

/// Runs all queries for an address.
fn ask(symbols: &Symbols, space: &AddressSpace, address: u64) {
    let frames = symbols.code(space, address);
    assert!(!frames.is_empty());
    assert!(frames.iter().all(|frame| !format!("{frame} {}", frame.with_offset()).is_empty()));
    let _ = symbols.variable(space, address).map(|variable| variable.to_string());
    let _ = space.module_of(address).map(|module| module.file_name());
}

/// A line of maps that names a file, with arbitrary other fields.
fn line(path: PathBuf) -> impl Strategy<Value = String> {
    let about = fs::metadata(&path).unwrap();
    let numbers = (0_u64..64, 0_u64..64, 0_u64..64, any::<[bool; 3]>());
    numbers.prop_map(move |(start, length, offset, [write, execute, other])| {
        let (start, offset) = (0x400000 + start * 4096, offset * 4096);
        let end = start + length * 4096;
        let permissions = format!("r{}{}p", if write { "w" } else { "-" }, if execute { "x" } else { "-" });
        let (device, inode) = (about.dev(), about.ino() + u64::from(other && write && execute));
        let (major, minor) = (device >> 8 & 0xfff, device & 0xff);
        format!(
            "{start:x}-{end:x} {permissions} {offset:08x} {major:02x}:{minor:02x} {inode} {}\n",
            path.display()
        )
    })
}

/// A file with some bytes changed, and possibly truncated.
fn damage(bytes: &mut Vec<u8>, changes: &[(usize, u8)], cut: Option<usize>) {
    for (at, byte) in changes {
        // Headers are small and would seldom be hit otherwise.
        let at = if at % 4 == 0 { at % 1024 } else { at % bytes.len() };
        bytes[at] = *byte;
    }
    if let Some(cut) = cut {
        bytes.truncate(cut % bytes.len());
    }
}

/// The maps of the program, as if it had run from a copy of its file.
fn as_copy(program: &Program, copy: &Path) -> AddressSpace {
    let about = fs::metadata(copy).unwrap();
    let (device, inode) = (about.dev(), about.ino());
    let original = fs::metadata(&program.path).unwrap().ino();
    let maps = program.maps.replace(&format!(" {original} "), &format!(" {inode} "));
    let maps = maps.replace(program.path.to_str().unwrap(), copy.to_str().unwrap());
    assert_eq!(device, fs::metadata(&program.path).unwrap().dev());
    AddressSpace::parse(maps.as_bytes())
}

#[test]
fn an_undamaged_copy_has_the_same_names() {
    let Some(program) = program() else { return };
    let copy = tempfile::NamedTempFile::new().unwrap();
    fs::copy(&program.path, copy.path()).unwrap();
    let (space, symbols) = (as_copy(&program, copy.path()), Symbols::new());
    let variable = symbols.variable(&space, program.address("queues")).unwrap();
    assert_eq!((variable.name.as_str(), variable.member.as_str()), ("queues", "[3].ends[1].lock"));
    let chain = program.unwind(&symbols, "inner");
    assert_eq!(symbols.code(&space, chain[0])[0].short, "inner");
}

proptest! {
    #[test]
    fn any_bytes_as_maps(bytes in proptest::collection::vec(any::<u8>(), 0..2000), address: u64) {
        ask(&Symbols::new(), &AddressSpace::parse(&bytes), address);
    }

    #[test]
    fn any_lines_as_maps(text in "([0-9a-f]{1,17}-[0-9a-f]{0,17} [rwxp-]{0,5} [0-9a-f]{0,9} [0-9a-f]{0,3}:[0-9]{0,3} [0-9]{0,3} [/\\[a (]{0,4}\n){0,9}", address: u64) {
        let space = AddressSpace::parse(text.as_bytes());
        let symbols = Symbols::new();
        for address in [address, 0, 1, u64::MAX, address % 0x1000] {
            ask(&symbols, &space, address);
        }
    }

    #[test]
    fn any_mappings_of_a_real_file(
        lines in proptest::collection::vec(line(std::env::current_exe().unwrap()), 0..6),
        addresses in proptest::collection::vec(0x400000_u64..0x440000, 1..20),
    ) {
        let space = AddressSpace::parse(lines.concat().as_bytes());
        // Opened once, because the file is large.
        thread_local!(static SYMBOLS: Symbols = Symbols::new());
        for address in addresses {
            SYMBOLS.with(|symbols| ask(symbols, &space, address));
        }
    }

    #[test]
    fn any_bytes_as_a_stack(
        bytes in proptest::collection::vec(any::<u8>(), 0..1000),
        pointers in proptest::collection::vec((0_usize..125, 0_u64..4, any::<u16>()), 0..40),
        sp in prop_oneof![Just(0x7ffd_0000_0000_u64), any::<u64>()],
        bp in prop_oneof![0x7ffd_0000_0000_u64..0x7ffd_0000_0400, any::<u64>()],
        ip in prop_oneof![any::<u64>(), 0_u64..0x2000],
    ) {
        let Some(program) = program() else { return Ok(()) };
        let code = program.address("main") & !0xfff;
        // Words that point to code or to the stack extend the chain.
        let mut bytes = bytes;
        for (at, kind, value) in pointers {
            let word = match kind {
                0 => sp.wrapping_add(u64::from(value) % 1024),
                _ => code + u64::from(value) % 0x1000,
            };
            if let Some(place) = bytes.get_mut(at * 8..at * 8 + 8) {
                place.copy_from_slice(&word.to_le_bytes());
            }
        }
        let ip = if ip < 0x2000 { code + ip } else { ip };
        thread_local!(static SYMBOLS: Symbols = Symbols::new());
        let chain = SYMBOLS.with(|symbols| symbols.unwind(&program.space, &StackCopy { ip, sp, bp, bytes: &bytes }));
        prop_assert_eq!(chain[0], ip);
        prop_assert!(chain.len() <= 1 + bytes.len() / 8);
        for address in &chain[1..] {
            prop_assert!(program.space.module_of(address - 1).is_some());
        }
    }

    #[test]
    fn any_damage_to_a_file(
        inlining: bool,
        changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..60),
        cut in proptest::option::weighted(0.2, any::<usize>()),
        addresses in proptest::collection::vec(0x400000_u64..0x404400, 1..8),
        bytes in proptest::collection::vec(any::<u8>(), 200),
    ) {
        let program = if inlining { inlining_program() } else { program() };
        let Some(program) = program else { return Ok(()) };
        let copy = tempfile::NamedTempFile::new().unwrap();
        let mut damaged = fs::read(&program.path).unwrap();
        damage(&mut damaged, &changes, cut);
        fs::write(copy.path(), damaged).unwrap();
        let space = as_copy(&program, copy.path());
        let symbols = Symbols::new();
        for address in program.told().chain(addresses) {
            ask(&symbols, &space, address);
            symbols.unwind(&space, &StackCopy { ip: address, sp: 0x7000, bp: 0x7010, bytes: &bytes });
        }
    }
}
