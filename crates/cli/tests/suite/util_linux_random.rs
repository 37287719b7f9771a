//! Random command lines for util-linux's ipcs, ipcrm and ipcmk, on the kernel and under `unspin run`, each in a new IPC
//! namespace: output, exit code, whether a line is printed on standard error, and the objects that exist afterwards.

use crate::common::compiled;
use crate::common::util_linux::{is_possible, namespace};
use regex::{Captures, Regex};
use std::fmt::Write;
use std::path::Path;
use unspin_sysv::Kind;

/// Keys as util-linux reads them, decimal, octal and hexadecimal; and as it shows them, without leading zeroes.
const KEYS: [(&str, &str); 6] = [
    ("1", "0x1"),
    ("010", "0x8"),
    ("0X5EED", "0x5eed"),
    ("2147483647", "0x7fffffff"),
    ("020000000000", "0x80000000"),
    ("4294967295", "0xffffffff"),
];

/// Command lines from a seed.
struct Lines(u64);

impl Lines {
    /// xorshift64*, Vigna 2016.
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n
    }

    fn one<'w>(&mut self, words: &[&'w str]) -> &'w str {
        words[self.below(words.len())]
    }

    /// Up to `most` of the words.
    fn some(&mut self, most: usize, words: &[&str]) -> String {
        (0..self.below(most + 1)).map(|_| self.one(words).to_owned() + " ").collect()
    }

    fn key(&mut self) -> &'static str {
        let (one, other) = KEYS[self.below(KEYS.len())];
        self.one(&[one, other])
    }

    fn id(&mut self) -> String {
        match self.below(6) {
            // Sequence numbers are multiples of 32768.
            0 => (32768 * (1 + self.below(2)) + self.below(3)).to_string(),
            1 => self
                .one(&["x", "''", "1x", "+1", "' 1'", "'1 '", "0x1", "01", "99999999999", "2147483648"])
                .into(),
            _ => self.below(9).to_string(),
        }
    }

    fn line(&mut self) -> String {
        match self.below(12) {
            0 => "keyed".into(),
            1..3 => format!("ipcmk {}", self.ipcmk()),
            3..6 => format!("ipcrm {}", self.ipcrm()),
            _ => format!("ipcs {}", self.ipcs()),
        }
    }

    fn ipcs(&mut self) -> String {
        const RESOURCES: [&str; 13] = [
            "-m",
            "-q",
            "-s",
            "-a",
            "-ms",
            "-qs",
            "-mqs",
            "--shmems",
            "--queues",
            "--semaphores",
            "--all",
            "--sh",
            "--q",
        ];
        const VIEWS: [&str; 16] = [
            "-t",
            "-p",
            "-c",
            "-l",
            "-u",
            "-tc",
            "-pb",
            "-lb",
            "-ub",
            "--time",
            "--pid",
            "--creator",
            "--limits",
            "--summary",
            "--l",
            "--su",
        ];
        const UNITS: [&str; 5] = ["--human", "-b", "--bytes", "--hu", "--by"];
        const WRONG: [&str; 6] = ["-x", "--frob", "--s", "--human=1", "-i", "--id"];
        let mut parts = [self.some(2, &RESOURCES), self.some(2, &VIEWS), self.some(1, &UNITS)];
        if self.below(3) == 0 {
            let id = self.id();
            let form = self.one(&["-i ", "-i", "--id ", "--id="]);
            // An id that is the rest of a word cannot be empty.
            let form = if id == "''" { "-i " } else { form };
            parts[0] = format!("{} {form}{id} ", self.one(&["-m", "-q", "-s", "-s", "-ms", ""]));
        }
        let turn = self.below(3);
        parts.rotate_left(turn);
        let wrong = if self.below(20) == 0 { self.one(&WRONG) } else { "" };
        parts.concat() + wrong
    }

    fn ipcmk(&mut self) -> String {
        const SIZES: [&str; 29] = [
            "1",
            "4096",
            "1K",
            "1KiB",
            "1kB",
            "2MB",
            "0x1000",
            "010",
            "1.5M",
            "0.5K",
            "1k",
            "1Kib",
            "3m",
            "1G",
            "+5",
            "' 7'",
            "0",
            "''",
            "x",
            "K",
            "1x",
            "1.5",
            "-1",
            "'1 K'",
            "1KiBs",
            "08",
            "18446744073709551616",
            "1Y",
            "0x",
        ];
        const COUNTS: [&str; 12] =
            ["1", "2", "5", "0", "-1", "x", "''", "+3", "' 2'", "0x2", "010", "99999999999"];
        const MODES: [&str; 12] =
            ["0", "7", "644", "0644", "00640", "777", "600", "9", "x", "''", "+644", "' 644'"];
        let mut line = String::new();
        for _ in 0..self.below(4) {
            let next = match self.below(5) {
                0 | 1 => format!("{}{} ", self.one(&["-M ", "-M", "--shmem ", "--shmem="]), self.one(&SIZES)),
                2 => format!("{}{} ", self.one(&["-S ", "-S", "--semaphore ", "--sem="]), self.one(&COUNTS)),
                3 => self.one(&["-Q ", "--queue "]).into(),
                _ => format!("{}{} ", self.one(&["-p ", "-p", "--mode ", "--mode="]), self.one(&MODES)),
            };
            line += &next.replace("-M'' ", "-M '' ").replace("-S'' ", "-S '' ").replace("-p'' ", "-p '' ");
        }
        line
    }

    fn ipcrm(&mut self) -> String {
        match self.below(8) {
            0 => format!("{} {}", self.one(&["sem", "shm", "msg", "frob"]), self.ids()),
            1 => format!("-v --all={}", self.one(&["shm", "msg", "sem", "frob"])),
            // The error comes first: util-linux removes the objects before it.
            2 => self.one(&["-s x -q 0", "-M 0", "-Q x", "-S ''", "-x", "-s", "-S", "--frob", "-v"]).into(),
            _ => {
                let removals = (0..1 + self.below(3)).map(|_| {
                    if self.below(2) == 0 {
                        let option = self.one(&["-s ", "-q ", "-m ", "-s", "--queue-id=", "--shmem-id "]);
                        format!("{option}{} ", self.below(9))
                    } else {
                        let option =
                            self.one(&["-S ", "-Q ", "-M ", "-M", "--semaphore-key=", "--queue-key "]);
                        format!("{option}{} ", self.key())
                    }
                });
                let removals: String = removals.collect();
                format!("{}{removals}", self.one(&["", "-v ", "--verbose "]))
            }
        }
    }

    fn ids(&mut self) -> String {
        (0..self.below(4)).map(|_| self.id() + " ").collect()
    }
}

