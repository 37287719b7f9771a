//! The program that a command line names.

pub mod programs_run;
pub mod reach;
pub mod run_queue_program;
pub mod runtime;
pub mod system_code;
pub mod workload;

use crate::command::lab;
use crate::error::Error;
use crate::library::environment::{self, Environment};
use crate::output::shell;
use crate::program::workload::{Workload, WorkloadProgram};
use crate::replace::run_queue::{self, RunQueue};
use nix::unistd::User;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use unspin_sys::creds::Creds;
use unspin_sys::{child, inherited};

/// What `prove` needs, for programs that run until they are stopped.
pub const NEEDS_AN_END: &str = "prove compares whole runs, so it needs a program that ends by itself; for a server give \
                                --server, --ready and --load";

/// A program that can be started.
#[derive(Clone, Debug)]
pub struct Program {
    /// The file.
    pub path: PathBuf,
    /// The program's `argv[0]`.
    pub name: OsString,
    /// The program's arguments.
    pub arguments: Vec<OsString>,
    /// The run queue of its executors; none if they choose it themselves.
    pub run_queue: Option<RunQueue>,
    /// The user that it runs as; none for the user of unspin.
    pub account: Option<Account>,
    /// Variables of our environment that it does not get.
    pub withheld: Vec<OsString>,
}

/// A user that a program runs as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// The user's number.
    pub uid: u32,
    /// The number of the user's group.
    pub gid: u32,
}

impl Account {
    /// The account of a user, by its name. Only root may start programs of other users.
    pub fn of(name: &str) -> Result<Account, Error> {
        let refuse = |why: &str| Err(Error::Usage(format!("--server-user {name}: {why}")));
        let Ok(Some(user)) = User::from_name(name) else { return refuse("there is no such user") };
        let account = Account { uid: user.uid.as_raw(), gid: user.gid.as_raw() };
        let own = Creds::current().uid;
        if own != 0 && own != account.uid {
            return refuse(
                "only root may start a server of another user: leave it out, or run unspin as root",
            );
        }
        Ok(account)
    }
}

impl Program {
    /// Finds the program that a command line names, and checks that the preload library can reach it. The name of a
    /// workload means the workload; a path means another program of the same name.
    pub fn find(command: &[OsString]) -> Result<Program, Error> {
        let program = Program::find_any(command)?;
        if !is_workload(&command[0]) {
            reach::check(&program.path, &Creds::current())?;
        }
        Ok(program)
    }

    /// Finds a program that starts others. The preload library need not reach it, if it reaches those that the
    /// program starts.
    pub fn find_launcher(command: &[OsString]) -> Result<Program, Error> {
        let program = Program::find_any(command)?;
        if !is_workload(&command[0]) {
            reach::check_launcher(&program.path, &Creds::current())?;
        }
        Ok(program)
    }

    /// Finds a program that is run without a measurement. It works without the preload library too.
    pub fn find_runnable(command: &[OsString]) -> Result<Program, Error> {
        let program = Program::find_any(command)?;
        if !is_workload(&command[0]) {
            reach::check_runnable(&program.path, &Creds::current())?;
        }
        Ok(program)
    }

    /// Finds the program, which the preload library need not reach.
    pub fn find_any(command: &[OsString]) -> Result<Program, Error> {
        let (name, arguments) =
            command.split_first().expect("the parser of the command line wants a command");
        if let Some(workload) = Workload::named(name) {
            let path = file_of(workload)?;
            let name = workload.program.name().into();
            return Ok(Program { name, arguments: command.to_vec(), ..Program::at(&path) });
        }
        let path = search(name, std::env::var_os("PATH"))?;
        if !reach::is_executable(&path) {
            let why = if path.is_dir() {
                "is a folder, not a program"
            } else {
                "is not executable (chmod +x makes it so)"
            };
            return Err(Error::CannotRun(format!("{}: {why}", path.display())));
        }
        Ok(Program { name: name.clone(), arguments: arguments.to_vec(), ..Program::at(&path) })
    }

    /// The program in a file, without arguments. Does not check the file.
    pub fn at(file: &Path) -> Program {
        Program {
            path: file.to_path_buf(),
            name: file.as_os_str().to_owned(),
            arguments: Vec::new(),
            run_queue: None,
            account: None,
            withheld: Vec::new(),
        }
    }

