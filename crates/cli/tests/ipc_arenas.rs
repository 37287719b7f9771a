//! `unspin ipcs`, `ipcrm`, `ipcmk` on arenas: what they show, and that they leave nothing behind.

mod common;

use common::{Background, finish, unspin, wait_until};
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use unspin_sys::child::{self, Signal};
use unspin_sysv::arenas::Found;
use unspin_sysv::{Engine, Kind, Options};

/// Standard output of a command that succeeds.
fn print(arguments: &[&str]) -> String {
    let (out, err, code) = finish(&mut unspin(arguments));
    assert_eq!((code, err.as_str()), (Some(0), ""), "{arguments:?}");
    out
}

/// The exit code and standard error of one that prints nothing else.
fn refusal(arguments: &[&str]) -> (i32, String) {
    let (out, err, code) = finish(&mut unspin(arguments));
    assert_eq!(out, "", "{arguments:?}");
    (code.unwrap(), err)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Who names an arena means one that is there: a slip of the pen is no empty list.
#[test]
fn an_arena_that_is_named_and_not_there_is_an_error_and_stays_absent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("arena");
    let arena = text(&path);
    let told = format!(
        "unspin: arena {arena}: there is none; `unspin ipcs --arenas={}` shows those that there are\n",
        folder.path().display()
    );
    let commands: [&[&str]; 8] = [
        &["ipcs"],
        &["ipcs", "-u", "-s"],
        &["ipcs", "-l", "-s"],
        &["ipcs", "-s", "-i", "0"],
        &["ipcs", "--sysv", "global"],
        &["ipcrm", "--all"],
        &["ipcrm", "-s", "0"],
        &["ipcrm", "sem", "0"],
    ];
    for command in commands {
        assert_eq!(refusal(&[command, &["--arena", arena]].concat()), (1, told.clone()), "{command:?}");
    }
    // By the environment of `unspin run` too, but for who asks for the kernel's.
    let inside =
        |engine: &str| finish(unspin(&["ipcs"]).env("UNSPIN_SYSV", engine).env("UNSPIN_ARENA", arena));
    assert_eq!(inside("rcu"), (String::new(), told, Some(1)));
    assert_eq!(inside("kernel").2, Some(0));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// The kernel's objects lie in no arena. Which are meant?
#[test]
fn an_arena_for_the_kernels_objects_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("arena");
    let commands: [&[&str]; 5] = [
        &["ipcs"],
        &["ipcrm", "-s", "2147483647"],
        &["ipcrm", "--all=sem"],
        &["ipcrm"],
        &["ipcmk", "-S", "1"],
    ];
    for command in commands {
        let (code, said) = refusal(&[command, &["--sysv", "kernel", "--arena", text(&path)]].concat());
        assert_eq!(code, 1, "{command:?}: {said}");
        assert!(said.starts_with("unspin: --sysv kernel has no arena, "), "{command:?}: {said}");
        assert!(said.contains(&format!("leave out --arena {}", path.display())), "{command:?}: {said}");
    }
    // Who names an arena under `unspin run --sysv kernel` means one.
    let inside = |arguments: &[&str]| {
        finish(unspin(arguments).args(["--arena", text(&path)]).env("UNSPIN_SYSV", "kernel"))
    };
    assert_eq!(inside(&["ipcmk", "-S", "1"]), ("Semaphore id: 0\n".into(), String::new(), Some(0)));
    assert!(
        print(&["ipcs", "-s", "--sysv", "rcu", "--arena", text(&path)])
            .ends_with(" 644        1         \n\n")
    );
}

