//! `unspin run`: exit code, environment and arguments of the program.

use crate::common::{Background, compiled, finish, is_alone, skip, unspin};
use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use unspin_sysv::Kind;

#[test]
fn exit_code_is_that_of_the_program() {
    for code in [0, 1, 42] {
        let (.., status) =
            finish(&mut unspin(&["run", "--sysv", "kernel", "sh", "-c", &format!("exit {code}")]));
        assert_eq!(status, Some(code));
    }
}

#[test]
fn signal_that_kills_the_program_is_visible_to_the_caller() {
    let status = unspin(&["run", "--sysv", "kernel", "sh", "-c", "kill -15 $$"]).status().unwrap();
    assert_eq!(status.signal(), Some(15));
}

/// A plan is observed from outside: the program is where its caller started unspin.
#[test]
fn program_under_a_plan_has_pid_parent_and_descriptors_of_its_own() {
    // A program that starts while another test opens a terminal inherits that.
    if !is_alone("run::program_under_a_plan_has_pid_parent_and_descriptors_of_its_own") {
        return;
    }
    let script = r#"echo $$ $PPID; echo /proc/$$/fd/*; cat /proc/$$/task/$$/children; echo; echo "$UNSPIN_TALLY"; kill -9 $$"#;
    let mut command = unspin(&["run", "--mutex", "adaptive", "sh", "-c", script]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(9));
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], format!("{pid} {}", std::process::id()));
    let plain =
        Command::new("sh").args(["-c", "echo /proc/$$/fd/*; echo $$"]).stdin(Stdio::null()).output().unwrap();
    let plain = String::from_utf8(plain.stdout).unwrap();
    let (descriptors, other) = plain.trim_end().split_once('\n').unwrap();
    assert_eq!(lines[1], descriptors.replace(other, &pid.to_string()));
    let children: Vec<&str> = lines[2].split_whitespace().collect();
    assert!(children.len() <= 1, "only cat: {out}");
    assert!(err.starts_with("unspin: adaptive replaced nothing: no private pthread mutex was used"), "{err}");
    assert_eq!(err.lines().count(), 1, "{err}");
    let folder = Path::new(lines[3]).parent().unwrap();
    assert!(folder.file_name().unwrap().to_string_lossy().starts_with("unspin-run-"), "{folder:?}");
    // Standard error ends after the observer, which has removed its folder.
    assert!(!folder.exists(), "{folder:?}");
}

/// The init of a pid namespace adopts orphans: an observer would be its child.
#[test]
fn init_of_a_pid_namespace_has_no_observer() {
    let namespace = ["--pid", "--fork", "--mount-proc", "--user", "--map-root-user"];
    let possible = Command::new("unshare").args(namespace).arg("true").output();
    if !possible.is_ok_and(|tried| tried.status.success()) {
        return skip("run as init", "unshare cannot make a pid namespace here");
    }
    let unspin =
        unspin(&["run", "--mutex", "adaptive", "sh", "-c", "echo $$; cat /proc/1/task/1/children; :"]);
    let mut command = Command::new("unshare");
    command.args(namespace).arg(unspin.get_program()).args(unspin.get_args());
    for (name, value) in unspin.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let (out, err, code) = finish(&mut command);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    let mut lines = out.lines();
    assert_eq!(lines.next(), Some("1"));
    assert!(lines.next().unwrap_or_default().split_whitespace().count() <= 1, "only cat: {out}");
}

/// The readers of the program's output see its end although its observer waits for the program.
#[test]
fn observer_holds_no_output_of_the_program() {
    let script = "exec > /dev/null 3>&-; while [ -e here ]; do sleep 0.05; done";
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().join("here");
    fs::write(&here, "").unwrap();
    let mut command = unspin(&["run", "--mutex", "adaptive", "sh", "-c", script]);
    command.current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(child.try_wait().unwrap().is_none(), "the program still runs");
    fs::remove_file(here).unwrap();
    assert!(child.wait().unwrap().success());
}

/// A service closes the standard error of its start, and whatever started it reads that to its end.
#[test]
fn observer_gives_up_standard_error_with_the_program() {
    let script = "exec 2> /dev/null; while [ -e here ]; do sleep 0.05; done";
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().join("here");
    fs::write(&here, "").unwrap();
    let mut command = unspin(&["run", "--mutex", "adaptive", "sh", "-c", script]);
    command.current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(child.try_wait().unwrap().is_none(), "the program still runs");
    assert_eq!(text, "");
    fs::remove_file(here).unwrap();
    assert!(child.wait().unwrap().success());
}

