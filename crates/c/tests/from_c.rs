//! Builds C and C++ programs against the installed library, through pkg-config, and runs them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use unspin_e2e::{find_tool, profile_folder, skip, target_directory};
use unspin_sysv::Kind;

const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// The prefix into which `install.sh` has installed everything; installed once for all tests. `None`, after a
/// message, if `test` lacks a tool.
fn installed(test: &str, tools: &[&str]) -> Option<&'static Path> {
    for tool in tools {
        if find_tool(tool).is_none() {
            skip(test, &format!("{tool} is not installed (ci/setup.sh: pkg-config, build-essential)"));
            return None;
        }
    }
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    Some(PREFIX.get_or_init(|| {
        let prefix = target_directory().join("c-prefix");
        let profile = if profile_folder() == "debug" { "dev".into() } else { profile_folder() };
        let mut install = Command::new(Path::new(HERE).join("install.sh"));
        install.args(["--profile", &profile]).arg(&prefix).env("CARGO_TARGET_DIR", target_directory());
        succeed(install.env("CARGO", env!("CARGO")).env_remove("DESTDIR"));
        prefix
    }))
}

fn succeed(command: &mut Command) -> Output {
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    output
}

fn pkg_config(prefix: &Path, options: &[&str]) -> Vec<String> {
    let mut command = Command::new("pkg-config");
    command.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")).args(options).arg("unspin-sysv");
    String::from_utf8_lossy(&succeed(&mut command).stdout).split_whitespace().map(str::to_owned).collect()
}

/// Compiles a source of `examples/` or `tests/` with the flags of pkg-config.
fn compile(prefix: &Path, compiler: &str, source: &str, to: &Path, libraries: &[String]) {
    let mut command = Command::new(compiler);
    command.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", "-pthread"]);
    command.args(pkg_config(prefix, &["--cflags"])).arg(Path::new(HERE).join(source)).arg("-o").arg(to);
    succeed(command.args(libraries));
}

/// The output of a program under an engine, in a new arena.
fn run(prefix: &Path, program: &Path, engine: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(program);
    command.arg(engine).arg(folder.path().join("arena")).env("LD_LIBRARY_PATH", prefix.join("lib"));
    String::from_utf8(succeed(&mut command).stdout).unwrap()
}

/// The kernel is the oracle: under the other engines the program must print the same.
fn output_is_equal_under_every_engine(prefix: &Path, program: &Path) -> String {
    let right = run(prefix, program, Kind::Kernel.name());
    for engine in Kind::IN_ARENAS {
        assert_eq!(run(prefix, program, engine.name()), right, "{} under {engine}", program.display());
    }
    right
}

