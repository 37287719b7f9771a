//! util-linux's tools for System V objects, stress-ng, and the programs of old that are made of two processes and a segment.

use std::path::{Path, PathBuf};
use unspin_e2e::{
    Outcome, Workspace, World, assert_same, build_library, enter_ipc_namespace, find_tool, skip,
};

/// Objects of every class in every state, as `ipcs` and `lsipc` tell of them and `ipcrm` removes them.
#[test]
#[ignore = "third-party: ci/release.sh runs it, under the library that users have"]
fn ipcs_ipcrm_ipcmk_lsipc() {
    let test = "ipcs_ipcrm_ipcmk_lsipc";
    let Some(perl) = tools(["ipcs", "ipcrm", "ipcmk", "lsipc", "perl"]) else {
        return skip(test, "a tool is missing; install util-linux and perl");
    };
    // Other objects would be listed, and all are removed in the end.
    if !enter_ipc_namespace() {
        return skip(test, "it needs an IPC namespace of its own; run it as root");
    }
    let bare = listed(&perl, World::Bare, |run| run);
    for line in ["0x51ee0003 ID root 666 1048576 6", "3 32767 0 1 PID", "0x00000000 ID root 600 1 3 dest"] {
        assert!(bare.stdout.lines().any(|found| found == line), "{line} is missing: {bare}");
    }
    for world in &World::PRELOADED {
        assert_same(test, world, &bare, &listed(&perl, *world, |run| run));
    }
}

/// Check of the gate above: it must fail if `semget` answers one error wrongly.
#[test]
#[ignore = "third-party: ci/release.sh runs it, under the library that users have"]
#[should_panic(expected = "here:   ipcmk: create semaphore failed: No space left on device")]
fn a_wrong_answer_is_noticed_in_a_listing() {
    let (Some(perl), Some(wrong), true) =
        (tools(["ipcs", "lsipc", "perl"]), build_library("wrong"), enter_ipc_namespace())
    else {
        panic!("not tried here, instead of: here:   ipcmk: create semaphore failed: No space left on device");
    };
    let bare = listed(&perl, World::Bare, |run| run);
    let other = listed(&perl, World::Bare, |run| run.preload_before(wrong.path()));
    assert_same("listed", World::Bare, &bare, &other);
}

fn listed(perl: &Path, world: World, with: impl FnOnce(unspin_e2e::Run) -> unspin_e2e::Run) -> Outcome {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("perl/listed.pl");
    let outcome = with(Workspace::new(world).run(perl).args([script])).output();
    assert!(outcome.is_clean() && outcome.stderr.is_empty(), "{outcome}");
    outcome
}

/// The last of these tools, if all are there.
fn tools<const N: usize>(names: [&str; N]) -> Option<PathBuf> {
    names.map(find_tool).into_iter().collect::<Option<Vec<_>>>()?.pop()
}

#[test]
#[ignore = "third-party: ci/release.sh runs it, under the library that users have"]
fn stress_ng() {
    let Some(tool) = find_tool("stress-ng") else {
        return skip("stress_ng", "there is no stress-ng; install it");
    };
    let alone = enter_ipc_namespace();
    let times: u32 = std::env::var("UNSPIN_STRESS").map_or(1, |times| times.parse().expect("it is a number"));
    let stressors =
        [("sem-sysv", 4000, &[][..]), ("msg", 20_000, &[]), ("shm-sysv", 20, &["--shm-sysv-bytes", "1m"])];
    for workspace in World::ALL.map(Workspace::new) {
        for (stressor, operations, more) in stressors {
            let operations = (operations * times).to_string();
            let (workers, limit) = (format!("--{stressor}"), format!("--{stressor}-ops"));
            let args =
                [&workers, "2", &limit, &operations, "--verify", "--metrics-brief", "--timeout", "250"];
            let outcome = workspace.run(&tool).args(args).args(more).output();
            assert!(outcome.is_clean(), "{stressor} in world {}: {outcome}", workspace.world());
            let said = outcome.stdout.clone() + &outcome.stderr;
            for bad in ["fail:", "error:"] {
                assert!(!said.contains(bad), "{stressor} in world {}: {outcome}", workspace.world());
            }
            let counted = said.lines().any(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                words.windows(2).any(|pair| pair == [stressor, &operations])
            });
            assert!(counted, "{stressor} in world {} did something else: {outcome}", workspace.world());
            if alone || World::ENGINES.contains(&workspace.world()) {
                assert_eq!(workspace.leftovers(), "", "{stressor} in world {}", workspace.world());
            }
        }
    }
}