/// What the command lines of a seed print: before each output the command line, after it the exit code and whether
/// something was printed on standard error; after a change the list of all objects. `run` is the command that runs the
/// shell, such as `unspin run`, or empty.
fn transcript(seed: u64, lines: usize, keyed: &Path, run: &str, tools: [&str; 3]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let [ipcs, ipcrm, ipcmk] = tools;
    let keys = KEYS.map(|(key, _)| key).join(" ");
    let mut script = format!(
        "keyed() {{ {} {keys}; }}\nours() {{ {ipcs} \"$@\"; }}\nrm_() {{ {ipcrm} \"$@\"; }}\nmk() {{ {ipcmk} \"$@\"; }}\n\
         end() {{ echo \"= $1$(test -s errors && echo ', complains')\"; }}\n",
        keyed.display()
    );
    let mut random = Lines(seed);
    for _ in 0..lines {
        let line = random.line();
        let (command, arguments) = line.split_once(' ').unwrap_or((&line, ""));
        let function = match command {
            "ipcs" => "ours",
            "ipcrm" => "rm_",
            "ipcmk" => "mk",
            other => other,
        };
        writeln!(script, "cat <<'EOF'\n$ {line}\nEOF\n{function} {arguments} 2>errors; end $?").unwrap();
        if command != "ipcs" {
            script += "ipcs\n";
        }
    }
    let file = folder.path().join("script");
    std::fs::write(&file, script).unwrap();
    let output = namespace()
        .args(run.split_whitespace())
        .arg("sh")
        .arg(&file)
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    comparable(&String::from_utf8(output.stdout).unwrap())
}

