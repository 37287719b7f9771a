//! Whether the pthread lens sees anything of a program.

use std::path::{Path, PathBuf};
use unspin_launch::program::Program;
use unspin_launch::program::reach;
use unspin_launch::program::runtime::Runtime;
use unspin_report::next::Subject;
use unspin_sys::creds::Creds;

/// Whether the pthread lens would see nothing of the program: the preload library cannot reach it (it is static, for
/// example), or its locks are not libc's (Go). False if its file is not known.
pub fn is_beyond_pthread(subject: &Subject) -> bool {
    let file = match subject {
        Subject::Process(pid) => Some(PathBuf::from(format!("/proc/{pid}/exe"))).filter(|file| file.exists()),
        Subject::Program(words) | Subject::System(words) if words.is_empty() => None,
        Subject::Program(words) | Subject::System(words) => Program::find_any(words)
            .ok()
            .filter(|program| program.workload().is_none())
            .map(|program| program.path),
    };
    file.is_some_and(|file| is_file_beyond_pthread(&file))
}

fn is_file_beyond_pthread(file: &Path) -> bool {
    reach::check(file, &Creds::current()).is_err()
        || Runtime::of_file(&reach::interpreter(file)).contains(&Runtime::Go)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    #[test]
    fn pthread_lens_sees_programs_that_it_can_reach() {
        let folder = tempfile::tempdir().unwrap();
        // The header of a static program: no segment, so no dynamic linker.
        let mut header = [0; 64];
        header[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (header[6], header[16], header[18], header[52]) = (1, 2, 62, 64);
        let fixed = folder.path().join("fixed");
        std::fs::write(&fixed, header).unwrap();
        std::fs::set_permissions(&fixed, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let fixed = fixed.to_str().unwrap();
        assert!(is_beyond_pthread(&Subject::Program(vec![fixed.into()])));
        // No program that can be executed.
        std::fs::write(fixed, "no\0ELF").unwrap();
        assert!(is_beyond_pthread(&Subject::Program(vec![fixed.into()])));
        for words in [["/bin/sh"].as_slice(), &["volano"], &["/no/such/file"], &[]] {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            assert!(!is_beyond_pthread(&Subject::System(words.clone())), "{words:?}");
        }
        assert!(!is_beyond_pthread(&Subject::Process(std::process::id())));
    }
}