/// A program passes a constant of the header, and the library takes it for a position in `Kind::ALL`.
#[test]
fn header_numbers_the_engines_as_the_library_does() {
    let header = std::fs::read_to_string(Path::new(HERE).join("include/unspin/sysv.h")).unwrap();
    let (_, kinds) = header.split_once("enum unspin_sysv_kind {").unwrap();
    let (kinds, _) = kinds.split_once("};").unwrap();
    let kinds = kinds.lines().filter_map(|line| line.trim().strip_prefix("UNSPIN_SYSV_")?.split_once(" = "));
    let kinds =
        kinds.map(|(name, rest)| (name.to_lowercase(), rest.split([',', ' ']).next().unwrap().to_owned()));
    let (_, names) = header.split_once("#define UNSPIN_SYSV_NAMES { ").unwrap();
    let names = names.split_once(" }").unwrap().0.split(", ").map(|name| name.trim_matches('"'));
    assert!(names.eq(Kind::ALL.map(Kind::name)));
    let expected = Kind::ALL.iter().enumerate().map(|(n, kind)| (kind.name().to_owned(), n.to_string()));
    assert_eq!(kinds.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

#[test]
fn tour_prints_the_same_under_every_engine() {
    let Some(prefix) = installed("the tour in C", &["cc", "pkg-config"]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("tour");
    compile(prefix, "cc", "examples/tour.c", &program, &pkg_config(prefix, &["--libs"]));
    let said = output_is_equal_under_every_engine(prefix, &program);
    assert!(said.contains("had after its death") && said.contains("type 1, 16 bytes: first"), "{said}");
}

#[test]
fn tour_links_statically() {
    let Some(prefix) = installed("the tour in C, static", &["cc", "pkg-config"]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("tour");
    let mut libraries = pkg_config(prefix, &["--static", "--libs-only-l"]);
    libraries[0] = prefix.join("lib/libunspin_sysv.a").to_str().unwrap().to_owned();
    compile(prefix, "cc", "examples/tour.c", &program, &libraries);
    assert!(run(Path::new("/nowhere"), &program, "rcu").contains("values 7 and 0"));

    // Linked statically, with the flags that pkg-config gives for that.
    let mut flags = vec!["-static".to_owned()];
    flags.extend(pkg_config(prefix, &["--static", "--libs"]));
    compile(prefix, "cc", "examples/tour.c", &program, &flags);
    assert!(run(Path::new("/nowhere"), &program, "rcu").contains("values 7 and 0"));
}

/// Threads that end, forks beside threads, handlers, refusals.
#[test]
fn fork_and_exit_behave_as_under_the_kernel() {
    let Some(prefix) = installed("life in C", &["cc", "pkg-config"]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("life");
    compile(prefix, "cc", "tests/life.c", &program, &pkg_config(prefix, &["--libs"]));
    let said = output_is_equal_under_every_engine(prefix, &program);
    assert!(said.ends_with("done\n"), "{said}");
}

#[test]
fn failed_open_has_an_errno_and_a_text() {
    let Some(prefix) = installed("refusals in C", &["cc", "pkg-config"]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("refusals");
    compile(prefix, "cc", "tests/refusals.c", &program, &pkg_config(prefix, &["--libs"]));
    let noise = folder.path().join("noise");
    std::fs::write(&noise, vec![0xA5; 1 << 20]).unwrap();
    let mut command = Command::new(&program);
    command.current_dir(&folder).env("LD_LIBRARY_PATH", prefix.join("lib"));
    let said = String::from_utf8(succeed(&mut command).stdout).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    let begins = |line: &str, with: &str| line.starts_with(with);
    assert!(begins(lines[0], "EINVAL: the kind is none"), "{said}");
    assert!(begins(lines[1], "EINVAL: the options' size"), "{said}");
    assert!(begins(lines[2], "EINVAL: an arena of 4096 bytes has no room"), "{said}");
    assert!(begins(lines[3], "EBADMSG: arena noise: is no arena"), "{said}");
    assert!(begins(lines[4], "ENOENT: arena no/such/folder/arena:"), "{said}");
    assert!(begins(lines[5], "EOPNOTSUPP: arena arena: was made for the engine 'rcu'"), "{said}");
    assert_eq!(lines[6..], ["a null engine: EINVAL EINVAL EINVAL EINVAL EINVAL", "640"], "{said}");
}

/// Names of the functions that the header declares.
fn declared(header: &str) -> BTreeSet<String> {
    let words = header.lines().filter(|line| !line.starts_with(" *") && !line.starts_with('#'));
    let names = words.flat_map(|line| line.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '(')));
    names
        .filter_map(|word| word.split_once('('))
        .map(|(name, _)| name.to_owned())
        .filter(|name| name.starts_with("unspin_"))
        .collect()
}

/// The first difference between the functions that the header declares and those that the library exports, or a
/// function that a program cannot use.
fn check(prefix: &Path, header: &str) -> Result<(), String> {
    let declared = declared(header);
    let library = prefix.join("lib/libunspin_sysv.so");
    let symbols = succeed(Command::new("nm").args(["-D", "--defined-only"]).arg(library)).stdout;
    let defined: BTreeSet<String> = String::from_utf8_lossy(&symbols)
        .lines()
        .filter_map(|line| line.split_whitespace().nth(2))
        .map(|name| name.split('@').next().unwrap_or(name).to_owned())
        .collect();
    match declared == defined {
        true => Ok(()),
        false => Err(format!("declared {declared:?}, defined {defined:?}")),
    }
}

/// Every function has a declaration, every declaration has a function, and no other symbol is exported.
#[test]
fn header_declares_what_the_library_exports() {
    let Some(prefix) = installed("the header", &["cc", "pkg-config", "nm"]) else { return };
    let header = std::fs::read_to_string(prefix.join("include/unspin/sysv.h")).unwrap();
    assert_eq!(check(prefix, &header), Ok(()));
    assert_eq!(declared(&header).len(), 15, "{:?}", declared(&header));
    let planted = header.clone() + "\nint unspin_planted(void);\n";
    assert!(check(prefix, &planted).is_err_and(|why| why.contains("unspin_planted")));
    let missing = header.replace("int unspin_semop(", "int semop_of(");
    assert!(check(prefix, &missing).is_err());
}

/// A program in both languages takes the address of every function, with the expected type.
#[test]
fn header_compiles_as_c_and_cpp() {
    let Some(prefix) = installed("the header", &["cc", "c++", "pkg-config"]) else { return };
    let folder = tempfile::tempdir().unwrap();
    for (compiler, standards) in
        [("cc", ["-std=gnu99", "-std=gnu17"]), ("c++", ["-std=gnu++11", "-std=gnu++20"])]
    {
        for standard in standards {
            let program = folder.path().join("every");
            let mut libraries = pkg_config(prefix, &["--libs"]);
            libraries.push(standard.into());
            let source = if compiler == "cc" { "tests/every.c" } else { "tests/every.cc" };
            compile(prefix, compiler, source, &program, &libraries);
            succeed(Command::new(&program).env("LD_LIBRARY_PATH", prefix.join("lib")));
        }
    }
}
