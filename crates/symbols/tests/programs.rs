//! Programs in C and C++ tell their addresses, stacks and maps; the names that come back are those of their source.

mod support;

use support::{Build, line_of};
use unspin_symbols::{Kind, Symbols};

/// Ways to compile that change how code and tables look, but not the names.
const WAYS: [&[&str]; 6] = [
    &["-O0"],
    &["-O2", "-fomit-frame-pointer"],
    &["-O2", "-fomit-frame-pointer", "-no-pie"],
    &["-O1", "-fno-omit-frame-pointer", "-static-pie"],
    &["-O2", "-fno-plt", "-Wl,-z,relro,-z,now", "-Wl,-z,noseparate-code"],
    &["-Og", "-fcf-protection=full", "-Wl,--gc-sections", "-ffunction-sections"],
];

#[test]
fn variables_have_their_names_with_and_without_debug_information() {
    for debug in ["-g0", "-g", "-gdwarf-4", "-gz=zlib"] {
        for way in WAYS {
            let flags = [way, &[debug]].concat();
            let Some(program) = Build::new("plain.c").flags(&flags).run("variables") else { return };
            let variable = |name: &str| program.variable(&Symbols::new(), program.address(name));
            assert_eq!(variable("global_lock").unwrap().name, "global_lock", "{flags:?}");
            assert_eq!(variable("hidden_lock").unwrap().name, "hidden_lock", "{flags:?}");
            assert_eq!(variable("queues").unwrap().name, "queues", "{flags:?}");
            assert_eq!(variable("own_lock"), None, "thread-local: no static variable is there, {flags:?}");
            assert_ne!(
                variable("queues_end").map(|variable| variable.name).as_deref(),
                Some("queues"),
                "{flags:?}"
            );
            assert_eq!(variable("main"), None, "code, {flags:?}");
            let queues = variable("queues").unwrap();
            assert_eq!((queues.offset, queues.size), (3 * 136 + 8 + 64 + 24, 8 * 136), "{flags:?}");
        }
    }
}

#[test]
fn callers_have_their_names_without_debug_information() {
    for way in WAYS {
        let Some(program) = Build::new("plain.c").flags(&[way, &["-g0"]].concat()).run("callers") else {
            return;
        };
        let names = program.chain(&Symbols::new(), "inner");
        let expected = ["inner", "outer", "aligned", "deep", "deep", "deep", "deep", "deep", "main"];
        assert_eq!(names[..expected.len()], expected, "{way:?}");
    }
}

#[test]
fn callers_have_lines_and_inlined_functions_with_debug_information() {
    for way in WAYS {
        let Some(program) = Build::new("plain.c").flags(&[way, &["-g"]].concat()).run("lines") else {
            return;
        };
        let symbols = Symbols::new();
        let frames = program.frames(&symbols, "inner");
        for (frame, name) in frames.iter().zip(["inner", "inlined", "outer", "aligned"]) {
            let location = frame.location.as_ref().unwrap();
            assert_eq!(location.line, line_of("plain.c", name), "{name} {way:?}");
            assert!(location.file.ends_with("tests/programs/plain.c"), "{location:?}");
            assert_eq!(location.to_string(), format!("plain.c:{}", location.line));
            assert_eq!(frame.kind, if name == "inlined" { Kind::Inlined } else { Kind::Function });
            assert_eq!(frame.module, program.file_name());
        }
    }
}

#[test]
fn variables_have_lines_and_members_with_debug_information() {
    for way in WAYS {
        let Some(program) = Build::new("plain.c").flags(&[way, &["-g"]].concat()).run("declarations") else {
            return;
        };
        let symbols = Symbols::new();
        let expected = [
            ("global_lock", "global_lock"),
            ("hidden_lock", "hidden_lock"),
            ("local_lock", "inner::local_lock"),
            ("other_local_lock", "outer::local_lock"),
            ("queues", "queues[3].ends[1].lock"),
            ("first_queue", "queues[0].guard"),
            ("grid", "grid[1][2].lock"),
            ("either", "either.locks[1]"),
        ];
        for (told, name) in expected {
            let variable = program.variable(&symbols, program.address(told)).unwrap();
            let line = line_of("plain.c", told);
            assert_eq!(variable.to_string(), format!("{name} (plain.c:{line})"), "{way:?}");
            assert_eq!(variable.module, program.file_name());
        }
    }
}
