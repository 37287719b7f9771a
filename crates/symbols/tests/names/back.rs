//! From names back to addresses: every name that an address has leads back to that address.

use crate::support::{Build, Program, has_tool, line_of, run};
use std::collections::BTreeSet;
use std::process::Command;
use unspin_symbols::{File, Frame, Symbols};

/// Compiler options that change where things lie.
const WAYS: [&[&str]; 6] = [
    &["-O0", "-g"],
    &["-O2", "-g", "-fomit-frame-pointer"],
    &["-O2", "-g", "-no-pie"],
    &["-O2", "-g", "-gdwarf-4"],
    &["-O1", "-g", "-static-pie"],
    &["-O2", "-g0"],
];

/// The name of an array element without its index: the name of all elements together.
fn folded(name: &str) -> String {
    name.split(['[', ']']).step_by(2).collect()
}

/// The variables that the program reported lie where their names lead to.
fn variable_names_resolve_to_addresses(program: &Program, symbols: &Symbols, file: &File, told: &[&str]) {
    for &told in told {
        let address = program.address(told);
        let (path, own) = symbols.file_and_offset(&program.space, address).unwrap();
        assert_eq!(path, file.path(), "{told}");
        let variable = program.variable(symbols, address).unwrap();
        let name = match (variable.member.as_str(), variable.offset) {
            ("", 1..) => format!("{}+{:#x}", variable.name, variable.offset),
            (member, _) => format!("{}{member}", variable.name),
        };
        for name in [name.clone(), folded(&name), variable.name.clone()] {
            let found = file.variables(&name);
            assert_eq!(found.len(), 1, "{name}: {found:?}");
            assert_eq!((&found[0].name, &found[0].location), (&variable.name, &variable.location), "{name}");
            let holds = found[0].ranges.iter().filter(|range| range.contains(&own)).count();
            assert_eq!(holds, 1, "{name} {own:x} {found:x?}");
        }
        let exact = file.variables(&name).remove(0).ranges;
        assert_eq!((exact.len(), exact[0].start), (1, own), "{name} {exact:x?}");
        if let Some(location) = &variable.location {
            let there = file.declared_at(&location.file, location.line);
            assert!(there.iter().any(|it| it.name == variable.name), "{location} {there:?}");
        }
    }
}

/// The same for the code of the functions on a stack, and of their lines.
fn line_numbers_resolve_to_code(program: &Program, symbols: &Symbols, file: &File, stack: &str) {
    let mut seen = BTreeSet::new();
    for address in program.unwind(symbols, stack) {
        let Some((path, call)) = symbols.file_and_offset(&program.space, address - 1) else { continue };
        if path != file.path() {
            continue;
        }
        for Frame { short, location, .. } in symbols.code(&program.space, address) {
            let found = file.functions(&short);
            let holds = |code: &unspin_symbols::Code| code.ranges.iter().any(|range| range.contains(&call));
            assert_eq!(found.iter().filter(|code| holds(code)).count(), 1, "{short} {call:x} {found:x?}");
            if let Some(location) = location.filter(|location| location.line > 0) {
                let name = location.file.rsplit('/').next().unwrap();
                let found = file.code_of_line(name, location.line);
                assert!(found.iter().any(holds), "{short} {location} {call:x} {found:x?}");
            }
            seen.insert(short);
        }
    }
    assert!(seen.contains("main") && seen.len() >= 5, "{seen:?}");
}

#[test]
fn c() {
    let told =
        ["global_lock", "hidden_lock", "local_lock", "queues", "first_queue", "grid", "field", "either"];
    for way in WAYS {
        let Some(program) = Build::new("plain.c").flags(way).run() else { return };
        let (symbols, file) = (Symbols::new(), File::open(&program.path).unwrap());
        // Two variables within functions have the same linker name.
        let told: Vec<&str> =
            told.into_iter().filter(|&told| way != ["-O2", "-g0"] || told != "local_lock").collect();
        variable_names_resolve_to_addresses(&program, &symbols, &file, &told);
        line_numbers_resolve_to_code(&program, &symbols, &file, "inner");
    }
}

