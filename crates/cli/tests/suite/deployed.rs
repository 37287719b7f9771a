//! Plans without `unspin` in front: two files and two variables.

use crate::common::{as_nobody, compiled_with, finish, nobody_can_run_unspin, skip, unspin};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;
use unspin_sys::creds::Creds;
use unspin_wire::plan::seal;

/// A program, a plan for it, and the folder into which they are compiled.
struct Service {
    folder: TempDir,
    program: PathBuf,
}

const NOT_REPLACED: &str = "unspin: no lock is replaced: ";

impl Service {
    /// None and a line if there is no compiler.
    fn new() -> Option<Service> {
        let folder = tempfile::tempdir().unwrap();
        let program = build(folder.path(), "one")?;
        let service = Service { folder, program };
        service.write_plan("[[mutex]]\nlock = \"cache_lock\"\nkind = \"adaptive\"\n");
        let (_, err, code) = service.plan(&["compile", "--output", service.path("out").to_str().unwrap()]);
        assert_eq!(code, Some(0), "{err}");
        assert!(err.starts_with("unspin: LD_PRELOAD=") && err.lines().count() == 1, "{err}");
        Some(service)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write_plan(&self, tables: &str) {
        let plan = format!("program = \"{}\"\n{tables}", self.program.display());
        fs::write(self.path("service.toml"), plan).unwrap();
    }

    /// `unspin plan ACTION … service.toml`
    fn plan(&self, action: &[&str]) -> (String, String, Option<i32>) {
        finish(unspin(&["plan"]).args(action).arg(self.path("service.toml")))
    }

    fn compiled(&self) -> PathBuf {
        self.path("out/service.plan")
    }

    /// A command under the two variables, and no other.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.env("LD_PRELOAD", self.path("out/libunspin_preload.so")).env("UNSPIN_PLAN", self.compiled());
        command
    }

    /// The program with these arguments.
    fn run(&self, arguments: &[&str]) -> Command {
        let program = self.program.to_str().unwrap();
        self.command(&[&[program], arguments].concat())
    }
}

/// Builds the program, in a build that differs from others.
fn build(folder: &Path, name: &str) -> Option<PathBuf> {
    let option = format!("-DBUILD=\"{name}\"");
    compiled_with("deployed.c", &["-Wl,--build-id", &option], folder)
}

/// The line without the number of the process.
fn without_pid(line: &str) -> String {
    let (begin, rest) = line.split_once(" pid ").unwrap_or_else(|| panic!("{line}"));
    format!("{begin} {}", rest.split_once(' ').unwrap().1)
}

const SUMMARY: &str = "unspin: deployed: 1 lock replaced, 1 of 1 entry of the plan in effect; 1 acquisition waited, 0 of them \
                       without sleep";

#[test]
fn program_is_summed_up_in_one_line_and_others_are_silent() {
    let Some(service) = Service::new() else { return };
    let (out, err, code) = finish(&mut service.run(&[]));
    assert_eq!(
        (out.as_str(), err.as_str(), code),
        ("", "", Some(7)),
        "nothing is said unless that is wanted"
    );
    let program = service.program.to_str().unwrap();
    let sh = service.command(&["sh", "-c", &format!("ls / >/dev/null; {program}; ls / >/dev/null")]);
    let exec = service.run(&["exec", "/bin/true"]);
    for (mut command, expected) in [(service.run(&[]), 7), (sh, 0), (exec, 7)] {
        let (_, err, code) = finish(command.env("UNSPIN_SUMMARY", "1"));
        assert_eq!(
            (err.lines().map(without_pid).collect::<Vec<_>>(), code),
            (vec![SUMMARY.into()], Some(expected))
        );
    }
    let (_, err, _) = finish(service.run(&[]).env("UNSPIN_SUMMARY", "0"));
    assert_eq!(err, "");
}

/// Of a child the decisions of its parent count, and its own waits.
#[test]
fn child_made_by_fork_has_a_line_of_its_own() {
    let Some(service) = Service::new() else { return };
    let (_, err, code) = finish(service.run(&["fork"]).env("UNSPIN_SUMMARY", "1"));
    let lines: Vec<String> = err.lines().map(without_pid).collect();
    let twice = SUMMARY.replace("1 acquisition waited", "2 acquisitions waited");
    assert_eq!((lines, code), (vec![twice, SUMMARY.into()], Some(7)));
}

