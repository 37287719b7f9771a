//! What is to stand in for which mutexes of a program.

use super::choice::Choice;
use super::compiled::Compiled;
use super::kind;
use super::located::Located;
use super::lock_name::LockName;

use super::resolve::Resolver;
use crate::error::Error;
use crate::program::Program;
use std::path::PathBuf;
use unspin_locks::Kind;

/// All that is to be replaced. Of two entries that are about one mutex the first counts; one that is about all counts last,
/// wherever it stands.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Plan {
    /// In the order in which they count.
    pub entries: Vec<Entry>,
    /// What conditions and semaphores do.
    pub waits: Waits,
}

/// One kind of lock, and what it stands in for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// What stands in.
    pub kind: Kind,
    /// For which mutexes.
    pub which: Which,
}

/// Mutexes of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Which {
    /// All that can be replaced.
    All,
    /// Those of a name, which is looked up in the program's files.
    Named {
        /// The name.
        name: LockName,
        /// The one file that is looked into, such as a plugin; none: the program and what it is linked with.
        module: Option<PathBuf>,
    },
    /// Those at known places.
    Located(Located),
}

/// How threads wait for conditions and semaphores.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Waits {
    /// As libc does.
    #[default]
    Asleep,
    /// Awake for as long as that has paid lately, then asleep.
    SpinningFirst,
}

impl Plan {
    /// A plan that replaces every mutex.
    pub fn all(kind: Kind) -> Plan {
        Plan { entries: vec![Entry { kind, which: Which::All }], waits: Waits::Asleep }
    }

    /// The plan of a command line. Two choices for all mutexes, or for locks of one name, contradict each other.
    pub fn chosen(choices: &[Choice], waits: Waits) -> Result<Plan, Error> {
        for (index, choice) in choices.iter().enumerate() {
            if let Some(other) = choices[..index].iter().find(|other| other.lock == choice.lock) {
                let (one, two) = (other.kind, choice.kind);
                return Err(Error::Usage(match &choice.lock {
                    None => {
                        format!("--mutex {one} and --mutex {two} are both for every mutex: leave one out")
                    }
                    Some(lock) => {
                        format!("--mutex {one}@{lock} and {two}@{lock} are for one lock: leave one out")
                    }
                }));
            }
        }
        Ok(Plan { entries: choices.iter().map(Entry::from).collect(), waits })
    }

    /// Adds a lock to those that are replaced. It counts less than what is there.
    pub fn add(&mut self, kind: Kind, lock: Located) {
        self.entries.push(Entry { kind, which: Which::Located(lock) });
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.waits == Waits::Asleep
    }

    /// What the user should know before a program runs under it.
    pub fn warnings(&self) -> Vec<String> {
        let mut kinds: Vec<Kind> = self.entries.iter().map(|entry| entry.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds.into_iter().filter_map(kind::warning).collect()
    }

    /// This plan, and behind it another: where both are about one mutex, this one counts.
    pub fn before(mut self, other: Plan) -> Plan {
        let for_all = |entry: &Entry| entry.which == Which::All;
        let settled = self.entries.iter().any(for_all);
        self.entries.extend(other.entries.into_iter().filter(|entry| !(settled && for_all(entry))));
        if other.waits == Waits::SpinningFirst {
            self.waits = Waits::SpinningFirst;
        }
        self
    }

    /// Finds the places of every name in the program's files, and puts the plan into the form that the preload library
    /// reads.
    pub fn compile(&self, program: &Program) -> Result<Compiled, Error> {
        let resolver = Resolver::new(program);
        resolver.check_reach()?;
        let mut compiled = Compiled::new(self.waits);
        for entry in &self.entries {
            match &entry.which {
                Which::All => compiled.all(entry.kind),
                Which::Located(lock) => compiled.add(entry.kind, &lock.name, &lock.places)?,
                Which::Named { name, module } => {
                    compiled.add(entry.kind, name.as_str(), &resolver.places(name, module.as_deref())?)?;
                }
            }
        }
        Ok(compiled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(choices: &[&str]) -> Result<Plan, String> {
        let choices: Vec<Choice> = choices.iter().map(|choice| choice.parse().unwrap()).collect();
        Plan::chosen(&choices, Waits::Asleep).map_err(|e| e.to_string())
    }

    #[test]
    fn contradictions_are_refused() {
        assert_eq!(
            chosen(&["steal", "mcs@a", "fair"]),
            Err("--mutex steal and --mutex fair are both for every mutex: leave one out".into())
        );
        assert_eq!(
            chosen(&["steal@a", "mcs@a"]),
            Err("--mutex steal@a and mcs@a are for one lock: leave one out".into())
        );
        assert!(chosen(&["steal", "mcs@a", "mcs@b"]).is_ok());
    }

    #[test]
    fn the_command_line_comes_before_the_file() {
        let file = chosen(&["mcs@a", "fair"]).unwrap();
        let kinds = |plan: &Plan| plan.entries.iter().map(|entry| entry.kind).collect::<Vec<_>>();
        let both = chosen(&["steal"]).unwrap().before(file.clone());
        assert_eq!(kinds(&both), [Kind::Steal, Kind::Mcs], "the file's kind for all is overruled");
        let both = chosen(&["steal@b"]).unwrap().before(Plan { waits: Waits::SpinningFirst, ..file });
        assert_eq!(kinds(&both), [Kind::Steal, Kind::Mcs, Kind::Fair]);
        assert_eq!(both.waits, Waits::SpinningFirst);
    }
}