/// What the preload library refuses with a line, these do.
#[test]
fn an_environment_that_names_no_engine_is_refused() {
    let commands: [&[&str]; 4] =
        [&["ipcs"], &["ipcs", "-l"], &["ipcrm", "-s", "2147483647"], &["ipcmk", "-S", "1"]];
    for command in commands {
        let (out, said, code) = finish(unspin(command).env("UNSPIN_SYSV", "bogus"));
        assert_eq!((out.as_str(), code), ("", Some(1)), "{command:?}");
        let expected = "unspin: UNSPIN_SYSV=bogus: unknown engine 'bogus': choose kernel, global or rcu, ";
        assert!(said.starts_with(expected), "{command:?}: {said}");
    }
    // Whose engine is named does not ask; an empty variable names none.
    for (engine, arguments) in
        [("bogus", ["ipcs", "-l", "--sysv", "kernel"]), ("", ["ipcs", "-l", "-s", "-q"])]
    {
        let (_, said, code) = finish(unspin(&arguments).env("UNSPIN_SYSV", engine));
        assert_eq!((said.as_str(), code), ("", Some(0)), "{arguments:?}");
    }
}

/// One option names an arena everywhere: that of the objects, or by itself what is removed.
#[test]
fn an_arena_is_named_in_one_way() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (folder.path().join("a"), folder.path().join("b"));
    let sets = |arena: &Path| print(&["ipcs", "-s", "--arena", text(arena)]).matches(" 644 ").count();
    for arena in [&a, &b] {
        for _ in 0..4 {
            print(&["ipcmk", "-S", "1", "--arena", text(arena)]);
        }
    }
    print(&["ipcrm", "-s", "0", "--arena", text(&a)]);
    print(&["ipcrm", "--arena", text(&a), "-s", "1"]);
    assert_eq!(print(&["ipcrm", "--arena", text(&a), "sem", "2"]), "resource(s) deleted\n");
    assert_eq!((sets(&a), sets(&b)), (1, 4));
    print(&["ipcrm", "--all=sem", "--arena", text(&a)]);
    assert_eq!((sets(&a), sets(&b)), (0, 4));

    // Nothing is removed by what is unclear.
    let unclear: [(&[&str], &str); 5] = [
        (&["-s", "3", "--arena", text(&b), "--arena", text(&a)], "one arena at a time"),
        (&["sem", "3", "--force", "--arena", text(&b)], "--force is for whole arenas"),
        (&["sem", "--arena", text(&b)], "give ids behind sem"),
        (&["sem", "x", "--arena", text(&b)], "invalid id: x"),
        (&[text(&b)], "unknown argument: "),
    ];
    for (arguments, culprit) in unclear {
        let (code, said) = refusal(&[&["ipcrm"], arguments].concat());
        assert_eq!(code, 1, "{arguments:?}");
        assert!(said.contains(culprit), "{arguments:?}: {said}");
    }
    assert_eq!((sets(&a), sets(&b)), (0, 4));
    print(&["ipcrm", "--arena", text(&a), "--arena", text(&b)]);
    assert!(!a.exists() && !b.exists());
}

#[test]
fn who_looks_does_not_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("arena");
    let engine = Engine::open(Kind::Rcu, &path, &Options::default(), None).unwrap();
    assert_eq!(engine.participants(), Ok(1));
    print(&["ipcmk", "-S", "3", "--arena", text(&path)]);
    print(&["ipcs", "-s", "--arena", text(&path)]);
    print(&["ipcs", "-s", "-i", "0", "--arena", text(&path)]);
    print(&["ipcrm", "-s", "0", "--arena", text(&path)]);
    assert_eq!(engine.participants(), Ok(1), "only who asks");
}

#[test]
fn the_engine_is_that_of_the_arena_or_of_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("arena");
    let arena = text(&path);
    assert_eq!(print(&["ipcmk", "-S", "2", "--sysv", "global", "--arena", arena]), "Semaphore id: 0\n");
    let listed = print(&["ipcs", "-s", "--arena", arena]);
    assert!(listed.ends_with(" 644        2         \n\n"), "{listed}");
    let (code, said) = refusal(&["ipcs", "-s", "--sysv", "rcu", "--arena", arena]);
    assert_eq!(code, 125);
    assert!(said.contains("made for the engine 'global'"), "{said}");
    let inside = |arguments: &[&str]| {
        finish(unspin(arguments).env("UNSPIN_SYSV", "global").env("UNSPIN_ARENA", arena))
    };
    assert_eq!(inside(&["ipcs", "-s"]).0, listed);
    assert_eq!(inside(&["ipcrm", "sem", "0"]), ("resource(s) deleted\n".into(), String::new(), Some(0)));
    assert!(!print(&["ipcs", "-s", "--arena", arena]).contains(" 644 "));
    let run = ["run", "--sysv", "global", "--arena", arena, env!("CARGO_BIN_EXE_unspin"), "ipcmk", "-S", "5"];
    print(&run);
    assert!(inside(&["ipcs", "-s"]).0.ends_with(" 644        5         \n\n"));
}

