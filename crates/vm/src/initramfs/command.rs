//! The command line that the guest performs, and the programs of the host that it needs.

use super::closure::in_path;
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use unspin_launch::command::lab;
use unspin_launch::error::Error;
use unspin_launch::program::Program;
use unspin_launch::program::workload::Workload;
use unspin_launch::scheduler::SchedulerCommand;

/// A command line for the guest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GuestCommand {
    /// The program's path.
    pub(crate) program: PathBuf,
    /// Its words, from `argv[0]` on.
    pub(crate) words: Vec<OsString>,
    /// Its working directory, which is that of the host's process.
    pub(crate) folder: PathBuf,
    /// The variables of its environment.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// The scheduler that is loaded for the time of the command. Its first word is the path of its program.
    pub(crate) scheduler: Option<SchedulerCommand>,
    /// The files of the host that it needs, besides their libraries.
    pub(super) programs: Vec<PathBuf>,
    /// Symbolic links, so that `PATH` finds the programs of unspin.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
}

/// The folders in which the guest looks for programs, besides those of the host.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin";

impl GuestCommand {
    /// Finds the programs of a command line: its first word as a shell does, and those that the other words name. So
    /// `sh -c 'a | b'` has `a` and `b`.
    pub fn new(command: &[OsString], scheduler: Option<&SchedulerCommand>) -> Result<GuestCommand, Error> {
        let folder = env::current_dir().map_err(|error| Error::failed("the working directory", &error))?;
        let found = match command.first().and_then(|word| unspin_program(word)) {
            Some(file) => {
                let file = file?;
                Program { arguments: command[1..].to_vec(), ..Program::at(&file) }
            }
            None => scheduler
                .map_or_else(|| Program::find_any(command), |scheduler| scheduler.find_beside(command))?,
        };
        let program = folder.join(&found.path);
        let words: Vec<OsString> = [found.name].into_iter().chain(found.arguments).collect();
        let mut programs = vec![program.clone()];
        programs.extend(in_path("sh"));
        let mut links = Vec::new();
        if command.iter().any(|word| tokens(word).any(is_of_unspin)) {
            for (name, file) in [("unspin", lab::find_unspin()?), ("unspin-lab", lab::find("vm")?)] {
                links.push((Path::new("/usr/bin").join(name), file.clone()));
                programs.push(file);
            }
        }
        programs.extend(command.iter().skip(1).flat_map(|word| named_by(word)));
        let scheduler = scheduler.map(|scheduler| with_path(scheduler, &folder)).transpose()?;
        for word in scheduler.iter().flat_map(|scheduler| &scheduler.words) {
            programs.extend(named_by(word));
        }
        let environment = environment();
        Ok(GuestCommand { program, words, folder, environment, scheduler, programs, links })
    }

    /// The command as the guest reads it: fields that end with a byte 0.
    pub(super) fn encode(&self) -> Vec<u8> {
        // No words are no scheduler.
        let scheduler = self.scheduler.as_ref();
        let line = OsStr::new(scheduler.map_or("", |scheduler| &scheduler.line));
        let of_scheduler = scheduler.map_or(&[][..], |scheduler| &scheduler.words);
        let [variables, its_words] =
            [self.environment.len(), of_scheduler.len()].map(|count| OsString::from(count.to_string()));
        let pairs = self.environment.iter().flat_map(|(name, value)| [name.as_os_str(), value.as_os_str()]);
        let fields = [self.program.as_os_str(), self.folder.as_os_str(), &variables];
        let words = of_scheduler.iter().chain(&self.words).map(OsString::as_os_str);
        let all = fields.into_iter().chain(pairs).chain([line, &its_words]).chain(words);
        all.flat_map(|field| field.as_bytes().iter().copied().chain([0])).collect()
    }

    /// Reads what [`GuestCommand::encode`] has written. The host's fields are empty.
    pub(crate) fn decode(bytes: &[u8]) -> Option<GuestCommand> {
        let mut fields = bytes
            .strip_suffix(&[0])?
            .split(|&byte| byte == 0)
            .map(|field| OsString::from_vec(field.to_vec()));
        let (program, folder) = (fields.next()?.into(), fields.next()?.into());
        let count: usize = fields.next()?.to_str()?.parse().ok()?;
        let environment =
            (0..count).map(|_| Some((fields.next()?, fields.next()?))).collect::<Option<_>>()?;
        let line = fields.next()?.into_string().ok()?;
        let count: usize = fields.next()?.to_str()?.parse().ok()?;
        let of_scheduler = (0..count).map(|_| fields.next()).collect::<Option<Vec<_>>>()?;
        let scheduler = (count > 0).then_some(SchedulerCommand { line, words: of_scheduler });
        let (words, programs, links) = (fields.collect(), Vec::new(), Vec::new());
        Some(GuestCommand { program, words, folder, environment, scheduler, programs, links })
    }
}