#[test]
fn file_that_has_the_number_of_standard_error_by_chance_is_not_written_to() {
    let Some(service) = Service::new() else { return };
    let file = service.path("file");
    let read = || fs::read_to_string(&file).unwrap();
    let run = |how: &str, shell: &str| {
        let _ = fs::remove_file(&file);
        let (program, file) = (service.program.display(), file.display());
        let script = format!("{shell} exec {program} {how} {file}");
        let (_, err, code) = finish(service.command(&["bash", "-c", &script]).env("UNSPIN_SUMMARY", "1"));
        assert_eq!((err.as_str(), code), ("", Some(7)), "{script}");
    };
    run("reopen", "");
    assert_eq!(read(), "data\n");
    run("append", "exec 2>&-;");
    assert_eq!(read(), "data\n", "it was closed at the start");
    run("append", "");
    assert_eq!(read(), "data\n", "a journal is appended to, too");
    run("", "exec 2>&-;");
    // A pipe whose reader is gone: the signal does not end the program.
    let script =
        format!("{{ {}; echo $? >{}; }} 2>&1 >/dev/null | true", service.program.display(), file.display());
    finish(service.command(&["bash", "-c", &script]).env("UNSPIN_SUMMARY", "1"));
    assert_eq!(read(), "7\n");
}

#[test]
fn plan_that_does_not_fit_leaves_the_program_as_it_is_with_one_line() {
    let Some(service) = Service::new() else { return };
    let sealed = fs::read_to_string(service.compiled()).unwrap();
    let (_, lines) = sealed.split_once('\n').unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let all_bits =
        format!("{lines}adaptive\tinit\tffffffffffffff00-ffffffffffffffff@/\nwakeup\t18446744073709551615\n");
    let many: String = (0..5000).map(|n| format!("entry\t{n}\n")).collect();
    let cases: [(&str, Vec<u8>, &str); 9] = [
        ("empty", vec![], "is no compiled plan of this version"),
        ("zeroes", vec![0; 300], "is no compiled plan of this version"),
        ("cut short", sealed.as_bytes()[..sealed.len() - 9].to_vec(), "is damaged or cut short"),
        ("changed", sealed.replace("adaptive@", "adaptive_").into_bytes(), "is damaged or cut short"),
        (
            "another version",
            seal(&lines.replace(version, "99.0.0")).into(),
            "is for the library of unspin 99.0.0, and",
        ),
        ("unknown lines", seal(&format!("{lines}new\tline\n")).into(), "is no rule"),
        (
            "lines of another version",
            seal(&format!("{}new\n", lines.replace(version, "99"))).into(),
            "unspin 99, and",
        ),
        ("too many entries", seal(&format!("{lines}{many}")).into(), "holds more than"),
        ("long", vec![b'x'; 1 << 20], "holds more than"),
    ];
    let run = |what: &str, said: Option<&str>| {
        let (out, err, code) = finish(service.run(&[]).env("UNSPIN_SUMMARY", "1"));
        assert_eq!((out.as_str(), code), ("", Some(7)), "{what}: {err}");
        match said {
            Some(said) => {
                assert!(err.starts_with(NOT_REPLACED) && err.contains(said), "{what}: {err}");
                assert_eq!(err.lines().count(), 1, "{what}: {err}");
            }
            None => assert!(!err.contains(NOT_REPLACED), "{what}: {err}"),
        }
        // Children are silent: those of a program that has said it, and other programs.
        let script = format!("{}; ls / >/dev/null; exit 3", service.program.display());
        let (_, err, code) = finish(&mut service.command(&["sh", "-c", &script]));
        let expected = usize::from(said.is_some());
        assert_eq!((err.lines().count(), code), (expected, Some(3)), "{what}: {err}");
    };
    for (what, contents, said) in cases {
        fs::write(service.compiled(), contents).unwrap();
        run(what, Some(said));
    }
    // Addresses and a cost that no machine has harm nothing.
    fs::write(service.compiled(), seal(&all_bits)).unwrap();
    run("all bits", None);
    fs::remove_file(service.compiled()).unwrap();
    run("missing", Some("cannot be read: No such file"));
    fs::remove_dir_all(service.path("out")).unwrap();
    let (_, err, code) = finish(&mut service.run(&[]));
    assert!(err.starts_with("ERROR: ld.so: object") && code == Some(7), "the dynamic linker says it: {err}");
}

