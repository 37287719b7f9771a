//! fakeroot in its variant with message queues: every chown and stat is a message to a daemon and its answer, under a semaphore with
//! SEM_UNDO. It is itself a library that `LD_PRELOAD` loads, so two of them meet.

use unspin_e2e::{Outcome, Workspace, World, assert_same, enter_ipc_namespace, eventually, find_tool, skip};

/// The script that runs under fakeroot. It is passed as text, since the user that runs it may not be able to read this
/// folder.
const OWNERS: &str = include_str!("../../sh/owners.sh");

/// fakeroot puts its own library first. This turns the order round, and goes on to the program.
const TURNED: &str = r#"
case $LD_PRELOAD in *:*) LD_PRELOAD=${LD_PRELOAD#*:}:${LD_PRELOAD%%:*} ;; esac
export LD_PRELOAD
exec "$@"
"#;

#[test]
#[ignore = "third-party: ci/release.sh runs it, under the library that users have"]
fn fakeroot() {
    let alone = enter_ipc_namespace();
    let plain = ["sh", "-c", OWNERS];
    let turned = ["sh", "-c", TURNED, "sh", "sh", "-c", OWNERS];
    let mut bare = None;
    for world in World::ALL {
        for (order, command) in [("behind fakeroot", &plain[..]), ("before fakeroot", &turned[..])] {
            eprintln!("in world {world}, {order}");
            let Some(outcome) = run(world, command, alone) else { return };
            assert!(outcome.is_clean(), "{world}: {outcome}");
            match &bare {
                None => bare = Some(has_the_owners(outcome)),
                Some(bare) => assert_same("fakeroot", world, bare, &outcome),
            }
        }
    }
}

/// Runs a command under fakeroot, as a user other than root. None, and a line that says so, if there is no fakeroot.
fn run(world: World, command: &[&str], alone: bool) -> Option<Outcome> {
    let Some(fakeroot) = find_tool("fakeroot-sysv") else {
        skip("fakeroot", "there is no fakeroot-sysv; install fakeroot");
        return None;
    };
    let workspace = Workspace::without_root(world);
    let outcome = workspace.run(fakeroot).args(["--"]).args(command).output();
    if alone || World::ENGINES.contains(&world) {
        // The daemon is told to end when the command has ended, and removes what it had.
        eventually("fakeroot's daemon cleans up", || workspace.leftovers().is_empty().then_some(()));
    }
    Some(outcome)
}

/// The oracle is valid only if fakeroot worked on the kernel.
fn has_the_owners(outcome: Outcome) -> Outcome {
    let lines = [
        "user 0",
        "tree/etc/motd 33:42 644 regular file 0:0",
        "tree/null 0:0 644 character special file 1:3",
        "victim 8:9",
        "-rwsr-xr-x 0/0               4 1970-01-01 00:00 tree/bin/tool",
        "-rw-r--r-- 17/1017           3 1970-01-01 00:00 tree/many/17",
    ];
    for line in lines {
        assert!(outcome.stdout.lines().any(|found| found == line), "{line} is missing: {outcome}");
    }
    assert_eq!(outcome.stdout.matches("killed: 137").count(), 10, "{outcome}");
    outcome
}
