//! Arenas that are overwritten with noise: every command ends with a documented exit code, and reports in one line an
//! arena that it cannot use.

use crate::common::util_linux::is_installed;
use crate::common::{finish, unspin, wait_until};
use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// A linear congruential generator (Knuth's MMIX), so that a failure is reproducible.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 16 ^ self.0 << 48
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// A damaged word: random bits, a small number, an offset in the arena, all ones or all zeroes.
    fn word(&mut self) -> u64 {
        let any = self.next();
        [any, any % 100, any % (8 << 20) * 64, u64::MAX, 0][self.below(5)]
    }
}

/// Offsets of the words that are not zero. The engine reads these.
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

/// Exit code and standard error. A command that runs for minutes is in an endless loop.
fn ended(mut command: Command, what: &str) -> (Option<i32>, String) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until(&format!("{what} ends"), || child.try_wait().unwrap().is_some());
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn every_command_ends_on_a_damaged_arena() {
    if !is_installed("every_command_ends_on_a_damaged_arena") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("arena");
    let arena = path.to_str().unwrap();
    let (mut failures, mut refusals) = (0, 0);
    for seed in 1..=12 {
        let engine = ["rcu", "global"][seed % 2];
        let inside = ["run", "--sysv", engine, "--arena", arena];
        for count in ["1", "4"] {
            let created = finish(&mut unspin(&[&inside[..], &["ipcmk", "-S", count]].concat()));
            assert_eq!(created.2, Some(0), "{created:?}");
        }
        let mut noise = Noise(seed as u64);
        let words = words_in_use(&path);
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        for _ in 0..[1, 10, 100][noise.below(3)] {
            // Not magic, length, engine and layout, without which it is not an arena.
            let at = words[noise.below(words.len())].max(24) + 8 * noise.below(3) as u64;
            file.write_all_at(&noise.word().to_ne_bytes(), at).unwrap();
        }
        let show = ["arenas", "show", arena];
        let commands = [
            show.to_vec(),
            [&show[..], &["-s", "-i", "1"]].concat(),
            [&show[..], &["-u"]].concat(),
            vec!["arenas", "list", folder.path().to_str().unwrap()],
            [&show[..], &["-q", "-i", "1"]].concat(),
            [&inside[..], &["ipcrm", "--all=msg"]].concat(),
            [&inside[..], &["ipcrm", "--all=sem"]].concat(),
            [&inside[..], &["ipcmk", "-S", "2", "-Q"]].concat(),
            [&show[..], &["-s", "-t"]].concat(),
        ];
        for command in commands {
            let (code, said) = ended(unspin(&command), &format!("seed {seed}: {command:?}"));
            assert!(matches!(code, Some(0 | 1 | 125)), "seed {seed}: {command:?}: {code:?}: {said}");
            failures += usize::from(code != Some(0));
            if code == Some(125) {
                let one_line =
                    said.lines().count() == 1 && said.starts_with(&format!("unspin: arena {arena}"));
                assert!(one_line, "seed {seed}: {command:?}: {said}");
                refusals += 1;
            }
        }
        let (code, said) = ended(unspin(&["arenas", "remove", "--force", arena]), "remove");
        assert!(code == Some(0) && !path.exists(), "seed {seed}: {said}");
        // If the noise changed the IPC namespace, `unspin run` has created another arena beside this one.
        for entry in fs::read_dir(folder.path()).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
    }
    assert!(failures > 0, "the noise did no harm: it missed the words in use");
    assert!(refusals > 0, "no arena was refused as damaged");
}
