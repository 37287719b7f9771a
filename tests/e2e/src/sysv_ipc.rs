//! sysv_ipc, the Python package, from its source distribution, since that has its tests.

use crate::{find_tool, target_directory};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version whose tests are run.
const VERSION: &str = "1.2.0";

/// The package, installed.
#[derive(Debug)]
pub struct SysvIpc {
    /// The interpreter of the virtual environment that the package is in.
    pub python: PathBuf,
    /// Where its source lies, with the tests.
    pub source: PathBuf,
}

impl SysvIpc {
    /// Installs the package into a virtual environment in the target directory, unless it is there from last time.
    ///
    /// # Errors
    /// Why that is not possible here.
    pub fn install() -> Result<SysvIpc, String> {
        let python = find_tool("python3").ok_or("there is no python3")?;
        let version = output(Command::new(&python).arg("--version"))?;
        let name = format!("sysv_ipc-{VERSION}-{}", version.trim().replace(' ', "-"));
        let home = target_directory().join("e2e").join(name);
        fs::create_dir_all(&home).map_err(|e| format!("{}: {e}", home.display()))?;
        // Tests of several programs may want it at once.
        let lock = File::create(home.join("lock")).and_then(|file| file.lock().map(|()| file));
        let _lock = lock.map_err(|e| format!("{}: {e}", home.display()))?;
        let installed = SysvIpc {
            python: home.join("venv/bin/python"),
            source: home.join(format!("sysv_ipc-{VERSION}")),
        };
        let complete = home.join("complete");
        if !complete.exists() {
            installed.build(&python, &home)?;
            fs::write(&complete, "").map_err(|e| format!("{}: {e}", complete.display()))?;
        }
        Ok(installed)
    }

    fn build(&self, python: &Path, home: &Path) -> Result<(), String> {
        let run = |program: &Path, args: &[&str]| output(Command::new(program).args(args).current_dir(home));
        run(python, &["-m", "venv", "--clear", "venv"])
            .map_err(|e| format!("no virtual environment for Python: {e}; install python3-venv"))?;
        let package = format!("sysv_ipc=={VERSION}");
        run(
            &self.python,
            &["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", &package],
        )
        .map_err(|e| format!("sysv_ipc cannot be downloaded: {e}"))?;
        run(Path::new("tar"), &["xf", &format!("sysv_ipc-{VERSION}.tar.gz")])
            .map_err(|e| format!("sysv_ipc cannot be unpacked: {e}"))?;
        run(&self.python, &["-m", "pip", "install", "--quiet", &format!("./sysv_ipc-{VERSION}")])
            .map_err(|e| format!("sysv_ipc does not build: {e}; install a C compiler and python3-dev"))?;
        Ok(())
    }
}

/// What a command prints, or the last line of its complaint.
fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| e.to_string())?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    if output.status.success() {
        return Ok(text(output.stdout));
    }
    Err(text(output.stderr).lines().last().unwrap_or("no reason given").to_owned())
}
