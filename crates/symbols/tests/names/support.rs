//! Builds programs, runs them, and parses what they report.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use unspin_e2e::skip;
use unspin_symbols::{AddressSpace, Frame, StackCopy, Symbols, Variable};

/// How to build a program.
pub struct Build {
    source: &'static str,
    flags: Vec<String>,
}

/// A program that has run, and what it reported.
pub struct Program {
    pub path: PathBuf,
    pub space: AddressSpace,
    /// The text of the space: as in a recording, only lines that have a name.
    pub maps: String,
    addresses: HashMap<String, u64>,
    stacks: HashMap<String, Copied>,
    truths: HashMap<String, Vec<u64>>,
    /// Holds the program's file.
    _folder: tempfile::TempDir,
}

struct Copied {
    registers: [u64; 3],
    bytes: Vec<u8>,
}

/// Whether a command can be started; if not, the test prints what to install.
pub fn has_tool(test: &str, tool: &str, package: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        skip(test, &format!("no {tool}: install {package}"));
    }
    found
}

/// The number of the source line that is marked `line: NAME`.
pub fn line_of(source: &str, name: &str) -> u32 {
    let text = std::fs::read_to_string(source_path(source)).unwrap();
    let mark = format!("line: {name} ");
    let index = text.lines().position(|line| format!("{line} ").contains(&mark)).unwrap();
    index as u32 + 1
}

/// The path of a test program's source.
pub fn source_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name)
}

/// Runs a tool that must succeed.
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{errors}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

impl Build {
    /// From a file in `tests/programs`.
    pub fn new(source: &'static str) -> Build {
        Build { source, flags: Vec::new() }
    }

    /// Adds compiler arguments.
    pub fn flags<S: AsRef<str>>(mut self, flags: &[S]) -> Build {
        self.flags.extend(flags.iter().map(|flag| flag.as_ref().to_owned()));
        self
    }

    /// Compiles to a file with this name, in its own folder. Without a compiler it says so and returns
    /// `None`.
    pub fn compile_as(self, name: &str) -> Option<(tempfile::TempDir, PathBuf)> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let mut options = vec!["-pthread".to_owned()];
        options.extend(self.flags);
        unspin_e2e::compile(&source_path(self.source), &options, &path).then_some((folder, path))
    }

    /// Compiles and runs.
    pub fn run(self) -> Option<Program> {
        let (folder, path) = self.compile_as("program")?;
        Some(Program::run(folder, path))
    }
}

impl Program {
    /// Runs the built program to its end.
    pub fn run(folder: tempfile::TempDir, path: PathBuf) -> Program {
        let told = run(&mut Command::new(&path));
        let (told, maps) = told.split_once("maps\n").unwrap();
        let mut addresses = HashMap::new();
        let mut stacks = HashMap::new();
        let mut truths = HashMap::new();
        for line in told.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["address", name, address] => {
                    addresses.insert(name.to_owned(), number(address));
                }
                ["stack", name, ip, sp, bp, bytes] => {
                    let bytes = (0..bytes.len() / 2)
                        .map(|i| u8::from_str_radix(&bytes[2 * i..2 * i + 2], 16).unwrap());
                    let copied = Copied { registers: [ip, sp, bp].map(number), bytes: bytes.collect() };
                    stacks.insert(name.to_owned(), copied);
                }
                ["truth", name, ..] => {
                    truths.insert(name.to_owned(), words[2..].iter().copied().map(number).collect());
                }
                _ => panic!("{line}"),
            }
        }
        let maps: String =
            maps.lines().filter(|line| line.contains(['/', '['])).flat_map(|l| [l, "\n"]).collect();
        Program {
            path,
            space: AddressSpace::parse(maps.as_bytes()),
            maps,
            addresses,
            stacks,
            truths,
            _folder: folder,
        }
    }

    /// The address that the program reported under a name.
    pub fn address(&self, name: &str) -> u64 {
        self.addresses[name]
    }

    /// All addresses that it reported, and the addresses of its stacks that lie in its own file.
    pub fn told(&self) -> impl Iterator<Item = u64> {
        let own =
            |address: &u64| self.space.module_of(*address).is_some_and(|module| module.path == self.path);
        let chains = self.truths.values().flatten().copied().filter(own);
        self.addresses.values().copied().chain(chains)
    }

    /// The variable at an address.
    pub fn variable(&self, symbols: &Symbols, address: u64) -> Option<Variable> {
        symbols.variable(&self.space, address)
    }

    /// The return addresses of a stack, which must equal those that the program found itself, as far as the copy
    /// reaches.
    pub fn unwind(&self, symbols: &Symbols, name: &str) -> Vec<u64> {
        let Copied { registers: [ip, sp, bp], bytes } = &self.stacks[name];
        let chain = symbols.unwind(&self.space, &StackCopy { ip: *ip, sp: *sp, bp: *bp, bytes });
        assert!(self.truths[name].starts_with(&chain), "{chain:x?} {:x?}", self.truths[name]);
        chain
    }

    /// All frames of a stack.
    pub fn frames(&self, symbols: &Symbols, name: &str) -> Vec<Frame> {
        self.unwind(symbols, name)
            .into_iter()
            .flat_map(|address| symbols.code(&self.space, address))
            .collect()
    }

    /// The short names of all frames of a stack.
    pub fn chain(&self, symbols: &Symbols, name: &str) -> Vec<String> {
        self.frames(symbols, name).into_iter().map(|frame| frame.short).collect()
    }

    /// The name of the program's file.
    pub fn file_name(&self) -> &str {
        self.path.file_name().unwrap().to_str().unwrap()
    }
}

fn number(digits: &str) -> u64 {
    u64::from_str_radix(digits.trim_start_matches("0x"), 16).unwrap()
}