/// Go's locks are not libc's, but cgo uses a mutex of libc.
#[test]
fn runtime_with_locks_of_its_own_is_reported_if_few_mutexes_were_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let Some(go) = crate::common::compiled("go.c", folder.path()) else { return };
    let (_, err, code) = finish(&mut unspin(&["run", "--mutex", "adaptive", go.to_str().unwrap()]));
    assert!(code == Some(0) && err.starts_with("unspin: Not seen are Go's locks"), "{err}");
    assert_eq!(err.lines().count(), 1, "{err}");
}

/// A program that gives up root is counted too.
#[test]
fn program_that_drops_root_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = crate::common::compiled("named_unused.c", folder.path()) else { return };
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let plan = folder.path().join("plan.toml");
    fs::write(&plan, format!("[[mutex]]\nlock = \"used\"\nkind = \"adaptive\"\nmodule = {program:?}\n"))
        .unwrap();
    let (program, plan) = (program.display(), plan.display());
    let script = format!("$unspin run -v --use-plan {plan} su nobody -s {program}");
    let Some((_, said)) = as_root("su under a plan", &script) else { return };
    assert!(said.contains("unspin: replaced: adaptive@used: 1 mutex\n"), "{said}");
}

#[test]
fn environment_names_engine_and_arena() {
    let script = r#"echo "$UNSPIN_SYSV $UNSPIN_ARENA ${UNSPIN_RECORD-none} $0 $*"; echo "$LD_PRELOAD""#;
    let folder = tempfile::tempdir().unwrap();
    let mut command =
        unspin(&["run", "--sysv", "rcu", "--arena", "my-arena", "sh", "-c", script, "me", "-x"]);
    command.env("LD_PRELOAD", "/nowhere/other.so").current_dir(folder.path());
    let (out, err, code) = finish(&mut command);
    assert_eq!(code, Some(0), "{err}");
    let arena = folder.path().join("my-arena");
    let (first, second) = out.trim_end().split_once('\n').unwrap();
    assert_eq!(first, format!("rcu {} none me -x", arena.display()));
    let (ours, others) = second.split_once(':').unwrap();
    assert!(ours.contains("/unspin/$LIB/libunspin_preload-") && ours.ends_with(".so"), "{ours}");
    assert_eq!(others, "/nowhere/other.so");
}

#[test]
fn preload_library_is_mapped_into_the_program() {
    let (out, ..) = finish(&mut unspin(&["run", "--sysv", "kernel", "cat", "/proc/self/maps"]));
    assert!(out.contains("libunspin_preload-"), "{out}");
}

#[test]
fn workload_name_runs_the_workload() {
    let mut command = unspin(&["run", "--sysv", "kernel", "semopbench", "-g", "1", "-s", "2", "-n", "3"]);
    let (out, err, code) = finish(&mut command);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("6 hand-offs"), "{out}");
}

#[test]
fn workload_runs_on_every_engine_in_its_own_arena() {
    let folder = tempfile::tempdir().unwrap();
    for engine in Kind::IN_ARENAS.map(Kind::name) {
        let arena = folder.path().join(engine);
        let arena = arena.to_str().unwrap();
        let workload = ["semopbench", "-g", "2", "-s", "4", "-n", "50", "-d"];
        let (out, err, code) =
            finish(&mut unspin(&[&["run", "--sysv", engine, "--arena", arena][..], &workload].concat()));
        assert_eq!(code, Some(0), "{err}");
        assert!(out.contains("400 hand-offs"), "{out}");
        assert!(
            !crate::common::sets_exist(&crate::common::sets_of(&err)),
            "the kernel's sets have not been touched"
        );
    }
}

#[test]
fn arena_with_engine_kernel_is_refused() {
    let (out, said, code) = finish(&mut unspin(&["run", "--sysv", "kernel", "--arena", "a", "echo", "x"]));
    assert_eq!((out.as_str(), code), ("", Some(2)));
    assert!(
        said.starts_with("unspin: --sysv kernel has no arena, ") && said.contains("leave out --arena a,"),
        "{said}"
    );
}

#[test]
fn unusable_arena_is_reported_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("other"), "precious ".repeat(4096)).unwrap();
    finish(&mut unspin(&["run", "--sysv", "global", "--arena", &path("global"), "true"]));
    let cases = [
        (path("other"), "is no arena of unspin, or is damaged; name another file with --arena; "),
        (
            path("global"),
            "was made for the engine 'global'; use --sysv global, or name another file with --arena",
        ),
        (
            path("no/where"),
            "No such file or directory (os error 2); make its folder, or name another file with --arena",
        ),
    ];
    for (arena, expected) in cases {
        let (out, said, code) = finish(&mut unspin(&["run", "--sysv", "rcu", "--arena", &arena, "true"]));
        assert_eq!((out.as_str(), code), ("", Some(125)), "{said}");
        assert!(said.starts_with(&format!("unspin: arena {arena}: {expected}")), "{said}");
    }
}