    /// The command line that finds it.
    pub fn command_line(&self) -> Vec<OsString> {
        match self.workload() {
            Some(_) => self.arguments.clone(),
            None => [&self.name].into_iter().chain(&self.arguments).cloned().collect(),
        }
    }

    /// The command line, for messages.
    pub fn shown(&self) -> String {
        shell::line(&self.command_line())
    }

    /// A command that starts it. The caller sets the standard descriptors; by [`inheriting`] they are unspin's.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.arg0(&self.name).args(&self.arguments);
        for name in &self.withheld {
            command.env_remove(name);
        }
        if let Some(run_queue) = self.run_queue {
            command.env(run_queue::VARIABLE, run_queue.name());
        }
        if let Some(Account { uid, gid }) = self.account {
            command.uid(uid).gid(gid);
        }
        inherited::hand_on_signals(&mut command);
        child::execute_like_execvp(&mut command);
        command
    }

    /// Becomes the program, with the preload library. Exit code, signals and terminal are then the program's own.
    /// Returns only if that fails.
    pub fn replace_process(&self, environment: &Environment) -> Error {
        let mut command = inheriting(self.command());
        environment.apply(&mut command);
        let error = command.exec();
        Error::not_started(&self.path, &error)
    }

    /// Becomes the program, without the preload library. Returns only if that fails.
    pub fn replace_process_as_it_is(&self) -> Error {
        let mut command = inheriting(self.command());
        environment::clear(&mut command);
        let error = command.exec();
        Error::not_started(&self.path, &error)
    }

    /// The workload, if it is one.
    pub fn workload(&self) -> Option<&'static str> {
        let first = self.arguments.first()?;
        Workload::named(first)
            .filter(|workload| file_of(workload).is_ok_and(|file| file == self.path))
            .map(|workload| workload.name)
    }
}

/// The command with the standard descriptors that unspin got: a descriptor that was closed at unspin's start is closed
/// for the program.
pub fn inheriting(mut command: Command) -> Command {
    inherited::hand_on_descriptors(&mut command);
    command
}

fn is_workload(name: &OsStr) -> bool {
    Workload::named(name).is_some()
}

/// The program that performs a workload.
fn file_of(workload: &Workload) -> Result<PathBuf, Error> {
    match workload.program {
        WorkloadProgram::Unspin => lab::find_unspin(),
        WorkloadProgram::Lab => lab::find(workload.name),
    }
}

/// Searches like execvp(3): a name with a slash is a path, any other name is searched for in `PATH`.
fn search(name: &OsStr, path: Option<OsString>) -> Result<PathBuf, Error> {
    let shown = name.to_string_lossy();
    if name.as_bytes().contains(&b'/') {
        let file = PathBuf::from(name);
        return match fs::metadata(&file) {
            Ok(_) => Ok(file),
            Err(e) if e.kind() == ErrorKind::NotFound => {
                Err(Error::NotFound(format!("{shown}: there is no such program")))
            }
            Err(e) => Err(Error::CannotRun(format!("{shown}: {e}"))),
        };
    }
    let path = path.unwrap_or_else(|| "/bin:/usr/bin".into());
    let files = std::env::split_paths(&path).map(|folder| folder.join(name)).filter(|f| f.is_file());
    let mut unusable = None;
    for file in files {
        if reach::is_executable(&file) {
            return Ok(file);
        }
        unusable.get_or_insert(file);
    }
    match unusable {
        Some(file) => Ok(file), // `reach::check` reports what is wrong with it.
        None => Err(Error::NotFound(format!(
            "{shown}: there is no such program in PATH (a file in this folder is ./{shown})"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    fn file(folder: &Path, name: &str, contents: &[u8], mode: u32) -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, contents).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn program_is_searched_like_execvp() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        file(a.path(), "tool", b"", 0o644);
        let usable = file(b.path(), "tool", b"", 0o755);
        let path = std::env::join_paths([a.path(), b.path()]).unwrap();
        assert_eq!(search("tool".as_ref(), Some(path.clone())).unwrap(), usable);
        let only_a = Some(a.path().as_os_str().to_owned());
        assert_eq!(search("tool".as_ref(), only_a).unwrap(), a.path().join("tool"));
        assert!(matches!(search("nothing".as_ref(), Some(path)), Err(Error::NotFound(_))));
        assert!(matches!(search("/nothing/at/all".as_ref(), None), Err(Error::NotFound(_))));
    }
}
