//! Programs that others wrote.

use std::path::{Path, PathBuf};
use std::process::Command;
use unspin_e2e::{Run, World, assert_same, build_library, find_tool, scratch, skip};

#[test]
fn python_starts_and_handles_signals() {
    let Some(python) = find_tool("python3") else {
        return skip("python_starts_and_handles_signals", "there is no python3");
    };
    let script = "
import faulthandler, os, signal, subprocess, threading
seen = []
print(signal.signal(signal.SIGALRM, lambda s, f: seen.append(s)))
print(signal.getsignal(signal.SIGALRM) is not None, signal.siginterrupt(signal.SIGALRM, False))
signal.setitimer(signal.ITIMER_REAL, 0.01)
signal.pause()
print(seen)
faulthandler.enable()
for command in ('kill -SEGV $$', 'exit 3', 'kill -TERM $$'):
    print(subprocess.run(['sh', '-c', command]).returncode)
child = os.fork()
if child == 0:
    os._exit(7)
print(os.waitpid(child, 0)[1])
t = threading.Thread(target=lambda: os.kill(os.getpid(), signal.SIGALRM))
t.start(); t.join()
print(len(seen))
";
    let run = |world| Run::new(&python, world).args(["-c", script]).output();
    let bare = run(World::Bare);
    assert!(bare.status.success(), "{bare}");
    for world in World::PRELOADED {
        assert_same("python3", world, &bare, &run(world));
    }
}

#[test]
fn java_starts() {
    let Some(java) = find_tool("java") else { return skip("java_starts", "there is no java") };
    let run = |world| Run::new(&java, world).args(["-version"]).output();
    let bare = run(World::Bare);
    assert!(bare.status.success(), "{bare}");
    for world in World::PRELOADED {
        assert_same("java", world, &bare, &run(world));
    }
}

/// ipcmk and ipcrm find each other's sets: an arena outlives the programs that use it.
#[test]
fn ipcmk_and_ipcrm() {
    let (Some(ipcmk), Some(ipcrm)) = (find_tool("ipcmk"), find_tool("ipcrm")) else {
        return skip("ipcmk_and_ipcrm", "there is no ipcmk; install util-linux");
    };
    let directory = scratch();
    for world in World::PRELOADED {
        let arena = directory.path().join(world.to_string());
        let run = |tool: &PathBuf, args: [&str; 2]| {
            Run::new(tool, world).env("UNSPIN_ARENA", &arena).args(args).output()
        };
        let made = run(&ipcmk, ["--semaphore", "3"]);
        let id = made.stdout.trim().strip_prefix("Semaphore id: ").unwrap_or_else(|| panic!("{made}"));
        let removed = run(&ipcrm, ["--semaphore-id", id]);
        assert!(removed.status.success() && removed.stderr.is_empty(), "{removed}");
        let again = run(&ipcrm, ["--semaphore-id", id]);
        assert!(!again.status.success(), "removed twice: {again}");
    }
}

#[test]
fn stress_ng() {
    let Some(tool) = find_tool("stress-ng") else {
        return skip("stress_ng", "there is no stress-ng; install it");
    };
    let Some(without_undo) = build_library("without_undo") else { return };
    for world in World::PRELOADED {
        // Without SEM_UNDO a worker that is stopped with the token in hand leaves the others waiting, on the kernel too
        // (seen once): the timeout ends such a run, which has been verified up to then.
        let args = ["--sem-sysv", "2", "--sem-sysv-ops", "4000", "--verify", "--timeout", "60"];
        let outcome = Run::new(&tool, world).args(args).preload_before(without_undo.path()).output();
        assert!(outcome.status.success(), "engine {world}: {outcome}");
        for bad in ["fail:", "error:", "unspin:"] {
            assert!(!outcome.stdout.contains(bad) && !outcome.stderr.contains(bad), "{world}: {outcome}");
        }
    }
}

/// The tests that sysv_ipc, the Python package, brings along for its semaphores.
#[test]
fn sysv_ipc_of_python() {
    let Some(python) = find_tool("python3") else {
        return skip("sysv_ipc_of_python", "there is no python3");
    };
    let directory = scratch();
    let source = match install_sysv_ipc(&python, directory.path()) {
        Ok(source) => source,
        Err(reason) => return skip("sysv_ipc_of_python", &reason),
    };
    let python = directory.path().join("venv/bin/python");
    for world in World::PRELOADED {
        let args = ["-m", "unittest", "-v", "tests.test_semaphores"];
        let outcome = Run::new(&python, world).args(args).current_dir(&source).output();
        assert!(outcome.status.success(), "engine {world}: {outcome}");
        assert!(outcome.stderr.contains("\nRan ") && outcome.stderr.ends_with("OK\n"), "{world}: {outcome}");
    }
}

/// Installs the package from its source distribution into a virtual environment below `directory`, and answers where
/// the source lies; or why that is not possible here.
fn install_sysv_ipc(python: &Path, directory: &Path) -> Result<PathBuf, String> {
    let run = |program: &Path, args: &[&str]| match Command::new(program)
        .args(args)
        .current_dir(directory)
        .output()
    {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(stderr.lines().last().unwrap_or("no reason given").to_owned())
        }
        Err(e) => Err(e.to_string()),
    };
    run(python, &["-m", "venv", "venv"]).map_err(|e| format!("no virtual environment for Python: {e}"))?;
    let python = directory.join("venv/bin/python");
    let download =
        ["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "sysv_ipc==1.2.0"];
    run(&python, &download).map_err(|e| format!("sysv_ipc cannot be downloaded: {e}"))?;
    run(Path::new("tar"), &["xf", "sysv_ipc-1.2.0.tar.gz"])
        .map_err(|e| format!("it cannot be unpacked: {e}"))?;
    run(&python, &["-m", "pip", "install", "--quiet", "./sysv_ipc-1.2.0"])
        .map_err(|e| format!("sysv_ipc does not build, for want of Python's headers perhaps: {e}"))?;
    Ok(directory.join("sysv_ipc-1.2.0"))
}
