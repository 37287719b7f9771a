//! `unspin arenas`: what it lists, shows, removes and refuses.

use crate::common::util_linux::{is_installed, is_possible, namespace};
use crate::common::{Background, compiled, finish, skip, unspin, wait_until};
use regex::Regex;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::process::Output;
use unspin_sys::child::{self, Signal};
use unspin_sysv::arenas::Found;
use unspin_sysv::{Engine, Kind, Options};

const UNSPIN: &str = env!("CARGO_BIN_EXE_unspin");

/// Standard output of a command that succeeds.
fn print(arguments: &[&str]) -> String {
    let (out, err, code) = finish(&mut unspin(arguments));
    assert_eq!((code, err.as_str()), (Some(0), ""), "{arguments:?}");
    out
}

/// Exit code and standard error of a command that prints nothing on standard output.
fn refusal(arguments: &[&str]) -> (i32, String) {
    let (out, err, code) = finish(&mut unspin(arguments));
    assert_eq!(out, "", "{arguments:?}");
    (code.unwrap(), err)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Runs ipcmk on an arena, which it creates if necessary.
fn ipcmk(engine: &str, arena: &Path, arguments: &[&str]) -> String {
    print(&[&["run", "--sysv", engine, "--arena", text(arena), "ipcmk"], arguments].concat())
}

#[test]
fn missing_arena_is_an_error_and_is_not_created() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("arena");
    let expected = format!(
        "unspin: arena {}: does not exist: `unspin arenas list {}` shows those that do\n",
        path.display(),
        folder.path().display()
    );
    let commands: [&[&str]; 4] = [
        &["show", text(&path)],
        &["show", text(&path), "-u", "-s"],
        &["remove", text(&path)],
        &["remove", "--force", text(&path)],
    ];
    for command in commands {
        assert_eq!(refusal(&[&["arenas"], command].concat()), (1, expected.clone()), "{command:?}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    assert_eq!(
        print(&["arenas", "list", text(folder.path())]),
        format!("no arenas in {}\n", folder.path().display())
    );
}

#[test]
fn show_uses_the_engine_of_the_arena() {
    if !is_installed("show_uses_the_engine_of_the_arena") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for engine in Kind::IN_ARENAS.map(Kind::name) {
        let path = folder.path().join(engine);
        assert_eq!(ipcmk(engine, &path, &["-S", "2"]), "Semaphore id: 0\n");
        let shown = print(&["arenas", "show", text(&path), "-s"]);
        assert!(shown.ends_with(" 644        2         \n\n"), "{shown}");
        // The program around the command may use another engine.
        let inside = finish(unspin(&["arenas", "show", text(&path), "-s"]).env("UNSPIN_SYSV", "kernel"));
        assert_eq!(inside, (shown, String::new(), Some(0)));
    }
}

#[test]
fn show_returns_the_exit_code_of_ipcs() {
    if !is_installed("show_returns_the_exit_code_of_ipcs") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("arena");
    ipcmk("rcu", &path, &["-S", "1"]);
    let (code, said) = refusal(&["arenas", "show", text(&path), "--frob"]);
    assert!(code == 1 && said.starts_with("ipcs: ") && said.contains("'--frob'"), "{code}: {said}");
}

#[test]
fn show_without_ipcs_names_the_package_to_install() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("arena");
    Engine::open(Kind::Rcu, &path, &Options::default(), None).unwrap();
    let said = finish(unspin(&["arenas", "show", text(&path)]).env("PATH", folder.path()));
    let expected = "unspin: ipcs is not in PATH: install the package util-linux\n";
    assert_eq!(said, (String::new(), expected.into(), Some(127)));
}

#[test]
fn list_does_not_join_an_arena() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(Kind::Rcu, &folder.path().join("arena"), &Options::default(), None).unwrap();
    assert_eq!(engine.participants(), Ok(1));
    let listed = print(&["arenas", "list", text(folder.path())]);
    // A child that another test starts shares the memory of this process until it executes its program.
    let users = listed.lines().find_map(|line| line.trim_start().strip_prefix("used by process")).unwrap();
    assert!(users.contains(&std::process::id().to_string()), "{listed}");
    assert_eq!(engine.participants(), Ok(1), "only this test");
}

