//! `unspin ipcs`, `ipcrm`, `ipcmk` beside util-linux's own, in an IPC namespace that nobody else uses.

mod common;

use common::util_linux::{namespace, possible};
use common::{compiled, skip};
use regex::Regex;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Output;

/// Runs a script in a new namespace while the objects of `objects.c` are there, which is run by a command such as `unspin
/// run`, or by nothing.
fn with_objects(objects: &Path, run: &str, script: &str) -> Output {
    // A user whose name has more than the ten characters that a column has.
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let long = users.lines().filter_map(|line| {
        let mut fields = line.split(':');
        Some((fields.next()?, fields.nth(1)?)).filter(|(name, _)| name.len() > 10)
    });
    let uid = long.map(|(_, uid)| uid).next().unwrap_or("12345");
    let mut command = namespace();
    command.args(run.split_whitespace()).arg(objects).args([uid, "sh", "-c", script]).output().unwrap()
}

/// The lines of options that must give the same output.
fn every_view() -> Vec<String> {
    let mut lines = Vec::new();
    for resources in ["", "-a", "-m", "-q", "-s", "-m -q", "-ms", "--queues --semaphores"] {
        for view in ["", "-t", "-p", "-c", "-l", "-u"] {
            for unit in ["", "--human", "-b"] {
                lines.push(format!("{resources} {view} {unit}"));
            }
        }
    }
    for (resource, ids) in [("-s", 0..5), ("-q", 0..5), ("-m", 0..18)] {
        for id in ids {
            lines.extend(["", "--human", "-b"].map(|unit| format!("{resource} -i {id} {unit}")));
        }
    }
    let others = [
        "-t -c",
        "-c -t",
        "-pu",
        "--human -b",
        "--bytes --human",
        "--time",
        "--pid",
        "--creator",
        "--limits",
        "--summary",
        "--shmems",
        "--all",
        "--sem",
        "--hum",
        "-l -t -m",
        "-i 1",
        "-i x -q",
        "-i 1 -q -s",
        "--s",
        "-x",
        "--frob",
        "-q -i",
        "--human=1",
    ];
    lines.extend(others.map(str::to_owned));
    lines
}

const ZONES: [&str; 9] = [
    "UTC",
    "Europe/Berlin",
    ":America/New_York",
    "CET-1CEST",
    "EST5EDT,M3.2.0,M11.1.0",
    "Nonsense/Zone",
    "",
    "<+0545>-5:45",
    "/usr/share/zoneinfo/Asia/Tokyo",
];

/// Runs util-linux's ipcs and another command with the same options and answers where they differ in what they print or
/// return, or in whether they say something on standard error.
fn differences(objects: &Path, ours: &str, lines: &[String], zones: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut script = format!("cd {}\n", folder.path().display());
    let mut cases: Vec<(String, String)> = lines.iter().map(|line| (String::new(), line.clone())).collect();
    cases.extend(
        zones.iter().flat_map(|zone| ["-t", "-i 1 -m"].map(|line| (format!("TZ='{zone}'"), line.to_owned()))),
    );
    for (n, (zone, line)) in cases.iter().enumerate() {
        for (name, program) in [("theirs", "ipcs"), ("ours", ours)] {
            writeln!(script, "{zone} {program} {line} >{n}.{name} 2>{n}.{name}.err; echo $? >>{n}.{name}")
                .unwrap();
        }
    }
    let output = with_objects(objects, "", &script);
    assert!(output.status.success(), "{output:?}");
    let mut text = String::new();
    for (n, (zone, line)) in cases.iter().enumerate() {
        let read = |name: &str| fs::read_to_string(folder.path().join(format!("{n}.{name}"))).unwrap();
        let (theirs, ours) = (read("theirs"), read("ours"));
        let (said, we_said) = (read("theirs.err"), read("ours.err"));
        if theirs != ours || said.is_empty() != we_said.is_empty() {
            writeln!(text, "{zone} ipcs {line}:\n{theirs}{said}--- but ours ---\n{ours}{we_said}").unwrap();
        }
    }
    text
}

fn objects(folder: &Path) -> Option<PathBuf> {
    compiled("objects.c", folder)
}

const UNSPIN: &str = env!("CARGO_BIN_EXE_unspin");

#[test]
fn the_kernels_objects_are_shown_as_util_linux_shows_them() {
    let folder = tempfile::tempdir().unwrap();
    let Some(objects) = objects(folder.path()).filter(|_| possible("ipcs")) else { return };
    let ours = format!("{UNSPIN} ipcs --sysv kernel");
    let found = differences(&objects, &ours, &every_view(), &ZONES);
    assert!(found.is_empty(), "{found}");
}

/// The planted bugs: another view of the same objects, an exit code, silence.
#[test]
fn a_difference_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let Some(objects) = objects(folder.path()).filter(|_| possible("ipcs")) else { return };
    let noticed = |ours: &str, line: &str| {
        let found = differences(&objects, ours, &[line.to_owned()], &[]);
        assert!(found.contains("--- but ours ---"), "{ours} {line} is not noticed");
    };
    noticed(&format!("{UNSPIN} ipcs --sysv kernel -c"), "-m");
    noticed(&format!("TZ=Asia/Tokyo {UNSPIN} ipcs --sysv kernel"), "-t");
    noticed("true", "-q -i x");
    noticed(r#"sh -c 'ipcs "$@" 2>/dev/null' -"#, "-q -i 77");
}

