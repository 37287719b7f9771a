//! What the benchmark needs besides itself: the `unspin` binary, its preload library, a C program for liburcu, mutrace.

use crate::test_user::TestUser;
use crate::waits::Kit;
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Built, found, or missing.
#[derive(Debug)]
pub struct Tools {
    /// The `unspin` binary.
    pub unspin: PathBuf,
    /// What it says that it was built from.
    pub version: String,
    /// The library that this binary preloads.
    pub preload: PathBuf,
    /// mutrace's library, or why there is none.
    pub mutrace: Result<PathBuf, String>,
    /// The liburcu program, or why there is none.
    pub liburcu: Result<PathBuf, String>,
    /// `handoff.c`, or why it is missing.
    pub handoff: Result<PathBuf, String>,
    /// The user for programs that refuse to run as root.
    pub test_user: TestUser,
    /// Whether this `unspin` has a `run --waits` that works, or why not.
    pub waits: Result<(), String>,
    /// The programs that live on waits.
    kit: OnceCell<Result<Kit, String>>,
    /// Holds the arenas, and is removed with all that is in it.
    scratch: tempfile::TempDir,
}

impl Tools {
    /// Builds everything but what is built already. Cargo does nothing where nothing has changed.
    pub fn prepare(unspin: Option<&Path>, mutrace: Option<&Path>) -> Result<Tools, String> {
        let scratch = scratch().map_err(|e| format!("no scratch folder: {e}"))?;
        let unspin = match unspin {
            Some(path) => {
                std::fs::canonicalize(path).map_err(|e| format!("--unspin {}: {e}", path.display()))?
            }
            None => build_unspin()?,
        };
        let version = output(Command::new(&unspin).arg("--version"))?;
        let preload = preload_of(&unspin)?;
        let mutrace = find_mutrace(mutrace)?;
        let folder = scratch.path();
        let liburcu =
            build_c("urcu_memb", &["-lurcu-memb", "-lurcu-common"], folder, "liburcu-dev is not installed");
        let handoff = build_c("handoff", &[], folder, "the C compiler refuses handoff.c");
        let test_user = TestUser::new().map_err(|e| format!("no folder for another user: {e}"))?;
        let waits = probe_waits(&unspin);
        let kit = OnceCell::new();
        Ok(Tools { test_user, unspin, version, preload, mutrace, liburcu, handoff, waits, kit, scratch })
    }

    /// An empty folder. The contents of the previous one are removed.
    pub fn fresh_folder(&self) -> Result<PathBuf, String> {
        let folder = self.scratch.path().join("folder");
        let made = match std::fs::remove_dir_all(&folder) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e),
            _ => std::fs::create_dir(&folder),
        };
        made.map(|()| folder.clone()).map_err(|e| format!("{}: {e}", folder.display()))
    }

    /// The programs that live on waits, compiled once.
    pub fn kit(&self) -> Result<&Kit, String> {
        self.kit.get_or_init(|| Kit::make(&self.kit_folder())).as_ref().map_err(String::clone)
    }

    /// Where they are, or will be.
    pub fn kit_folder(&self) -> PathBuf {
        self.scratch().join("kit")
    }

    /// The folder for temporary files, including arenas.
    pub fn scratch(&self) -> &Path {
        self.scratch.path()
    }
}

/// In memory, as the arena is by default.
pub fn scratch() -> std::io::Result<tempfile::TempDir> {
    let prefixed = || tempfile::Builder::new().prefix("unspin-bench-").to_owned();
    prefixed().tempdir_in("/dev/shm").or_else(|_| prefixed().tempdir())
}

fn build_unspin() -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.parent()?.to_path_buf()));
    let target = target.ok_or("the place of this program is unknown")?;
    eprintln!("unspin-bench: building unspin");
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--release", "--package", "unspin-cli", "--target-dir"])
        .arg(&target)
        .current_dir(&workspace)
        .status()
        .map_err(|e| format!("cargo cannot be started: {e}"))?;
    match status.success() {
        true => Ok(target.join("release/unspin")),
        false => Err("unspin does not build: see above".into()),
    }
}

/// What `unspin run` preloads: asked of a program that it runs.
fn preload_of(unspin: &Path) -> Result<PathBuf, String> {
    let this = std::env::current_exe().map_err(|e| format!("the place of this program: {e}"))?;
    let mut command = Command::new(unspin);
    command.args(["run", "--sysv", "kernel", "--"]).arg(this).args(["inner", "preloaded"]);
    let library = PathBuf::from(output(command.env_remove("LD_PRELOAD"))?);
    match library.is_file() {
        true => Ok(library),
        false => Err("unspin run has preloaded no library".into()),
    }
}

/// Asked of a program that waits, which is this one: others are refused.
fn probe_waits(unspin: &Path) -> Result<(), String> {
    let this = std::env::current_exe().map_err(|e| format!("the place of this program: {e}"))?;
    let mut command = Command::new(unspin);
    command.args(["run", "--waits", "system", "--"]).arg(this).args(["inner", "preloaded"]);
    output(&mut command).map(drop).map_err(|e| format!("run --waits cannot be used: {e}"))
}

/// A named library that does not exist is an error. Without a name the row is left out.
fn find_mutrace(path: Option<&Path>) -> Result<Result<PathBuf, String>, String> {
    let Some(path) = path else { return Ok(Err("give --mutrace PATH, of a libmutrace.so".into())) };
    match std::fs::canonicalize(path) {
        Ok(path) if path.is_file() => Ok(Ok(path)),
        Ok(_) => Err(format!("--mutrace {}: is no file; name the library libmutrace.so", path.display())),
        Err(e) => Err(format!("--mutrace {}: {e}", path.display())),
    }
}

/// Compiles `c/NAME.c`. Returns `refused` if the compiler fails.
fn build_c(name: &str, libraries: &[&str], folder: &Path, refused: &str) -> Result<PathBuf, String> {
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let program = folder.join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("c").join(name).with_extension("c");
    let mut command = Command::new(compiler);
    command.arg("-O2").arg(source).arg("-o").arg(&program).args(libraries);
    match command.output() {
        Ok(output) if output.status.success() => Ok(program),
        Ok(_) => Err(refused.into()),
        Err(_) => Err("there is no C compiler: install gcc or set CC".into()),
    }
}

/// What a command prints; or its first line of complaint.
pub fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| format!("{name}: {e}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let first = complaint.lines().find(|line| !line.trim().is_empty()).unwrap_or("no reason given");
    Err(format!("{name} ({}): {first}", output.status))
}