#[test]
fn arenas_are_listed_and_removed_unless_a_process_uses_them() {
    if !is_installed("arenas_are_listed_and_removed_unless_a_process_uses_them") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (used, free) = (folder.path().join("used"), folder.path().join("unspin-sysv-7-4026531839-global"));
    ipcmk("global", &free, &["-S", "3"]);
    let mut busy = unspin(&["run", "--sysv", "rcu", "--arena", text(&used), "sleep", "1000"]);
    let busy = Background::start({
        busy.stdin(std::process::Stdio::null());
        busy
    });
    wait_until("the program has opened the arena", || {
        let program = fs::read_to_string(format!("/proc/{}/comm", busy.pid()));
        let used_by = |found: Found| found.processes.contains(&busy.pid());
        program.is_ok_and(|name| name == "sleep\n") && Found::at(&used).unwrap().is_some_and(used_by)
    });
    let namespace = fs::metadata("/proc/self/ns/ipc").unwrap().ino();
    let listed = print(&["arenas", "list", "-b", text(folder.path())]);
    let blocks: Vec<Vec<&str>> = listed.split("\n\n").map(|block| block.lines().collect()).collect();
    let about = |engine: &str, path: &Path| {
        let bytes = fs::metadata(path).unwrap().blocks() * 512;
        format!("  engine {engine}, owner root, IPC namespace {namespace}, {bytes} on disk")
    };
    let owned = |line: &str| Regex::new("owner [^,]+").unwrap().replace(line, "owner root").into_owned();
    assert_eq!(blocks.len(), 2, "{listed}");
    assert_eq!((blocks[0][0], owned(blocks[0][1])), (text(&free), about("global", &free)));
    let contents = "  1 set (3 semaphores), 0 message queues (0), 0 segments (0)";
    assert_eq!(blocks[0][2..], [contents, "  used by no process"], "{listed}");
    assert_eq!((blocks[1][0], owned(blocks[1][1])), (text(&used), about("rcu", &used)));
    let contents = "  0 sets (0 semaphores), 0 message queues (0), 0 segments (0)";
    assert_eq!(blocks[1][2..], [contents, &format!("  used by process {}", busy.pid())], "{listed}");

    let (code, said) = refusal(&["arenas", "remove", text(&used), text(&free)]);
    assert_eq!(code, 1);
    let expected = format!("unspin: arena {}: is in use by process {}: ", used.display(), busy.pid());
    assert!(said.starts_with(&expected) && said.contains("--force"), "{said}");
    assert!(used.exists() && !free.exists(), "the arena that can be removed is removed");
    let forced = print(&["arenas", "remove", "-v", text(&used), "--force"]);
    assert_eq!(forced, format!("removed arena {}\n", used.display()));
    assert!(!used.exists());
    drop(busy);
}

#[test]
fn killed_processes_do_not_use_an_arena() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("arena");
    let run = ["run", "--sysv", "rcu", "--arena", text(&path)];
    let workload = ["semopbench", "-d", "-g", "2", "-s", "2", "-n", "1000000000"];
    let mut ring = Background::start(unspin(&[&run[..], &workload].concat()));
    ring.wait_for_line("group 1 is started");
    // Members of the rings, their master, and the keeper of the sets.
    let users = || Found::at(&path).unwrap().unwrap().processes.len();
    wait_until("all take part", || users() == 6);
    let contents = Found::at(&path).unwrap().unwrap().contents.unwrap();
    assert_eq!((contents.kind, contents.sets, contents.semaphores), (Kind::Rcu, 2, 4));
    let listed = print(&["arenas", "list", text(folder.path())]);
    assert_eq!(listed.lines().last().unwrap().matches(", ").count(), 5, "six processes: {listed}");
    assert!(listed.lines().skip(1).all(|line| line.chars().count() <= 100), "{listed}");
    child::signal_group(ring.pid(), Signal::Kill).unwrap();
    wait_until("all are dead", || users() == 0);
    print(&["arenas", "remove", text(&path)]);
}