#[test]
fn cpp() {
    for way in WAYS {
        let flags = [way, &["-std=c++17"]].concat();
        let Some(program) = Build::new("classes.cc").flags(&flags).run() else { return };
        let (symbols, file) = (Symbols::new(), File::open(&program.path).unwrap());
        variable_names_resolve_to_addresses(
            &program,
            &symbols,
            &file,
            &["table_lock", "once", "shards", "plain"],
        );
        line_numbers_resolve_to_code(&program, &symbols, &file, "wrapper");
    }
}

#[test]
fn arrays_of_structures() {
    let Some((_folder, path)) = Build::new("plain.c").flags(&["-g"]).compile_as("program") else {
        return;
    };
    let file = File::open(&path).unwrap();
    let whole = file.variables("queues").remove(0).ranges.remove(0);
    assert_eq!(whole.end - whole.start, 8 * 136);
    let locks = file.variables("queues.ends.lock").remove(0).ranges;
    let expected = |n: u64| whole.start + n / 2 * 136 + 8 + n % 2 * 64 + 24;
    assert_eq!(locks, (0..16).map(|n| expected(n)..expected(n) + 40).collect::<Vec<_>>());
    assert_eq!(file.variables("queues[2].ends.lock").remove(0).ranges, locks[4..6]);
    assert_eq!(file.variables("grid[1].lock"), [], "half of two indices");
    for nothing in
        ["queues[8].ends.lock", "queues.end", "queues.ends.loc", "queues.", "queues+0x440", "queue", ""]
    {
        assert_eq!(file.variables(nothing), [], "{nothing}");
    }
    assert_eq!(file.variables("inner::local_lock").len(), 1);
    assert_eq!(file.variables("local_lock"), [], "it has no such name");
    assert_eq!(file.code_of_line("plain.c", 1), []);
    assert_eq!(file.code_of_line("lain.c", line_of("plain.c", "main")), []);
    assert!(file.variable_names(40).contains("global_lock"));
}

#[test]
fn without_symbols_nothing_is_found() {
    if !has_tool("without symbols", "strip", "binutils") {
        return;
    }
    let Some((_folder, path)) = Build::new("plain.c").flags(&["-g"]).compile_as("program") else {
        return;
    };
    let before = File::open(&path).unwrap().identity();
    run(Command::new("strip").arg(&path));
    let file = File::open(&path).unwrap();
    assert_eq!(file.variables("global_lock"), []);
    assert_eq!(file.functions("main"), []);
    assert!(!file.has_lines());
    assert!(file.imports().contains("malloc"));
    assert_eq!(file.interpreter().unwrap().extension().unwrap(), "2");
    assert_eq!(file.identity(), before, "the build id is the same");
    assert!(File::open(std::path::Path::new("/etc/passwd")).is_none());
}

/// The calls of a libc function end directly before the return addresses.
#[test]
fn calls_of_other_files() {
    let ways = [
        &[][..],
        &["-no-pie"],
        &["-fno-plt"],
        &["-fcf-protection=full"],
        &["-Wl,-z,now"],
        &["-O2", "-Wl,-z,lazy"],
    ];
    for way in ways {
        let flags = [way, &["-g"]].concat();
        let Some(program) = Build::new("plain.c").flags(&flags).run() else { return };
        let file = File::open(&program.path).unwrap();
        let calls = file.calls(|name| name == "malloc");
        assert_eq!(calls.len(), 1, "{way:?}");
        let main = file.functions("main").remove(0);
        assert!(main.ranges.iter().any(|range| range.contains(&calls[0])), "{way:?}");
        let line = file.code_of_line("plain.c", line_of("plain.c", "heap")).remove(0);
        assert!(line.ranges.iter().any(|range| range.contains(&calls[0])), "{way:?} {line:x?} {calls:x?}");
        assert_eq!(file.calls(|name| name == "free"), [0_u64; 0], "{way:?}");
    }
}