/// What a script says with util-linux's tools, and with ours on the kernel's objects. `$0` names the set; keys are random.
const REMOVALS: &str = r#"
    say() { "$@" 2>$errors; echo "$? $(test -s $errors && echo complains)"; }
    say $ipcmk -M 4096 -Q -S 2
    say $ipcmk -S 1 -p 0600 -Q
    say $ipcmk -M 1.5K -p 777
    say $ipcmk -Q --mode=0
    say $ipcmk --shmem 2KiB --semaphore 3
    say $ipcmk -M 0
    say $ipcmk -M 1x
    say $ipcmk -M -1
    say $ipcmk -S 0
    say $ipcmk -S -1
    say $ipcmk -S many
    say $ipcmk -S 32001
    say $ipcmk -p 9 -S 1
    say $ipcmk -p 600
    say $ipcmk
    say $ipcmk --frob
    ipcs | sed 's/^0x[0-9a-f]*/KEY/'
    key() { ipcs $1 | awk -v id=$2 '$2 == id { print $1 }'; }
    say $ipcrm -v -s 0 -q 0 -m 0
    say $ipcrm -v -s 0 -q 1 -s 99 -m 99
    say $ipcrm -v -S $(key -s 1) -M $(key -m 1) -Q $(key -q 2)
    say $ipcrm -S 0x7fff1234
    say $ipcrm -M 0 -q x
    say $ipcrm sem 2 77
    say $ipcrm sem 2
    say $ipcrm shm 2
    say $ipcrm sem
    say $ipcrm sem x
    say $ipcrm frob 3
    say $ipcrm
    say $ipcrm --all=frob
    ipcs
    $ipcmk -M 1 -Q -S 1 >$errors
    $ipcmk -M 1 -Q -S 1 >$errors
    say $ipcrm -v --all=shm
    ipcs -u
    say $ipcrm -v --all
    say $ipcrm -a
    ipcs -u
"#;

#[test]
fn objects_are_made_and_removed_as_util_linux_does() {
    if !possible("ipcrm") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let run = |ipcmk: &str, ipcrm: &str| {
        let mut command = namespace();
        command.args(["sh", "-c", REMOVALS]).current_dir(folder.path());
        command.env("ipcmk", ipcmk).env("ipcrm", ipcrm).env("errors", "errors");
        let output = command.output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let theirs = run("ipcmk", "ipcrm");
    let ours = run(&format!("{UNSPIN} ipcmk --sysv kernel"), &format!("{UNSPIN} ipcrm --sysv kernel"));
    assert_eq!(ours, theirs);
    assert!(ours.contains("removing semaphore id `0'") && ours.contains("resource(s) deleted"), "{ours}");
    // The planted bug: other objects are removed.
    assert_ne!(run("ipcmk", &format!("{UNSPIN} ipcrm --sysv kernel -s 1")), theirs);
}

/// The memory of an arena's segments is the kernel's. What is removed from an arena, or with it, is gone from the kernel;
/// what others have there stays. Ids are the kernel's, too.
#[test]
fn arenas_and_their_segments_are_removed_together() {
    if !possible("ipcrm --arena") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
        ipcmk -M 4096 >/dev/null
        $unspin ipcmk --arena a -S 1 >/dev/null
        $unspin ipcrm --arena a -v -m 0 2>&1 || ipcs -mu | grep segments
        for size in 1 2 3; do $unspin ipcmk --arena a -M $size; done
        $unspin ipcrm --arena a -v -m 1
        ipcs -mu | grep segments
        $unspin ipcrm --arena a -v --all=shm
        ipcs -mu | grep segments
        $unspin ipcmk --arena a -M 5; $unspin ipcmk --arena a -M 8192
        $unspin ipcs --arenas=. | awk '$2 == "rcu" { print $8, $9, $10 }'
        $unspin ipcrm --arena a -v
        ipcs -mu | grep -e segments -e pages.allocated
    "#;
    let output = namespace()
        .args(["sh", "-c", script])
        .env("unspin", UNSPIN)
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "unspin: ipcrm: invalid id (0): no shared memory segment has it; `unspin ipcs -m` shows those that there are\n\
         removing shared memory segment id `0'\n\
         segments allocated 1\n\
         Shared memory id: 1\nShared memory id: 2\nShared memory id: 3\n\
         removing shared memory segment id `1'\n\
         segments allocated 3\n\
         removing shared memory segment id `2'\nremoving shared memory segment id `3'\n\
         segments allocated 1\n\
         Shared memory id: 4\nShared memory id: 5\n\
         2 12K 0\n\
         removing arena a\n\
         segments allocated 1\npages allocated 1\n"
    );
}