/// Damaged arenas are removed, other files are not.
#[test]
fn only_arenas_are_removed_also_damaged_ones() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let (real, other, link) = (file("real"), file("other"), file("unspin-sysv-0-1-rcu"));
    finish(&mut unspin(&["run", "--sysv", "rcu", "--arena", text(&real), "true"]));
    assert!(real.exists());
    fs::write(&other, "precious").unwrap();
    symlink(&real, &link).unwrap();
    for path in [&other, &link, folder.path(), Path::new("/dev/null")] {
        let (code, said) = refusal(&["arenas", "remove", "--force", text(path)]);
        assert_eq!(code, 1, "{said}");
        assert!(said.contains("is not an arena of unspin, and was not removed"), "{said}");
        assert_eq!(said.contains("remove it with rm"), path == other, "{said}");
        assert!(path.exists());
    }

    // Damaged, truncated, of another version: named like arenas, or beginning like them.
    fs::OpenOptions::new().write(true).open(&real).unwrap().set_len(5000).unwrap();
    fs::remove_file(&link).unwrap();
    fs::write(&link, [0xA5; 10_000]).unwrap();
    let listed = print(&["arenas", "list", text(folder.path())]);
    assert_eq!(listed.matches("  damaged: `unspin arenas remove` removes it\n").count(), 2, "{listed}");
    assert!(!listed.contains("other"), "{listed}");
    for path in [&link, &real] {
        let (code, said) = refusal(&["arenas", "show", text(path)]);
        let path = path.display();
        let expected = format!(
            "unspin: arena {path}: is no arena of unspin, or is damaged; if it was one, `unspin arenas remove {path}` \
             removes it\n"
        );
        assert_eq!((code, said), (125, expected));
    }
    print(&["arenas", "remove", text(&link), text(&real)]);
    assert!(!link.exists() && !real.exists() && other.exists());
}

/// Every user can give a file in `/dev/shm` any name, and root is shown it.
#[test]
fn control_characters_in_file_names_are_escaped() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("unspin-sysv-0-1-rcu\x1b]0;x\x07\nroot  rcu \u{9b}31m\u{e4}"), "").unwrap();
    let listed = print(&["arenas", "list", text(folder.path())]);
    let shown = r"/unspin-sysv-0-1-rcu\x1b]0;x\x07\nroot  rcu \xc2\x9b31mä";
    assert!(listed.lines().next().unwrap().ends_with(shown), "{listed:?}");
    assert_eq!(listed.lines().count(), 4, "{listed}");
}

#[test]
fn wrong_command_lines_are_refused() {
    let cases: [(&[&str], &str); 8] = [
        (&[], "Usage: unspin arenas <COMMAND>"),
        (&["frob"], "unrecognized subcommand 'frob'"),
        (&["show"], "<ARENA>"),
        (&["remove"], "<ARENA>..."),
        (&["remove", "--frob", "x"], "'--frob'"),
        (&["remove", "--sysv", "kernel", "default"], "[possible values: global, rcu]"),
        (
            &["remove", "--sysv", "rcu", "./x"],
            "--sysv rcu applies only to the arena name default: leave it out",
        ),
        (
            &["show", "--sysv", "rcu", "./x"],
            "--sysv rcu applies only to the arena name default: leave it out",
        ),
    ];
    for (arguments, culprit) in cases {
        let (code, said) = refusal(&[&["arenas"], arguments].concat());
        assert_eq!(code, 2, "{arguments:?}: {said}");
        assert!(said.contains(culprit), "{arguments:?}: {said}");
    }
    let (code, said) = refusal(&["arenas", "list", "/nonexistent"]);
    assert_eq!(code, 125, "{said}");
    let expected = "unspin: /nonexistent: the folder cannot be searched for arenas: No such file";
    assert!(said.starts_with(expected), "{said}");
}

