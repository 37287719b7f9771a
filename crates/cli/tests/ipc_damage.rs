//! Arenas that were overwritten with noise: every command ends, by itself and with a documented exit code.

mod common;

use common::{finish, unspin, wait_until};
use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// A linear congruential generator (Knuth's MMIX), so that a failure can be repeated.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 16 ^ self.0 << 48
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// A word as damage makes it: anything, a small number, a place in the arena, all ones or none.
    fn word(&mut self) -> u64 {
        let any = self.next();
        [any, any % 100, any % (8 << 20) * 64, u64::MAX, 0][self.below(5)]
    }
}

/// Offsets of the words that are not zero, which are what the engine looks at.
fn words_in_use(path: &Path) -> Vec<u64> {
    const CHUNK: usize = 1 << 20;
    let (mut file, mut words) = (fs::File::open(path).unwrap(), Vec::new());
    let (mut chunk, zeroes) = (vec![0; CHUNK], vec![0; CHUNK]);
    let mut at = 0;
    while file.read_exact(&mut chunk).is_ok() {
        if chunk != zeroes {
            let used = chunk.chunks(8).enumerate().filter(|(_, word)| word != &[0; 8]);
            words.extend(used.map(|(n, _)| at + 8 * n as u64));
        }
        at += CHUNK as u64;
    }
    words
}

/// Exit code and standard error. One that goes on for minutes is in an endless loop.
fn ended(mut command: Command, what: &str) -> (Option<i32>, String) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until(&format!("{what} ends"), || child.try_wait().unwrap().is_some());
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn every_command_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("arena");
    let arena = path.to_str().unwrap();
    let list = format!("--arenas={}", folder.path().display());
    let mut harm = 0;
    for seed in 1..=12 {
        let engine = ["rcu", "global"][seed % 2];
        for count in ["1", "4"] {
            assert_eq!(
                finish(&mut unspin(&["ipcmk", "--sysv", engine, "--arena", arena, "-S", count])).2,
                Some(0)
            );
        }
        let mut noise = Noise(seed as u64);
        let words = words_in_use(&path);
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        for _ in 0..[1, 10, 100][noise.below(3)] {
            // Behind magic, length, engine and layout, without which it is no arena.
            let at = words[noise.below(words.len())].max(24) + 8 * noise.below(3) as u64;
            file.write_all_at(&noise.word().to_ne_bytes(), at).unwrap();
        }
        let commands: [&[&str]; 9] = [
            &["ipcs", "--arena", arena],
            &["ipcs", "-s", "-i", "1", "--arena", arena],
            &["ipcs", "-u", "--arena", arena],
            &["ipcs", &list],
            &["ipcs", "-q", "-i", "1", "--arena", arena],
            &["ipcrm", "--all=msg", "--arena", arena],
            &["ipcrm", "--all=sem", "--arena", arena],
            &["ipcmk", "-S", "2", "-Q", "--arena", arena],
            &["ipcs", "-s", "-t", "--arena", arena],
        ];
        for command in commands {
            let (code, said) = ended(unspin(command), &format!("seed {seed}: {command:?}"));
            assert!(matches!(code, Some(0 | 1 | 125)), "seed {seed}: {command:?}: {code:?}: {said}");
            harm += usize::from(code != Some(0));
        }
        fs::remove_file(&path).unwrap();
    }
    assert!(harm > 0, "the noise did no harm: it went elsewhere");
}