/// A parent that cannot load the library has said nothing, though it was started with the same plan: a static one, a set-uid one.
#[test]
fn child_of_a_parent_without_the_library_says_that_the_plan_does_not_fit() {
    let Some(service) = Service::new() else { return };
    fs::remove_file(service.compiled()).unwrap();
    let script = "LD_PRELOAD=$0 \"$1\"; exit $?";
    let mut command = service.command(&["sh", "-c", script]);
    command.env_remove("LD_PRELOAD").arg(service.path("out/libunspin_preload.so")).arg(&service.program);
    let (_, err, code) = finish(&mut command);
    assert!(err.starts_with(NOT_REPLACED) && err.lines().count() == 1 && code == Some(7), "{err}");
}

#[test]
fn another_build_of_the_program_runs_as_it_is_and_the_same_one_elsewhere_under_the_plan() {
    let Some(service) = Service::new() else { return };
    let elsewhere = service.path("elsewhere");
    fs::copy(&service.program, &elsewhere).unwrap();
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o755)).unwrap();
    let (_, err, _) = finish(service.command(&[elsewhere.to_str().unwrap()]).env("UNSPIN_SUMMARY", "1"));
    assert_eq!(without_pid(err.trim_end()), SUMMARY.replace("deployed:", "elsewhere:"));
    assert_eq!(service.plan(&["check"]).2, Some(0));
    let compiled = || finish(unspin(&["plan", "check"]).arg(service.compiled()));
    assert_eq!(compiled().2, Some(0));
    let (_, err, code) = finish(unspin(&["plan", "check", "--program", "/bin/sh"]).arg(service.compiled()));
    assert!(code == Some(2) && err.contains("a compiled plan names its programs"), "{err}");

    build(service.folder.path(), "another").unwrap();
    let (_, err, code) = finish(&mut service.run(&[]));
    assert_eq!(code, Some(7));
    let expected = format!("{NOT_REPLACED}{} is not of the build that the plan", service.program.display());
    assert!(err.starts_with(&expected) && err.lines().count() == 1, "{err}");
    // The names are looked up again, in the file of names; the compiled plan is for one build.
    assert_eq!(service.plan(&["check"]).2, Some(0));
    let (_, err, code) = compiled();
    assert!(code == Some(1) && err.contains(" is of another build ("), "{err}");
}

#[test]
fn check_says_what_does_not_fit() {
    let Some(service) = Service::new() else { return };
    for (tables, code, said) in [
        (
            "[[mutex]]\nlock = \"cache_look\"\nkind = \"adaptive\"\n",
            1,
            "there is no such variable or function",
        ),
        ("[[mutex]]\nlock = \"cache_lock\"\nkind = \"adaptivee\"\n", 1, "there is no kind \"adaptivee\""),
        ("[[mutex]\n", 2, "line 2"),
        ("", 1, "replaces nothing"),
    ] {
        service.write_plan(tables);
        for action in [&["check"][..], &["show"], &["compile", "--output", "/nonexistent"]] {
            let (out, err, found) = service.plan(action);
            assert_eq!((out.as_str(), found), ("", Some(code)), "{action:?} {tables}: {err}");
            assert!(err.contains(said) && err.lines().count() == 1, "{action:?} {tables}: {err}");
        }
    }
    service.write_plan(
        "[[mutex]]\nlock = \"cache_lock\"\nkind = \"fair\"\n\n[[wait]]\nsite = \"*\"\npolicy = \"poll\"\n",
    );
    let (out, err, code) = service.plan(&["show"]);
    assert_eq!((err.as_str(), code), ("", Some(0)));
    let program = service.program.display();
    let lines: Vec<&str> = out.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines[..2], [&format!("the plan fits {program}")[..], "fair@cache_lock (mutex)"], "{out}");
    assert!(
        lines[2].starts_with("  the variable at 0x") && lines[2].ends_with(&format!(" in {program}")),
        "{out}"
    );
    assert_eq!(lines[3..], ["poll (waits)"], "{out}");
    let check = service.plan(&["check"]).0;
    assert!(
        check.starts_with(&format!("the plan fits {program}\nit names no build"))
            && check.lines().count() == 2,
        "{check}"
    );
    fs::write(service.path("service.toml"), "[[mutex]]\nlock = \"*\"\nkind = \"fair\"\n").unwrap();
    let (_, err, code) = service.plan(&["check"]);
    assert!(code == Some(1) && err.contains("name the program with --program"), "{err}");
    assert_eq!(service.plan(&["check", "--program", service.program.to_str().unwrap()]).2, Some(0));
}