/// The memory of an arena's segments is the kernel's. Removing a segment or the arena removes the memory; other segments
/// of the kernel stay.
#[test]
fn removing_an_arena_removes_its_segments_from_the_kernel() {
    if !is_possible("removing_an_arena_removes_its_segments_from_the_kernel") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
        ipcmk -M 4096 >/dev/null
        in_a() { $unspin run --sysv rcu --arena a "$@"; }
        for size in 1 2 3; do in_a ipcmk -M $size; done
        in_a ipcrm -v -m 1
        ipcs -mu | grep segments
        in_a ipcrm -v --all=shm
        ipcs -mu | grep segments
        in_a ipcmk -M 5; in_a ipcmk -M 8192
        $unspin arenas list . | grep -o '2 segments.*'
        $unspin arenas remove -v a
        ipcs -mu | grep -e segments -e pages.allocated
    "#;
    let output = namespace()
        .args(["sh", "-c", script])
        .env("unspin", UNSPIN)
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "Shared memory id: 1\nShared memory id: 2\nShared memory id: 3\n\
         removing shared memory segment id `1'\n\
         segments allocated 3\n\
         removing shared memory segment id `2'\nremoving shared memory segment id `3'\n\
         segments allocated 1\n\
         Shared memory id: 4\nShared memory id: 5\n\
         2 segments (12K)\n\
         removed arena a\n\
         segments allocated 1\npages allocated 1\n"
    );
}

#[test]
fn default_arena_is_that_of_namespace_and_engine() {
    if !is_possible("default_arena_is_that_of_namespace_and_engine") {
        return;
    }
    let script = r#"
        try() { "$@" 2>&1 | sed "s/-[0-9]*-$(stat -Lc %i /proc/self/ns/ipc)-/-UID-NS-/g"; }
        try $unspin arenas show default
        $unspin run --sysv global ipcmk -S 2
        try $unspin arenas show default
        $unspin arenas show --sysv global default -s | tail -n 2 | cut -d ' ' -f 2
        try $unspin arenas remove default
        $unspin run --sysv rcu --arena $folder/a true
        unshare --ipc $unspin arenas show $folder/a 2>&1 | sed "s|$folder||; s/[0-9]\+/NS/g"
        try $unspin arenas remove -v --sysv global default
    "#;
    let folder = tempfile::tempdir().unwrap();
    let mut command = namespace();
    let output =
        command.args(["sh", "-c", script]).env("unspin", UNSPIN).env("folder", folder.path()).output();
    let output = output.unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no arena of the other namespace");
    let missing = "unspin: arena /dev/shm/unspin-sysv-UID-NS-rcu: does not exist: `unspin arenas list` shows those \
                   that do\n";
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        format!(
            "{missing}Semaphore id: 0\n{missing}0\n\n{missing}\
             unspin: arena /a: belongs to IPC namespace NS, and this command runs in NS: run it in that one (nsenter \
             --ipc)\nremoved arena /dev/shm/unspin-sysv-UID-NS-global\n"
        )
    );
}

/// Every user can write to `/dev/shm`. Root could open a file that another user has put where root's default arena would
/// be, and would share memory with that user.
#[test]
fn default_arena_of_another_user_is_refused() {
    let test = "default_arena_of_another_user_is_refused";
    if !is_possible(test) {
        return;
    }
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        skip(test, "only root gives files away: run as root");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
        default=/dev/shm/unspin-sysv-0-$(stat -Lc %i /proc/self/ns/ipc)-rcu
        trap 'rm -f $default $default.ns-*' EXIT
        give() { chown 12345 $default; chmod $1 $default; }
        try() { "$@" >out 2>&1; echo "$? $(grep -c 'lies where your own would, but belongs to another user' out)"; }
        refuse_all() {
            try $unspin arenas show default
            try $unspin arenas show $default
            try $unspin run --sysv rcu true
        }
        $unspin run --sysv rcu true
        for mode in 600 666; do give $mode; refuse_all; done
        $unspin arenas remove default; echo $?
        head -c 10000 /dev/urandom >$default; give 666; try $unspin run --sysv rcu true
        rm $default
        export default
        try $unspin run --sysv rcu sh -c 'chown 12345 $default; ipcs -s'
        $unspin arenas list | grep -A 1 -F $default | grep -c 'owner 12345'
        ls $default.ns-* 2>/dev/null
        # The planted bug: if the owner were not checked, all of them would work.
        chown 0 $default; refuse_all
    "#;
    let output = namespace()
        .args(["sh", "-c", script])
        .env("unspin", UNSPIN)
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    let refused = "125 1\n".repeat(3);
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        format!("{refused}{refused}0\n125 1\n0 1\n1\n{}", "0 0\n".repeat(3))
    );
}

