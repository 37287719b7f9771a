//! Programs in C and C++ report their addresses, stacks and maps; the resulting names must be those of their source.

use crate::support::{Build, Program, line_of};
use unspin_symbols::{Frame, SymbolKind, Symbols};

/// Compiler options that change code and tables, but not the names.
const WAYS: [&[&str]; 6] = [
    &["-O0"],
    &["-O2", "-fomit-frame-pointer"],
    &["-O2", "-fomit-frame-pointer", "-no-pie"],
    &["-O1", "-fno-omit-frame-pointer", "-static-pie"],
    &["-O2", "-fno-plt", "-Wl,-z,relro,-z,now", "-Wl,-z,noseparate-code"],
    &["-Og", "-fcf-protection=full", "-Wl,--gc-sections", "-ffunction-sections"],
];

#[test]
fn c_without_debug_information() {
    for way in WAYS {
        let Some(program) = Build::new("plain.c").flags(way).flags(&["-g0"]).run() else { return };
        let symbols = Symbols::new();
        let variable = |name: &str| program.variable(&symbols, program.address(name));
        for (told, printed) in [
            ("global_lock", "global_lock"),
            ("hidden_lock", "hidden_lock"),
            ("local_lock", "local_lock"),
            // struct queue has 136 bytes. Its ends begin at 8 and have 64 bytes each; their locks begin at 24.
            ("queues", "queues+0x1f8"),
            ("first_queue", "queues"),
            // struct cell has 64 bytes; its lock begins at 8.
            ("field", "field+0xfa008"),
        ] {
            let variable = variable(told).unwrap();
            assert_eq!(variable.to_string(), printed, "{way:?}");
            assert_eq!((variable.module.as_str(), variable.location), (program.file_name(), None), "{way:?}");
        }
        assert_eq!(variable("queues").unwrap().size, 8 * 136, "{way:?}");
        for nothing in ["own_lock", "main", "heap"] {
            assert_eq!(variable(nothing), None, "{nothing} {way:?}");
        }
        assert_ne!(
            variable("queues_end").map(|variable| variable.name).as_deref(),
            Some("queues"),
            "{way:?}"
        );
        let names = program.chain(&symbols, "inner");
        let expected = ["inner", "outer", "aligned", "deep", "deep", "deep", "deep", "deep", "main"];
        assert_eq!(names[..expected.len()], expected, "{way:?}");
        let frames = program.frames(&symbols, "inner");
        assert!(
            frames
                .iter()
                .take(expected.len())
                .all(|frame| frame.kind == SymbolKind::Function && frame.offset > 0)
        );
    }
}

#[test]
fn c_with_debug_information() {
    for way in WAYS {
        let Some(program) = Build::new("plain.c").flags(way).flags(&["-g"]).run() else { return };
        has_lines(&program, &Symbols::new(), way);
    }
    for kind in ["-gdwarf-4", "-gz=zlib", "-gdwarf-5"] {
        let Some(program) = Build::new("plain.c").flags(&["-O2", "-g", kind]).run() else {
            return;
        };
        has_lines(&program, &Symbols::new(), &[kind]);
    }
}

/// What debug information adds to `plain.c`.
fn has_lines(program: &Program, symbols: &Symbols, way: &[&str]) {
    for (told, name) in [
        ("global_lock", "global_lock"),
        ("hidden_lock", "hidden_lock"),
        ("local_lock", "inner::local_lock"),
        ("other_local_lock", "outer::local_lock"),
        ("queues", "queues[3].ends[1].lock"),
        ("first_queue", "queues[0].guard"),
        ("grid", "grid[1][2].lock"),
        ("field", "field[16000].lock"),
        ("either", "either.locks[1]"),
    ] {
        let variable = program.variable(symbols, program.address(told)).unwrap();
        let line = line_of("plain.c", told);
        assert_eq!(variable.to_string(), format!("{name} (plain.c:{line})"), "{way:?}");
    }
    let frames = program.frames(symbols, "inner");
    let mains = frames.iter().filter(|frame| frame.short == "main");
    let expected = ["inner", "inlined", "outer", "aligned"];
    for (frame, name) in frames.iter().zip(expected).chain(mains.map(|frame| (frame, "main"))) {
        let location = frame.location.as_ref().unwrap();
        assert_eq!((frame.short.as_str(), location.line), (name, line_of("plain.c", name)), "{way:?}");
        assert!(location.file.ends_with("tests/programs/plain.c"), "{location:?} {way:?}");
        assert_eq!(frame.kind, if name == "inlined" { SymbolKind::Inlined } else { SymbolKind::Function });
    }
    assert_eq!(frames.iter().filter(|frame| frame.short == "main").count(), 1, "{way:?}");
}

/// The program's own functions in the chain beyond the wrapper of its lock.
const CHAIN: [&str; 7] = [
    "app::Mutex::Lock",
    "app::Guard<app::Mutex>::Guard",
    "app::Cache::insert",
    "app::(anonymous namespace)::hidden",
    "main::{lambda}::operator()",
    "app::apply<std::function<int (int)> >",
    "main",
];

/// The functions that compilers inline when they optimise.
const INLINED: [&str; 2] = ["app::Mutex::Lock", "main::{lambda}::operator()"];

#[test]
fn cpp() {
    for way in &WAYS[..4] {
        for debug in ["-g0", "-g"] {
            let flags = [way, &["-std=c++17", debug][..]].concat();
            let Some(program) = Build::new("classes.cc").flags(&flags).run() else { return };
            let symbols = Symbols::new();
            let frames = program.frames(&symbols, "wrapper");
            // Without debug information inlined functions are unknown.
            let knows = |name: &&str| debug == "-g" || way[0] == "-O0" || !INLINED.contains(name);
            let expected: Vec<&str> = CHAIN.into_iter().filter(knows).collect();
            let names: Vec<String> =
                frames.iter().map(short).filter(|name| CHAIN.contains(&name.as_str())).collect();
            assert_eq!(names, expected, "{flags:?} {frames:?}");
            let foreign = frames.iter().map(short).filter(|name| !CHAIN.contains(&name.as_str()));
            assert!(
                foreign.into_iter().all(|name| name.starts_with(['_', 's'])),
                "std:: or libc: {frames:?}"
            );
            has_variables(&program, &symbols, debug);
        }
    }
}

/// The short name; the linkage names number the lambdas.
fn short(frame: &Frame) -> String {
    frame.short.replace("{lambda(int)#1}", "{lambda}")
}

fn has_variables(program: &Program, symbols: &Symbols, debug: &str) {
    for (told, name, member) in [
        ("table_lock", "app::Cache::table_lock", ""),
        ("once", "app::(anonymous namespace)::hidden::once", ""),
        ("shards", "app::(anonymous namespace)::shards", "[2].mutex"),
        ("plain", "plain", ""),
    ] {
        let variable = program.variable(symbols, program.address(told)).unwrap();
        assert_eq!(variable.name, name);
        if debug == "-g" {
            assert_eq!(variable.member, member, "{told}");
            assert_eq!(variable.location.unwrap().line, line_of("classes.cc", told), "{told}");
        } else {
            assert_eq!((variable.member.as_str(), variable.location), ("", None), "{told}");
        }
    }
}