/// One process fills blocks of a segment, the other writes them out; two semaphores count them.
#[test]
#[ignore = "third-party: ci/release.sh runs it, under the library that users have"]
fn buffer() {
    let Some(tool) = find_tool("buffer") else { return skip("buffer", "there is no buffer; install it") };
    let alone = enter_ipc_namespace();
    let input: String = (0..300_000).map(|number| format!("{number:09}\n")).collect();
    for workspace in World::ALL.map(Workspace::new) {
        let run = workspace.run(&tool).args(["-s", "4k", "-m", "64k"]).input(input.clone());
        let outcome = run.output();
        assert!(outcome.is_clean(), "{}: {}", workspace.world(), outcome.stderr);
        assert!(outcome.stdout == input, "{}: what came out differs from what went in", workspace.world());
        if alone || World::ENGINES.contains(&workspace.world()) {
            assert_eq!(workspace.leftovers(), "", "{}", workspace.world());
        }
    }
}

/// Processes of one benchmark begin each of its stages together, by counting down a semaphore of a set that outlives the
/// process that made it.
#[test]
#[ignore = "third-party: ci/release.sh runs it, under the library that users have"]
fn bonnie() {
    let Some(tool) = find_tool("bonnie++") else {
        return skip("bonnie", "there is no bonnie++; install it");
    };
    enter_ipc_namespace();
    for world in World::ALL {
        let workspace = Workspace::without_root(world);
        let made = workspace.run(&tool).args(["-p", "2"]).output();
        assert!(made.is_clean(), "{world}: {made}");
        let args = ["-ys", "-s", "0", "-n", "1", "-q", "-d", "."];
        let racers = [(); 2].map(|()| workspace.run(&tool).args(args).start());
        for outcome in racers.map(unspin_e2e::Running::output) {
            assert!(outcome.is_clean() && outcome.stdout.contains(",2.00a,"), "{world}: {outcome}");
        }
        let removed = workspace.run(&tool).args(["-p", "-1"]).output();
        assert!(removed.is_clean(), "{world}: {removed}");
        let again = workspace.run(&tool).args(["-p", "-1"]).output();
        assert!(!again.status.success(), "{world}: removed twice: {again}");
    }
}

/// The device mapper's tool walks through all sets by their index, and destroys the sets that have its own keys.
#[test]
#[ignore = "third-party: ci/release.sh runs it, under the library that users have"]
fn dmsetup() {
    let Some(perl) = tools(["dmsetup", "perl"]) else {
        return skip("dmsetup", "a tool is missing; install dmsetup and perl");
    };
    if !enter_ipc_namespace() {
        return skip("dmsetup", "it needs an IPC namespace of its own; run it as root");
    }
    // IPC_RMID is 0 and SETVAL 16 in sys/ipc.h and sys/sem.h. Of the list the key and the value are the same everywhere.
    let script = r#"
        for (0x0D4D0001, 0x0D4D0002, 0x51ee0041) {
            my $id = semget($_, 1, 03600) // die "semget: $!";
            semctl($id, 0, 16, 2) or die "semctl: $!";
        }
        $| = 1;
        system "dmsetup udevcookies | awk '{print \$1, \$3}'";
        system "dmsetup udevcomplete_all -y";
        system "dmsetup udevcookies | awk '{print \$1, \$3}'";
        my @left = grep { defined } map { semget($_, 1, 0) } 0x0D4D0001, 0x0D4D0002, 0x51ee0041;
        printf "%d left\n", scalar @left;
        semctl($_, 0, 0, 0) for @left;
    "#;
    let run = |world| Workspace::new(world).run(&perl).args(["-e", script]).output();
    let bare = run(World::Bare);
    assert!(bare.is_clean() && bare.stdout.contains("2 semaphores"), "{bare}");
    assert!(bare.stdout.ends_with("1 left\n"), "{bare}");
    for world in &World::PRELOADED {
        let outcome = run(*world);
        assert_same("dmsetup", world, &bare, &outcome);
    }
}