#[test]
fn arenas_are_listed_and_removed_unless_somebody_uses_them() {
    let folder = tempfile::tempdir().unwrap();
    let list = format!("--arenas={}", folder.path().display());
    let (used, free) = (folder.path().join("used"), folder.path().join("unspin-sysv-7-4026531839-global"));
    print(&["ipcmk", "-S", "3", "--arena", text(&free), "--sysv", "global"]);
    let mut busy = unspin(&["run", "--sysv", "rcu", "--arena", text(&used), "sleep", "1000"]);
    let busy = Background::start({
        busy.stdin(std::process::Stdio::null());
        busy
    });
    wait_until("the program has the arena", || {
        let program = fs::read_to_string(format!("/proc/{}/comm", busy.pid()));
        let used_by = |found: Found| found.processes.contains(&busy.pid());
        program.is_ok_and(|name| name == "sleep\n") && Found::at(&used).unwrap().is_some_and(used_by)
    });
    let listed = print(&["ipcs", &list, "-b"]);
    let rows: Vec<Vec<&str>> = listed.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
    let owner = rows[1][0];
    assert_eq!(
        rows[0],
        ["owner", "engine", "ipc-ns", "size", "sets", "sems", "queues", "segments", "bytes", "users", "file"]
    );
    let namespace = fs::metadata("/proc/self/ns/ipc").unwrap().ino().to_string();
    assert_eq!(rows[1][1..3], ["global", &namespace], "{listed}");
    assert_eq!(rows[1][4..], ["1", "3", "0", "0", "0", "0", text(&free)], "{listed}");
    assert_eq!(rows[2][..3], [owner, "rcu", &namespace], "{listed}");
    assert_eq!(rows[2][4..], ["0", "0", "0", "0", "0", "1", text(&used)], "{listed}");

    let (code, said) = refusal(&["ipcrm", "--arena", text(&used), text(&free)]);
    assert_eq!(code, 1);
    assert!(
        said.contains(&format!("is in use by process {}: ", busy.pid())) && said.contains("--force"),
        "{said}"
    );
    assert!(used.exists() && !free.exists(), "what can be removed is");
    let forced = print(&["ipcrm", "-v", "--arena", text(&used), "--force"]);
    assert_eq!(forced, format!("removing arena {}\n", used.display()));
    assert!(!used.exists());
    drop(busy);
}

#[test]
fn the_dead_use_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("arena");
    let mut ring = unspin(&[
        "run",
        "--sysv",
        "rcu",
        "--arena",
        text(&path),
        "semopbench",
        "-g",
        "2",
        "-s",
        "2",
        "-n",
        "1000000000",
    ]);
    ring.arg("-d");
    let mut ring = Background::start(ring);
    ring.wait_for_line("group 1 is started");
    // Members of the rings, their master, and the keeper of the sets.
    let users = || Found::at(&path).unwrap().unwrap().processes.len();
    wait_until("all take part", || users() == 6);
    let contents = Found::at(&path).unwrap().unwrap().contents.unwrap();
    assert_eq!((contents.kind, contents.sets, contents.semaphores), (Kind::Rcu, 2, 4));
    child::signal_group(ring.pid(), Signal::Kill).unwrap();
    wait_until("all are dead", || users() == 0);
    print(&["ipcrm", "--arena", text(&path)]);
}