/// A service that waits for a line on its standard input.
fn waiting(command: Command) -> Child {
    let (child, line) = first_line(command);
    assert_eq!(line, "ready\n");
    child
}

fn first_line(mut command: Command) -> (Child, String) {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (child, line)
}

fn end(mut child: Child) -> u32 {
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(7));
    child.id()
}

fn status(pid: u32) -> (String, String, Option<i32>) {
    finish(&mut unspin(&["plan", "status", &pid.to_string()]))
}

/// Whether a process that is no ancestor may read the memory of another of its user.
fn may_read_memory(name: &str) -> bool {
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let may = matches!(scope.trim(), "" | "0") || Creds::current().uid == 0;
    if !may {
        skip(name, "Yama permits it to root alone: set kernel.yama.ptrace_scope to 0");
    }
    may
}

const WAITED: &str = "  acquisitions of replaced mutexes that waited: 1, of which 0 without sleep\n";

#[test]
fn status_of_a_running_process_is_read_without_stopping_it() {
    let Some(service) = Service::new() else { return };
    if !may_read_memory("status_of_a_running_process_is_read_without_stopping_it") {
        return;
    }
    let started = |how: &str| {
        let mut command = service.run(&[how]);
        command.env("UNSPIN_STATUS", "1");
        waiting(command)
    };
    let titled = started("title");
    let expected = |pid| format!("deployed (process {pid})\n  adaptive@cache_lock: 1 mutex\n{WAITED}");
    assert_eq!(
        status(titled.id()).0,
        expected(titled.id()),
        "its environment does not name the plan any more"
    );
    end(titled);
    let child = started("wait");
    let (out, err, code) = status(child.id());
    assert_eq!((out, err.as_str(), code), (expected(child.id()), "", Some(0)));
    let maps = fs::read_to_string(format!("/proc/{}/maps", child.id())).unwrap();
    let shared: Vec<&str> = maps.lines().filter(|line| line.contains("rw-s")).collect();
    assert!(shared.is_empty(), "no file is left by a process that is killed: {shared:?}");
    let pid = end(child);
    let (_, err, code) = status(pid);
    assert_eq!((err, code), (format!("unspin: there is no process {pid}\n"), Some(2)));
}

/// A daemon is one, too: its parent has ended.
#[test]
fn status_of_a_child_that_has_counted_nothing_is_not_its_parents() {
    let Some(service) = Service::new() else { return };
    if !may_read_memory("status_of_a_child_that_has_counted_nothing_is_not_its_parents") {
        return;
    }
    let mut command = service.run(&["child"]);
    command.env("UNSPIN_STATUS", "1");
    let (parent, line) = first_line(command);
    let child: u32 = line.trim().parse().unwrap();
    let of = |pid, rest: &str| {
        let expected = format!("deployed (process {pid})\n  adaptive@cache_lock: 1 mutex\n{rest}");
        assert_eq!(status(pid), (expected, String::new(), Some(0)));
    };
    of(parent.id(), WAITED);
    of(child, "  nothing was counted since the process was forked\n");
    end(parent);
}

