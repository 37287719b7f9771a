//! The name of the symbolic link by which a program was started.

use std::fs;
use std::path::{Path, PathBuf};

/// The name of the symbolic link by which a process was started, from its `argv[0]` and the file that it runs. None if
/// it was started by the file's own name, or if `argv[0]` is not a link to the file: a program can set it to any text.
pub fn by_link(argument: &str, program: &Path) -> Option<String> {
    let name = Path::new(argument).file_name()?;
    if name == program.file_name()? {
        return None;
    }
    let leads_there = |link: PathBuf| fs::canonicalize(link).is_ok_and(|file| file == program);
    let is_link = match argument.contains('/') {
        true => leads_there(argument.into()),
        false => folders(program).into_iter().any(|folder| leads_there(folder.join(name))),
    };
    is_link.then(|| name.to_string_lossy().into_owned())
}

/// The folders in which a name without a slash may have been found: that of the file, and those of `PATH`.
fn folders(program: &Path) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    program.parent().map(Path::to_owned).into_iter().chain(std::env::split_paths(&path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn name_of_a_link_to_the_program_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let (program, link) = (folder.join("check-rdb"), folder.join("server"));
        fs::write(&program, "").unwrap();
        fs::write(folder.join("other"), "").unwrap();
        symlink("check-rdb", &link).unwrap();
        let by_link = |argument: &str| by_link(argument, &program);
        assert_eq!(by_link("server").as_deref(), Some("server"), "beside the file");
        assert_eq!(by_link(link.to_str().unwrap()).as_deref(), Some("server"));
        for none in ["check-rdb", "other", "server: worker", "-server", "", "/", program.to_str().unwrap()] {
            assert_eq!(by_link(none), None, "{none}");
        }
    }
}