/// Before any program has made the usual arena there are no objects: no mistake of who asks. If he may have meant the
/// other engine he is told.
#[test]
fn the_usual_arena_may_not_be_there_yet() {
    if !possible("ipcs without an arena") {
        return;
    }
    let script = r#"
        set -e
        $unspin ipcs; $unspin ipcs -u -s; $unspin ipcrm --all
        echo "$($unspin ipcrm -s 0 2>&1 | cut -d: -f 2-3)"
        $unspin ipcmk -S 2 --sysv global
        $unspin ipcs -l -s | wc -l
        echo; $unspin ipcs -s 2>&1; $unspin ipcs -s --sysv global | tail -n 2 | cut -d ' ' -f 2
        $unspin ipcrm --arena default --sysv global
        $unspin ipcs -s
    "#;
    let output = namespace().args(["sh", "-c", script]).env("unspin", UNSPIN).output().unwrap();
    let empty =
        "------ Semaphore Arrays --------\nkey        semid      owner      perms      nsems     \n\n";
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        format!(
            "\n------ Message Queues --------\n\
             key        msqid      owner      perms      used-bytes   messages    \n\n\
             ------ Shared Memory Segments --------\n\
             key        shmid      owner      perms      bytes      nattch     status      \n\n\
             {empty}\n\
             ------ Semaphore Status --------\nused arrays = 0\nallocated semaphores = 0\n\n \
             ipcrm: invalid id (0)\nSemaphore id: 0\n8\n\n\n{empty}\
             unspin: ipcs: no program has used the engine rcu, but global: `--sysv global` shows its objects\n\
             0\n\n\n{empty}"
        )
    );
}

/// `/dev/shm` is open to everybody: what another user has put where root's arena would be, root could open, and would share
/// memory with him.
#[test]
fn a_usual_arena_of_another_users_is_not_used() {
    if !possible("an arena of another user's") {
        return;
    }
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        skip("an arena of another user's", "only root gives files away: run as root");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
        usual=/dev/shm/unspin-sysv-0-$(stat -Lc %i /proc/self/ns/ipc)-rcu
        trap 'rm -f $usual $usual.ns-*' EXIT
        give() { chown 12345 $usual; chmod $1 $usual; }
        try() { "$@" >out 2>&1; echo "$? $(grep -c 'lies where your own would, but belongs to another user' out)"; }
        refuse_all() {
            try $unspin ipcs
            try $unspin ipcs --arena $usual
            try $unspin ipcrm -a
            try $unspin ipcmk -Q
            try $unspin run --sysv rcu true
        }
        $unspin ipcmk -S 1 >out
        for mode in 600 666; do give $mode; refuse_all; done
        $unspin ipcrm --arena default; echo $?
        head -c 10000 /dev/urandom >$usual; give 666; refuse_all
        rm $usual
        export usual
        try $unspin run --sysv rcu sh -c 'chown 12345 $usual; ipcs -s'
        $unspin ipcs --arenas | awk '/-rcu/ { print $1, $4 != "0B" }' | grep 12345
        ls $usual.ns-* 2>/dev/null
        # The planted bug: without an owner to mind, all of them work.
        chown 0 $usual; refuse_all
    "#;
    let output = namespace()
        .args(["sh", "-c", script])
        .env("unspin", UNSPIN)
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    let refused = "125 1\n".repeat(5);
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        format!("{refused}{refused}0\n{refused}0 1\n12345 1\n{}", "0 0\n".repeat(5))
    );
}

/// What ipcs shows of the same objects in the kernel and in an arena, but for the times and the pid of who made them. Ids
/// are the same where they are the first of an IPC namespace, and of an arena.
#[test]
fn an_engines_objects_are_shown_as_the_kernels() {
    let folder = tempfile::tempdir().unwrap();
    let Some(objects) = objects(folder.path()).filter(|_| possible("ipcs")) else { return };
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
    for engine in ["global", "rcu"] {
        let arena = folder.path().join(engine);
        let run = format!("{UNSPIN} run --sysv {engine} --arena {}", arena.display());
        let ours = shown(&format!("{UNSPIN} ipcs"), &run);
        let differing = ours.lines().zip(kernels.lines()).find(|(ours, theirs)| ours != theirs);
        assert_eq!((differing, ours.lines().count()), (None, kernels.lines().count()), "{engine}");
        // The planted bug: other objects.
        assert_ne!(shown(&format!("{UNSPIN} ipcs --sysv kernel"), &run), kernels, "{engine}");
    }
}

/// The output with TIME and PID in place of what two runs cannot have in common: the pids are those of `objects` and of the
/// shell that it became in a child, which its first line tells.
fn without_times(text: &str) -> String {
    let (pids, rest) = text.split_once('\n').unwrap();
    let time = Regex::new(r"([A-Z][a-z]{2} )?[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d( \d{4})?").unwrap();
    // With the blanks around, which give way to a pid of more digits, in columns on the left and on the right.
    let pids = Regex::new(&format!(r" *\b({})\b *", pids.replace(' ', "|"))).unwrap();
    pids.replace_all(&time.replace_all(rest, "TIME"), " PID ").into_owned()
}