/// A shell of root in a new IPC namespace, with an empty cache folder of the machine.
fn shell_of_root(folder: &Path, script: &str) -> Command {
    let prepare = "mount -t tmpfs -o mode=0755 none /var/cache && cd \"$HOME\" && umask 077";
    let mut command = Command::new("unshare");
    command.args(["--mount", "--ipc", "sh", "-c", &format!("{prepare} && {script}")]);
    for name in ["LD_PRELOAD", "UNSPIN_SYSV", "UNSPIN_ARENA", "XDG_CACHE_HOME"] {
        command.env_remove(name);
    }
    let unspin = env!("CARGO_BIN_EXE_unspin");
    command.env("HOME", folder).env("LC_ALL", "C").env("unspin", unspin);
    command
}

/// Standard output and standard error of a script in such a shell. The script's end removes the arenas of `nobody` in
/// /dev/shm. None, with a `SKIPPED` line, if such a shell is impossible.
fn as_root(test: &str, script: &str) -> Option<(String, String)> {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let possible = shell_of_root(folder.path(), "su nobody -s /bin/sh -c 'ipcs --version'").output();
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    if !is_root || !possible.is_ok_and(|tried| tried.status.success()) {
        skip(test, "it needs root, who may mount, su, the user nobody, and util-linux's ipcs");
        return None;
    }
    let clean = "rm -f /dev/shm/unspin-sysv-*-$(stat -Lc %i /proc/self/ns/ipc)-rcu";
    let output = shell_of_root(folder.path(), &format!("{{ {script}\n {clean}; }}")).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Some((text(output.stdout), text(output.stderr)))
}

/// The other user can read the library, and only root can write to it.
#[test]
fn program_that_drops_root_keeps_its_engine() {
    let script = r#"
        $unspin run --sysv rcu su nobody -s /bin/sh -c '
            grep -o -m 1 "/var/.*/libunspin_preload-" /proc/self/maps
            ipcmk -S 3; ipcs -s | grep -o "0 *nobody.*"'
        stat -c "%a %U" /var/cache/unspin /var/cache/unspin/libunspin*
        echo "of the kernel: $(ipcs -s | grep -c nobody)"
        $unspin arenas list | grep -A 1 "unspin-sysv-$(id -u nobody)-$(stat -Lc %i /proc/self/ns/ipc)-rcu" | \
            grep -c "^  engine rcu, owner nobody, "
    "#;
    let Some((out, said)) = as_root("su under unspin run", script) else { return };
    assert_eq!(said, "");
    assert_eq!(
        out,
        "/var/cache/unspin/libunspin_preload-\nSemaphore id: 0\n0          nobody     644        3         \n\
         755 root\n755 root\nof the kernel: 0\n1\n"
    );
}

/// An arena belongs to its owner, unless the owner opens it to others.
#[test]
fn another_user_can_use_an_arena_opened_by_chmod() {
    let script = r#"
        as_nobody() { $unspin run --sysv rcu --arena shared su nobody -s /bin/sh -c "$1"; }
        as_nobody 'ipcmk -S 3; cat /proc/sysvipc/sem'
        chmod 666 shared
        $unspin run --sysv rcu --arena shared ipcmk -S 4 -p 640
        as_nobody 'ipcmk -S 3; ipcs -s | cut -c 12- | grep -e root -e nobody; ipcrm -s 0 -s 1'
        $unspin arenas show shared -s | grep -c 0x
    "#;
    let Some((out, said)) = as_root("an arena for others", script) else { return };
    assert_eq!(
        out,
        "Semaphore id: 0\nSemaphore id: 1\n0          root       640        4         \n\
         1          nobody     644        3         \n1\n"
    );
    let lines: Vec<&str> = said.lines().collect();
    let refused = "/shared: belongs to another user, who has not opened it to others; ";
    assert!(lines[0].contains(refused) && lines[2].contains(refused), "{said}");
    assert!(
        lines[0].ends_with("; System V calls fail with ENOSYS, as on a kernel without System V IPC"),
        "{said}"
    );
    let answers = [
        "ipcmk: create semaphore failed: Function not implemented",
        "cat: /proc/sysvipc/sem: No such file or directory",
        "ipcrm: permission denied for id (0)",
    ];
    assert_eq!([lines[1], lines[3], lines[4]], answers, "{said}");
}