/// The text without what differs between two runs: the random keys of ipcmk, times, pids.
fn comparable(text: &str) -> String {
    let time = Regex::new(r"([A-Z][a-z]{2} )?[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d( \d{4})?").unwrap();
    let lists = Regex::new(r"(?m)^-+ .* PIDs -+$(\n.+)*").unwrap();
    let field = Regex::new(r"(pid=)[1-9]\d*").unwrap();
    let number = Regex::new(r"\b[1-9]\d{2,} *").unwrap();
    let key = Regex::new("(?m)^0x[0-9a-f]{8}").unwrap();
    let known = KEYS.map(|(_, key)| format!("0x{:0>8}", &key[2..]));
    let text = key.replace_all(text, |key: &Captures<'_>| match known.contains(&key[0].to_owned()) {
        true => key[0].to_owned(),
        false => "KEY".into(),
    });
    let text = time.replace_all(&text, "TIME");
    let text =
        lists.replace_all(&text, |list: &Captures<'_>| number.replace_all(&list[0], "PID ").into_owned());
    field.replace_all(&text, "${1}PID").into_owned()
}

/// The first command line whose output differs between two transcripts.
fn difference(expected: &str, actual: &str) -> Option<String> {
    let entries = |text: &str| text.split("\n$ ").map(str::to_owned).collect::<Vec<_>>();
    let (expected, actual) = (entries(expected), entries(actual));
    let differing = expected.iter().zip(&actual).find(|(expected, actual)| expected != actual)?;
    Some(format!("{}\n--- but here ---\n{}", differing.0, differing.1))
}

const TOOLS: [&str; 3] = ["ipcs", "ipcrm", "ipcmk"];
const LINES: usize = 120;

#[test]
fn random_command_lines_of_util_linux_do_the_same_on_every_engine() {
    if !is_possible("random command lines") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(keyed) = compiled("keyed.c", folder.path()) else { return };
    let seeds =
        std::env::var("UNSPIN_STRESS").map_or(3, |times| 3 * times.parse::<u64>().expect("it is a number"));
    for seed in 1..=seeds {
        let kernels = transcript(seed, LINES, &keyed, "", TOOLS);
        for engine in Kind::IN_ARENAS.map(Kind::name) {
            let arena = folder.path().join(format!("{engine}-{seed}"));
            let run =
                format!("{} run --sysv {engine} --arena {}", env!("CARGO_BIN_EXE_unspin"), arena.display());
            let engines = transcript(seed, LINES, &keyed, &run, TOOLS);
            assert_eq!(difference(&kernels, &engines), None, "{engine}, seed {seed}");
        }
    }
}

/// The planted bugs: another view, nothing is removed, another mode.
#[test]
fn planted_difference_in_random_command_lines_is_found() {
    if !is_possible("differences in random command lines") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(keyed) = compiled("keyed.c", folder.path()) else { return };
    let expected = transcript(1, 50, &keyed, "", TOOLS);
    assert_eq!(difference(&expected, &transcript(1, 50, &keyed, "", TOOLS)), None);
    for (tool, wrong) in [(0, "ipcs -c"), (1, "true"), (2, "ipcmk -p 400")] {
        let mut tools = TOOLS;
        tools[tool] = wrong;
        let found = difference(&expected, &transcript(1, 50, &keyed, "", tools));
        assert!(found.is_some_and(|text| text.starts_with(TOOLS[tool])), "{wrong}");
    }
}