/// Removing is for arenas, whatever became of them, and for nothing else.
#[test]
fn what_is_no_arena_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let (real, other, link) = (file("real"), file("other"), file("unspin-sysv-0-1-rcu"));
    print(&["ipcmk", "-S", "3", "--arena", text(&real)]);
    fs::write(&other, "precious").unwrap();
    symlink(&real, &link).unwrap();
    for path in [&other, &link, folder.path(), Path::new("/dev/null")] {
        let (code, said) = refusal(&["ipcrm", "--force", "--arena", text(path)]);
        assert_eq!(code, 1, "{said}");
        assert!(said.contains("is no arena of unspin, and is left alone"), "{said}");
        assert_eq!(said.contains("rm removes it"), path == other, "{said}");
        assert!(path.exists());
    }
    let (code, said) = refusal(&["ipcs", "--arena", text(&link)]);
    assert!(code == 125 && said.contains("a symbolic link is not followed: name the file"), "{said}");
    let (code, said) = refusal(&["ipcrm", "--arena", text(&file("absent"))]);
    assert!(code == 1 && said.contains(": there is none; `unspin ipcs --arenas="), "{said}");

    // Damaged, cut short, of another version: named as arenas are, or beginning as they do.
    fs::OpenOptions::new().write(true).open(&real).unwrap().set_len(5000).unwrap();
    fs::remove_file(&link).unwrap();
    fs::write(&link, [0xA5; 10_000]).unwrap();
    let listed = print(&["ipcs", &format!("--arenas={}", folder.path().display())]);
    assert_eq!(listed.matches("(damaged)").count(), 2, "{listed}");
    assert!(!listed.contains("other"), "{listed}");
    let (code, said) = refusal(&["ipcs", "--sysv", "rcu", "--arena", text(&link)]);
    assert_eq!(code, 125, "{said}");
    assert!(said.contains("is no arena of unspin, or is damaged"), "{said}");
    print(&["ipcrm", "--arena", text(&link), text(&real)]);
    assert!(!link.exists() && !real.exists() && other.exists());
}

/// Anybody may give a file in `/dev/shm` any name, and root is shown it.
#[test]
fn names_of_files_are_shown_on_one_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("unspin-sysv-0-1-rcu\x1b]0;x\x07\nroot  rcu \u{9b}31m\u{e4}"), "").unwrap();
    let listed = print(&["ipcs", &format!("--arenas={}", folder.path().display())]);
    let shown = r"/unspin-sysv-0-1-rcu\u{1b}]0;x\u{7}\nroot  rcu \u{9b}31mä";
    assert!(listed.ends_with(&format!("{shown}\n\n")), "{listed:?}");
}

/// What util-linux refuses is refused with its exit code; so is what concerns arenas only.
#[test]
fn bad_command_lines() {
    let cases: [(&[&str], &str); 13] = [
        (&["ipcs", "-i", "x", "-s"], "'x' for '--id <ID>'"),
        (&["ipcs", "-i", "1"], "a single resource must be specified"),
        (&["ipcs", "frob"], "'frob'"),
        (&["ipcs", "--arenas", "-s"], "'--arenas[=<FOLDER>]' cannot be used with"),
        (&["ipcs", "--arenas=/nonexistent"], "/nonexistent: arenas cannot be looked for"),
        (&["ipcrm", "-s", "0x5"], "give an id, a decimal number"),
        (&["ipcrm", "-S", "x"], "give a key such as"),
        (&["ipcrm", "-a", "--arena", "x", "--force"], "cannot be used with"),
        (&["ipcrm", "-s", "1", "--arena", "x"], "/x: there is none"),
        (&["ipcrm", "--force", "-s", "1"], "cannot be used with"),
        (&["ipcrm", "--force"], "--arena <FILE>"),
        (&["ipcmk", "-M", "1x"], "give a number of bytes such as"),
        (&["ipcmk", "-S", "1", "-p", "1777"], "give octal digits up to 0777"),
    ];
    for (arguments, culprit) in cases {
        let (code, said) = refusal(arguments);
        assert_eq!(code, if said.contains("nonexistent") { 125 } else { 1 }, "{arguments:?}: {said}");
        assert!(said.contains(culprit), "{arguments:?}: {said}");
    }
}
