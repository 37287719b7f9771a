//! What the programs need: sources written out, C and Java compiled, a text to compress, a tree to build.

use crate::tools::output;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The scripts, as they are.
const SCRIPTS: [(&str, &str); 6] = [
    ("messages.js", include_str!("../../waits/messages.js")),
    ("idle.js", include_str!("../../waits/idle.js")),
    ("queues.py", include_str!("../../waits/queues.py")),
    ("memcached.py", include_str!("../../waits/memcached.py")),
    ("queues.rb", include_str!("../../waits/queues.rb")),
    ("Queues.java", include_str!("../../waits/Queues.java")),
];
/// C programs and libraries: output file, source in the workspace, additional flags.
const COMPILED: [(&str, &str, &[&str]); 3] = [
    ("waits", "bench/c/waits.c", &[]),
    ("crowded", "tests/e2e/c/waits/crowded.c", &[]),
    ("libblind.so", "tests/e2e/c/waits/blind.c", &["-shared", "-fPIC"]),
];
/// Plans, as `UNSPIN_PLAN` names them, with the wake-up of a virtual machine: file and contents.
const PLANS: [(&str, &str); 2] = [
    (FORCED, "unspin plan 2\nwakeup\t50000\nwaits\tpoll\nforce\tpolls\n"),
    (READY, "unspin plan 2\nwakeup\t50000\nsystem\tall\nwaits\tpoll\nforce\tready\n"),
];
const FORCED: &str = "forced-plan";
const READY: &str = "ready-plan";
/// Files of the tree that is built, and functions in each: some tenths of a second for one CPU.
const SOURCES: u32 = 12;
const FUNCTIONS: u32 = 150;
/// Lines of the text that is compressed: 16 MB.
const LINES: u32 = 400_000;

/// A folder with all of it.
#[derive(Debug)]
pub struct Kit {
    folder: PathBuf,
    blind: PathBuf,
}

impl Kit {
    /// Makes it.
    pub fn make(folder: &Path) -> Result<Kit, String> {
        let write = |name: &str, text: &str| {
            std::fs::write(folder.join(name), text).map_err(|e| format!("{name}: {e}"))
        };
        std::fs::create_dir_all(folder.join("sources")).map_err(|e| format!("{}: {e}", folder.display()))?;
        for (name, text) in SCRIPTS.into_iter().chain(PLANS) {
            write(name, text)?;
        }
        write("text", &text())?;
        for i in 0..SOURCES {
            write(&format!("sources/{i}.c"), &source(i))?;
        }
        write("sources/Makefile", &makefile())?;
        compile(folder)?;
        Ok(Kit { folder: folder.to_owned(), blind: folder.join("libblind.so") })
    }

    /// A program.
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The planted policy.
    pub fn blind(&self) -> &Path {
        &self.blind
    }

    /// The plan with which every wait polls.
    pub fn forced_plan(&self) -> PathBuf {
        self.folder.join(FORCED)
    }

    /// The plan with which waits poll where that pays, but every timed call counts as ready.
    pub fn ready_plan(&self) -> PathBuf {
        self.folder.join(READY)
    }
}

/// A missing compiler is not an error here: the rows that need it are skipped.
fn compile(folder: &Path) -> Result<(), String> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    if crate::program::find("cc").is_some() {
        for (name, source, flags) in COMPILED {
            let mut command = Command::new("cc");
            command.args(["-O2", "-pthread"]).args(flags).arg(workspace.join(source));
            output(command.arg("-o").arg(folder.join(name)).arg("-ldl"))?;
        }
    }
    if crate::program::find("javac").is_some() {
        output(Command::new("javac").arg("-d").arg(folder).arg(folder.join("Queues.java")))?;
    }
    Ok(())
}

/// Text that can be compressed, but not to nothing: numbers of a linear congruential generator (Numerical Recipes' ranqd1).
fn text() -> String {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state
    };
    (0..LINES).map(|line| format!("line {line} holds {} and {}\n", next() >> 8, next() >> 20)).collect()
}

fn source(number: u32) -> String {
    let function = |i: u32| {
        format!(
            "int f{number}_{i}(int a, int b) {{\n  for (int k = 0; k < b; k++)\n    a += k * {i} ^ (a >> {});\n  \
             return a;\n}}\n",
            i % 7 + 1
        )
    };
    (0..FUNCTIONS).map(function).collect()
}

fn makefile() -> String {
    let objects: String = (0..SOURCES).map(|i| format!(" {i}.o")).collect();
    format!("all:{objects}\n%.o: %.c\n\t@$(CC) -O2 -c -o $@ $<\nclean:\n\t@rm -f *.o\n.PHONY: all clean\n")
}