/// Compares the output of `arenas show` with that of ipcs for the same objects in the kernel, except times and pids. Ids
/// are equal because they are the first ones of an IPC namespace and of an arena.
#[test]
fn objects_in_an_arena_are_shown_like_the_kernels() {
    let folder = tempfile::tempdir().unwrap();
    if !is_possible("objects_in_an_arena_are_shown_like_the_kernels") {
        return;
    }
    let Some(objects) = compiled("objects.c", folder.path()) else { return };
    let resources = ["-s", "-m", "-q"];
    let views =
        ["", "-t", "-p", "-c", "-l", "-u", "--human", "-i 0", "-i 1", "-i 2", "-i 3", "-i 4", "-i 17"];
    let shown = |program: &str, run: &str| {
        let mut script = String::from("echo $PPID $$\n");
        for resource in resources {
            for view in views {
                writeln!(script, "echo {resource} {view}; {program} {resource} {view} 2>/dev/null; echo $?")
                    .unwrap();
            }
        }
        let output = with_objects(&objects, run, &script);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        without_times(&text)
    };
    let kernels = shown("ipcs", "");
    assert!(kernels.contains("\n0          7          1          0 PID"), "{kernels}");
    for engine in Kind::IN_ARENAS.map(Kind::name) {
        let arena = folder.path().join(engine);
        let run = format!("{UNSPIN} run --sysv {engine} --arena {}", arena.display());
        let ours = shown(&format!("{UNSPIN} arenas show {}", arena.display()), &run);
        let differing = ours.lines().zip(kernels.lines()).find(|(ours, theirs)| ours != theirs);
        assert_eq!((differing, ours.lines().count()), (None, kernels.lines().count()), "{engine}");
        // The planted bug: other objects.
        assert_ne!(shown(&format!("{UNSPIN} run --sysv kernel ipcs"), &run), kernels, "{engine}");
    }
}

/// Runs a script in a new namespace while the objects of `objects.c` exist. `run` is a command that runs that program,
/// such as `unspin run`, or empty.
fn with_objects(objects: &Path, run: &str, script: &str) -> Output {
    // A user whose name is longer than the column of ten characters.
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let long = users.lines().filter_map(|line| {
        let mut fields = line.split(':');
        Some((fields.next()?, fields.nth(1)?)).filter(|(name, _)| name.len() > 10)
    });
    let uid = long.map(|(_, uid)| uid).next().unwrap_or("12345");
    let mut command = namespace();
    command.args(run.split_whitespace()).arg(objects).args([uid, "sh", "-c", script]).output().unwrap()
}

/// The output with TIME and PID for what differs between two runs. Its first line names the pids: those of `objects` and
/// of the shell that its child becomes.
fn without_times(text: &str) -> String {
    let (pids, rest) = text.split_once('\n').unwrap();
    let time = Regex::new(r"([A-Z][a-z]{2} )?[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d( \d{4})?").unwrap();
    // With the blanks around them: columns pad a pid of fewer digits with more.
    let pids = Regex::new(&format!(r" *\b({})\b *", pids.replace(' ', "|"))).unwrap();
    pids.replace_all(&time.replace_all(rest, "TIME"), " PID ").into_owned()
}