#[test]
fn status_of_a_process_in_another_root_says_that_the_plan_is_not_there() {
    let Some(service) = Service::new() else { return };
    let name = "status_of_a_process_in_another_root_says_that_the_plan_is_not_there";
    if Creds::current().uid != 0 {
        return skip(name, "chroot(2) takes root");
    }
    let root = service.path("root");
    fs::create_dir(&root).unwrap();
    let mut command = service.run(&["chroot", root.to_str().unwrap()]);
    command.env("UNSPIN_STATUS", "1");
    let child = waiting(command);
    let plan = service.compiled();
    let expected = format!(
        "deployed (process {})\n  no entries are named: the plan {} cannot be read as the process sees it now\n{WAITED}",
        child.id(),
        plan.display()
    );
    assert_eq!(status(child.id()), (expected, String::new(), Some(0)));
    end(child);
    let mut command = service.run(&["wait"]);
    command.env("UNSPIN_STATUS", "1").env("UNSPIN_PLAN", "service.plan").current_dir(service.path("out"));
    let child = waiting(command);
    assert!(status(child.id()).0.contains("adaptive@cache_lock: 1 mutex"), "a relative path");
    end(child);
}

#[test]
fn process_without_a_tally_is_named_with_the_reason() {
    let Some(service) = Service::new() else { return };
    let said = |command: Command, expected: &str| {
        let child = waiting(command);
        let (_, err, code) = status(child.id());
        assert!(code == Some(1) && err.contains(expected) && err.lines().count() == 1, "{err}");
        end(child);
    };
    said(service.run(&["wait"]), "keeps no tally: start it with UNSPIN_STATUS=1");
    let mut without = service.run(&["wait"]);
    without.env_remove("LD_PRELOAD");
    said(without, "runs without the preload library");
    let mut zombie = service.run(&[]).spawn().unwrap();
    let of_zombie = || status(zombie.id());
    crate::common::wait_until("it is a zombie", || of_zombie().2 == Some(2));
    assert_eq!(
        of_zombie().1,
        format!("unspin: process {} has ended (a zombie), or is the kernel's\n", zombie.id())
    );
    zombie.wait().unwrap();
    let _alone = crate::common::PROCESSES_OF_NOBODY.lock();
    if nobody_can_run_unspin("process_without_a_tally_is_named_with_the_reason") {
        let child = waiting(service.run(&["wait"]));
        let unspin = crate::common::program();
        let (_, err, code) =
            finish(&mut as_nobody(&format!("exec {} plan status {}", unspin.display(), child.id())));
        assert!(code == Some(125) && err.contains("it may not be read") && err.lines().count() == 1, "{err}");
        end(child);
    }
}

#[test]
fn library_is_written_whole_for_all_users() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("library.so");
    let write = |to: &Path| {
        let script = "umask 077; exec \"$0\" library --output \"$1\"";
        finish(Command::new("sh").args(["-c", script]).arg(crate::common::program()).arg(to))
    };
    fs::write(&file, "an earlier one").unwrap();
    let before = fs::File::open(&file).unwrap();
    assert_eq!(write(&file), (String::new(), String::new(), Some(0)));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(fs::read(&file).unwrap()[..4], *b"\x7fELF");
    assert_eq!(before.metadata().unwrap().len(), 14, "a program that has loaded it goes on");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    for (to, said) in [
        (folder.path().to_path_buf(), "is a folder: name a file in it"),
        (folder.path().join("none/library.so"), "there is no such folder: make it"),
        (file.join("library.so"), "name another file"),
        ("/dev/null".into(), "is not a regular file"),
    ] {
        let (out, err, code) = write(&to);
        assert_eq!((out.as_str(), code), ("", Some(2)), "{err}");
        assert!(err.contains(said) && err.lines().count() == 1, "{err}");
    }
}