/// A user who could write there could run code as root.
#[test]
fn cache_folder_writable_by_others_is_not_used_for_root() {
    let script = r#"
        tried() { $unspin run --sysv kernel cat /proc/self/maps | grep -o -m 1 "/[^ ]*libunspin_preload-"; }
        tried; mv /var/cache/unspin /var/cache/old
        chmod 777 /var/cache; tried; chmod 755 /var/cache
        mkdir /var/cache/unspin; chown nobody /var/cache/unspin; tried; rmdir /var/cache/unspin
        mkdir -m 770 /var/cache/unspin; tried; rmdir /var/cache/unspin
        ln -s old /var/cache/unspin; tried; rm /var/cache/unspin
        echo y > "$(echo /var/cache/old/libunspin*)"; mv /var/cache/old /var/cache/unspin; tried
    "#;
    let Some((out, said)) = as_root("root's cache folder", script) else { return };
    assert_eq!(said, "");
    let places: Vec<&str> = out.lines().map(|line| line.rsplit_once("/unspin/").unwrap().0).collect();
    assert_eq!([places[0], places[5]], ["/var/cache"; 2], "{out}");
    assert_eq!(places.len(), 6, "{out}");
    assert!(places[1..5].iter().all(|place| place.ends_with("/.cache")), "{out}");
}

/// A stated cost that is wrong shows where the cost is asked for: never where no wait polls.
#[test]
fn cost_of_a_wake_up_is_asked_for_only_where_waits_poll() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("ping_pong.c", folder.path()) else { return };
    let run = |waits: &str, cost: &str| {
        let options = ["run", "--waits", waits, "--", program.to_str().unwrap()];
        finish(unspin(&options).env("UNSPIN_WAKEUP_NS", cost))
    };
    let (_, err, code) = run("poll", "fast");
    assert_eq!(code, Some(2), "{err}");
    assert!(
        err.starts_with("unspin: UNSPIN_WAKEUP_NS=fast: state the cost of a wake-up in nanoseconds"),
        "{err}"
    );
    let (_, err, code) = run("system", "fast");
    assert_eq!((err.as_str(), code), ("", Some(0)));
    let (_, err, code) = run("poll", "30000");
    assert_eq!((err.as_str(), code), ("", Some(0)));
}

#[test]
fn engine_gets_the_cost_of_a_wake_up() {
    let folder = tempfile::tempdir().unwrap();
    let arena = folder.path().join("arena");
    let run = |engine: &[&str], cost: Option<&str>| {
        let shell = ["--", "/bin/sh", "-c", "echo \"cost $UNSPIN_ENGINE_WAKEUP_NS\""];
        let mut command = unspin(&[&["run"], engine, &shell].concat());
        match cost {
            Some(cost) => command.env("UNSPIN_WAKEUP_NS", cost),
            None => command.env_remove("UNSPIN_WAKEUP_NS"),
        };
        finish(&mut command)
    };
    let rcu = ["--sysv", "rcu", "--arena", arena.to_str().unwrap()];
    assert_eq!(run(&["--sysv", "kernel"], None), ("cost \n".into(), String::new(), Some(0)));
    assert_eq!(run(&rcu, Some("31000")), ("cost 31000\n".into(), String::new(), Some(0)));
    let (out, err, code) = run(&rcu, None);
    assert_eq!((err.as_str(), code), ("", Some(0)));
    let cost = out.strip_prefix("cost ").unwrap().trim_end();
    assert!(
        cost.is_empty() || cost.parse::<u64>().unwrap() > 0,
        "empty where it could only be assumed: {out}"
    );
    let (_, err, code) = run(&rcu, Some("fast"));
    assert_eq!(code, Some(2), "{err}");
    assert!(err.starts_with("unspin: UNSPIN_WAKEUP_NS=fast: state the cost"), "{err}");
}

#[test]
fn stated_cost_of_a_wake_up_is_in_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("ping_pong.c", folder.path()) else { return };
    let options = ["meter", "--", program.to_str().unwrap()];
    let (_, err, code) = finish(unspin(&options).env("UNSPIN_WAKEUP_NS", "30000"));
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("a wake-up costs 30us (futex), 30us (epoll)"), "{err}");
}

/// A pipe without a writer blocked without a word.
#[test]
fn plan_in_a_pipe_is_waited_for_and_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("plan");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut run = Background::start(unspin(&["run", "--use-plan", fifo.to_str().unwrap(), "true"]));
    run.wait_for_line(&format!("unspin: waiting for the plan in {}", fifo.display()));
    fs::write(&fifo, "[[wait]]\nsite = \"*\"\npolicy = \"poll\"\n").unwrap();
    assert_eq!(run.wait().code(), Some(0), "{}", run.rest());
}
