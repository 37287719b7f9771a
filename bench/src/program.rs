//! Real, lock-heavy programs, as Debian packages them.

use clap::ValueEnum;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A program, and how much it is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    /// Which.
    pub which: ProgramName,
    /// The program's operations, in thousands.
    pub thousands: u32,
}

/// The programs.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProgramName {
    /// Kyoto Cabinet's test of its in-memory cache: four threads that do everything to one database.
    Wicked,
    /// RocksDB's benchmark: four threads that write, then read, one database.
    DbBench,
}

impl ProgramName {
    /// The command's name.
    fn name(self) -> &'static str {
        match self {
            ProgramName::Wicked => "kccachetest",
            ProgramName::DbBench => "db_bench",
        }
    }

    fn package(self) -> &'static str {
        match self {
            ProgramName::Wicked => "kyotocabinet-utils",
            ProgramName::DbBench => "rocksdb-tools",
        }
    }

    /// Why it cannot be run here.
    pub fn missing(self) -> Option<String> {
        let found = find(self.name()).is_some();
        (!found).then(|| format!("{} is not installed: apt-get install {}", self.name(), self.package()))
    }
}

impl Program {
    /// Of a run's figures: seconds of wall time.
    pub const WALL: usize = 0;
    /// Seconds of CPU time.
    pub const CPU: usize = 1;

    /// The command line. What the program stores goes below `folder`.
    pub fn words(&self, folder: &Path) -> Vec<OsString> {
        let operations = (u64::from(self.thousands) * 1000).to_string();
        let mut words: Vec<OsString> = vec![self.which.name().into()];
        match self.which {
            ProgramName::Wicked => words.extend(["wicked", "-th", "4", &operations].map(OsString::from)),
            ProgramName::DbBench => {
                let mut database = OsString::from("--db=");
                database.push(folder.join("db_bench"));
                words.push(database);
                words.push(format!("--num={operations}").into());
                words.extend(
                    [
                        "--benchmarks=fillrandom,readrandom",
                        "--threads=4",
                        "--seed=1",
                        "--compression_type=none",
                    ]
                    .map(OsString::from),
                );
            }
        }
        words
    }

    /// What makes it do the same each time.
    pub fn environment(&self) -> &'static [(&'static str, &'static str)] {
        match self.which {
            ProgramName::Wicked => &[("KCRNDSEED", "1")],
            ProgramName::DbBench => &[],
        }
    }
}

/// A command of the search path.
pub fn find(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|dir| dir.join(name)).find(|path| path.is_file())
}