/// The variables that a unit gets from the drop-in, as systemd reads it.
#[test]
fn drop_in_starts_the_service_under_the_plan() {
    let Some(service) = Service::new() else { return };
    let out = service.path("out");
    let drop_in = |more: &[&str]| {
        let (drop_in, err, code) =
            service.plan(&[&["systemd", "--dir", out.to_str().unwrap()], more].concat());
        assert_eq!((err.as_str(), code), ("", Some(0)));
        drop_in
    };
    let unit = service.path("deployed.service");
    fs::write(&unit, format!("[Service]\nExecStart={}\n", service.program.display())).unwrap();
    fs::create_dir(service.path("deployed.service.d")).unwrap();
    // The settings for a unit that is locked down name a copy of unspin.
    std::os::unix::fs::symlink(unspin(&[]).get_program(), out.join("unspin")).unwrap();
    let locked_down = drop_in(&["--locked-down", "--status"]);
    let settings: Vec<&str> = locked_down.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(settings.contains(&&*format!("ExecPaths={}", out.display())), "{locked_down}");
    assert!(settings.contains(&"Environment=UNSPIN_SUMMARY=1 UNSPIN_STATUS=1"), "{locked_down}");
    assert!(settings.iter().any(|line| line.starts_with("EnvironmentFile=-%t/")), "{locked_down}");
    let drop_in = drop_in(&[]);
    assert!(
        drop_in.contains("\n#ExecPaths=") && drop_in.contains("\n#Environment=UNSPIN_SUMMARY"),
        "{drop_in}"
    );
    fs::write(service.path("deployed.service.d/unspin.conf"), locked_down).unwrap();
    match Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&unit).output() {
        Ok(verified) => {
            let said = String::from_utf8_lossy(&verified.stderr);
            let about_it: Vec<&str> = said.lines().filter(|line| line.contains("deployed")).collect();
            assert!(verified.status.success() && about_it.is_empty(), "{said}");
        }
        Err(_) => skip(
            "drop_in_starts_the_service_under_the_plan",
            "in part: there is no systemd-analyze; install systemd",
        ),
    }
    let mut command = Command::new(&service.program);
    command.env_clear().env("UNSPIN_SUMMARY", "1");
    for (name, value) in drop_in.lines().filter_map(|line| line.strip_prefix("Environment=")?.split_once('='))
    {
        command.env(name, value);
    }
    let (_, err, code) = finish(&mut command);
    assert_eq!((without_pid(err.trim_end()), code), (SUMMARY.into(), Some(7)));
    let (env, _, _) = service.plan(&["env", "--dir", out.to_str().unwrap()]);
    let script = format!("{env}export UNSPIN_SUMMARY=1; exec {}", service.program.display());
    let (_, err, code) = finish(Command::new("sh").args(["-c", &script]).env_remove("LD_PRELOAD"));
    assert_eq!((without_pid(err.trim_end()), code), (SUMMARY.into(), Some(7)));
}

#[test]
fn lines_for_images_and_pods_name_the_two_files() {
    let Some(service) = Service::new() else { return };
    let plan = service.path("service.toml");
    let (out, err, code) = service.plan(&["dockerfile"]);
    assert_eq!((err.as_str(), code), ("", Some(0)));
    let expected = format!(
        "# These lines stand last, so that no step of the build runs under the plan. The folder unspin lies beside the \
         Dockerfile:\n#   unspin plan compile {} --output unspin\nCOPY unspin /opt/unspin\n\
         ENV LD_PRELOAD=/opt/unspin/libunspin_preload.so \\\n    UNSPIN_PLAN=/opt/unspin/service.plan\n\
         # Where a seccomp filter is in force, waits poll only with this variable. In such a container it is printed by\n\
         #   unspin plan looks\n#ENV UNSPIN_LOOKS=\n",
        plan.display()
    );
    assert_eq!(out, expected);
    let (out, err, code) =
        service.plan(&["kubernetes", "--image", "registry.example/a:7", "--dir", "/srv/u/"]);
    assert_eq!((err.as_str(), code), ("", Some(0)));
    let expected = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pod.yaml")).unwrap();
    assert_eq!(out.replace(plan.to_str().unwrap(), "service.toml"), expected);
    for (action, said) in [
        (["systemd", "--dir", "/a b"], "--dir /a b: LD_PRELOAD, units and YAML cannot hold every path"),
        (["env", "--dir", "relative"], "name an absolute one"),
        (["kubernetes", "--image", "a\nb"], "is no name of an image"),
    ] {
        let (out, err, code) = service.plan(&action);
        assert_eq!((out.as_str(), code), ("", Some(2)), "{err}");
        assert!(err.contains(said), "{err}");
    }
}
