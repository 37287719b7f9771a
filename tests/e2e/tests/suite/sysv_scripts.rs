//! Python, Perl and PHP: their own modules for System V make the calls.

use std::path::Path;
use std::process::Command;
use unspin_e2e::sysv_ipc::SysvIpc;
use unspin_e2e::{
    Outcome, Run, Workspace, World, assert_same, build_library, enter_ipc_namespace, find_tool, skip,
};

#[test]
#[ignore = "third-party: ci/release.sh runs it, under the library that users have"]
fn perls_own_modules() {
    let perl = Script {
        file: "perl/modules.pl",
        interpreter: "perl",
        probe: &["-MIPC::SharedMem", "-e1"],
        package: "perl",
    };
    perl.is_the_same_everywhere(|run| run);
}

#[test]
#[ignore = "third-party: ci/release.sh runs it, under the library that users have"]
fn perls_shared_variables() {
    let perl = Script {
        file: "perl/shareable.pl",
        interpreter: "perl",
        probe: &["-MIPC::Shareable", "-MIPC::ShareLite", "-e1"],
        package: "libipc-shareable-perl and libipc-sharelite-perl",
    };
    perl.is_the_same_everywhere(|run| run);
}

#[test]
#[ignore = "third-party: ci/release.sh runs it, under the library that users have"]
fn php() {
    const PROBE: &str =
        "exit(array_diff(['sysvmsg', 'sysvsem', 'sysvshm', 'posix'], get_loaded_extensions()) ? 1 : 0);";
    let Some(shallow) = build_library("shallow") else { return };
    let php = Script { file: "php/sysv.php", interpreter: "php", probe: &["-r", PROBE], package: "php-cli" };
    // As it is it calls libc past the preload, wherever the objects are then.
    php.is_the_same_everywhere(|run| run);
    php.is_the_same_everywhere(|run| run.preload_before(shallow.path()));
}

/// A script of this crate.
struct Script {
    file: &'static str,
    interpreter: &'static str,
    /// Arguments with which the interpreter succeeds if it has the modules that the script wants.
    probe: &'static [&'static str],
    /// Where they can be had.
    package: &'static str,
}

impl Script {
    /// Demands of every world what the bare run prints, and that nothing stays behind.
    fn is_the_same_everywhere(&self, with: impl Fn(Run) -> Run) {
        let interpreter = find_tool(self.interpreter).filter(|path| {
            Command::new(path).args(self.probe).output().is_ok_and(|output| output.status.success())
        });
        let Some(interpreter) = interpreter else {
            return skip(self.file, &format!("{} lacks modules; install {}", self.interpreter, self.package));
        };
        let alone = enter_ipc_namespace();
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(self.file);
        let mut bare = None;
        for workspace in World::ALL.map(Workspace::new) {
            let outcome = with(workspace.run(&interpreter).args([&file])).output();
            assert!(outcome.is_clean() && outcome.stderr.is_empty(), "{}: {outcome}", workspace.world());
            assert_same(self.file, workspace.world(), bare.get_or_insert(outcome.clone()), &outcome);
            if alone || World::ENGINES.contains(&workspace.world()) {
                assert_eq!(workspace.leftovers(), "", "{} in world {}", self.file, workspace.world());
            }
        }
    }
}

/// All tests that sysv_ipc, the Python package, brings along.
#[test]
#[ignore = "third-party: ci/release.sh runs it, under the library that users have"]
fn sysv_ipc_of_python() {
    let installed = match SysvIpc::install() {
        Ok(installed) => installed,
        Err(reason) => return skip("sysv_ipc_of_python", &reason),
    };
    let alone = enter_ipc_namespace();
    let workspaces = World::ALL.map(Workspace::new);
    // They mostly sleep, so all worlds run at once.
    let running = workspaces.each_ref().map(|workspace| {
        let args = ["-m", "unittest", "--verbose"];
        workspace.run(&installed.python).args(args).current_dir(&installed.source).start()
    });
    let [bare, others @ ..] = running.map(|running| without_time(running.output()));
    assert!(bare.status.success() && bare.stderr.contains("\nRan 137 tests"), "{bare}");
    for (world, other) in World::PRELOADED.iter().zip(others) {
        assert_same("sysv_ipc", world, &bare, &other);
    }
    for workspace in
        workspaces.iter().filter(|workspace| alone || World::ENGINES.contains(&workspace.world()))
    {
        assert_eq!(workspace.leftovers(), "", "{}", workspace.world());
    }
}

/// Python says at the end how long it took.
fn without_time(outcome: Outcome) -> Outcome {
    let timeless = |line: &str| match line.split_once(" tests in ") {
        Some((head, _)) => format!("{head} tests\n"),
        None => format!("{line}\n"),
    };
    Outcome { stderr: outcome.stderr.lines().map(timeless).collect(), ..outcome }
}