/// The scheduler with the path of its program, since the guest's first process has no `PATH`.
fn with_path(scheduler: &SchedulerCommand, folder: &Path) -> Result<SchedulerCommand, Error> {
    let mut words = scheduler.words.clone();
    words[0] = folder.join(scheduler.find()?.path).into();
    Ok(SchedulerCommand { line: scheduler.line.clone(), words })
}

/// The file of `unspin` or `unspin-lab`, if the word names one of them. They need not be in `PATH`.
fn unspin_program(word: &OsStr) -> Option<Result<PathBuf, Error>> {
    match word.to_str()? {
        "unspin" => Some(lab::find_unspin()),
        "unspin-lab" => Some(lab::find("vm")),
        _ => None,
    }
}

fn is_of_unspin(token: &str) -> bool {
    matches!(token, "unspin" | "unspin-lab") || Workload::named(token).is_some()
}

/// The parts of a word that could be names of programs: `a` and `/bin/b` of `x=1; a|/bin/b`.
fn tokens(word: &OsStr) -> impl Iterator<Item = &str> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "_./+-@".contains(c);
    let text = word.to_str().unwrap_or_default();
    text.split(move |c| !is_of_name(c)).filter(|token| !token.is_empty() && !token.starts_with('-'))
}

/// The files that a word names: the word itself if it is the path of a file, and the programs that its parts name.
fn named_by(word: &OsStr) -> Vec<PathBuf> {
    let whole = Path::new(word).is_file().then(|| PathBuf::from(word));
    let programs = tokens(word).filter_map(|token| match token.contains('/') {
        true => Some(PathBuf::from(token)).filter(|file| unspin_launch::program::reach::is_executable(file)),
        false => in_path(token),
    });
    whole.into_iter().chain(programs).collect()
}

/// The environment of the guest's command: little of the host's, as in a new login.
fn environment() -> Vec<(OsString, OsString)> {
    let of_host = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&of_host).filter(|folder| folder.is_absolute());
    let folders: Vec<PathBuf> = folders.chain(env::split_paths(PATH)).collect();
    let path = env::join_paths(folders).unwrap_or_else(|_| PATH.into());
    let mut variables: Vec<(OsString, OsString)> =
        vec![("PATH".into(), path), ("HOME".into(), "/root".into()), ("USER".into(), "root".into())];
    // The dynamic linker has found the libraries by it.
    variables.extend(env::var_os("LD_LIBRARY_PATH").map(|value| ("LD_LIBRARY_PATH".into(), value)));
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn command_is_read_as_it_was_written() {
        let mut command = GuestCommand::new(&words(&["sh", "-c", "exit 7", ""]), None).unwrap();
        let read = GuestCommand::decode(&command.encode()).unwrap();
        command.programs.clear();
        assert_eq!(read, command);
        assert_eq!(read.words, words(&["sh", "-c", "exit 7", ""]));
        assert_eq!(GuestCommand::decode(b"/bin/sh\0/\x002\0PATH\0"), None);
        let scheduler = SchedulerCommand::parse("sh -c 'exec sort'").unwrap();
        let mut command = GuestCommand::new(&words(&["true"]), Some(&scheduler)).unwrap();
        assert!(command.programs.contains(&in_path("sort").unwrap()), "the words of the scheduler name it");
        command.programs.clear();
        assert_eq!(GuestCommand::decode(&command.encode()).unwrap(), command);
        assert_eq!(command.scheduler.unwrap().words[0], in_path("sh").unwrap());
    }

    #[test]
    fn words_of_a_shells_text_name_programs() {
        let command =
            GuestCommand::new(&words(&["sh", "-c", "x=$(nproc);/usr/bin/env|sort", "/etc/passwd"]), None)
                .unwrap();
        for program in
            [in_path("sh").unwrap(), in_path("nproc").unwrap(), "/usr/bin/env".into(), "/etc/passwd".into()]
        {
            assert!(command.programs.contains(&program), "{}", program.display());
        }
        assert!(command.links.is_empty(), "it does not name unspin");
    }

    #[test]
    fn program_that_is_not_there_is_refused() {
        let refused = GuestCommand::new(&words(&["no-such-program"]), None).unwrap_err();
        assert_eq!(refused.code(), 127);
        let refused = GuestCommand::new(&words(&["/etc/passwd"]), None).unwrap_err();
        assert_eq!(refused.code(), 126);
    }
}
