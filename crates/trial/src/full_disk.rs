//! Whether a run may have failed because a file system is full.

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use unspin_launch::output::scratch;

/// A folder that runs need, and what is in it.
struct Needed {
    folder: PathBuf,
    holds: &'static str,
    remedy: &'static str,
}

/// Bytes that are written to see whether there is room.
const PROBE: [u8; 1 << 14] = [0; 1 << 14];

/// What is full, and what to do; none if there is room in all folders that a run needs. `recordings` is the folder of recordings and
/// arenas. The outputs of the run must still exist: their space is free when they are closed.
pub fn remark(recordings: &Path) -> Option<String> {
    let output = Needed {
        folder: scratch::disk(),
        holds: "the output of each run",
        remedy: "free space there, or set TMPDIR to another folder",
    };
    let recordings = Needed {
        folder: recordings.to_path_buf(),
        holds: "the recordings and arenas of runs",
        remedy: "free space there",
    };
    let working = std::env::current_dir().ok().map(|folder| Needed {
        folder,
        holds: "what the program writes into its working folder",
        remedy: "free space there",
    });
    remark_on([output, recordings].into_iter().chain(working), write_probe)
}

fn remark_on(
    mut needed: impl Iterator<Item = Needed>,
    probe: impl Fn(&Path) -> io::Result<()>,
) -> Option<String> {
    needed.find_map(|Needed { folder, holds, remedy }| {
        let error = probe(&folder).err()?;
        let full = matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded);
        full.then(|| format!("the file system of {} is full, which has {holds}: {remedy}", folder.display()))
    })
}

/// The file has no name, and is gone at the end.
fn write_probe(folder: &Path) -> io::Result<()> {
    let mut file = tempfile::tempfile_in(folder)?;
    file.write_all(&PROBE)?;
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remark_if(kind: Option<ErrorKind>) -> Option<String> {
        let needed = ["/a", "/b"].map(|folder| Needed {
            folder: folder.into(),
            holds: "the output of each run",
            remedy: "free space there, or set TMPDIR to another folder",
        });
        remark_on(needed.into_iter(), |folder| match kind {
            Some(kind) if folder == Path::new("/b") => Err(kind.into()),
            _ => Ok(()),
        })
    }

    /// Issue 25: a run failed on a full disk, and the report did not say why.
    #[test]
    fn full_file_system_is_named_with_the_remedy() {
        assert_eq!(
            remark_if(Some(ErrorKind::StorageFull)).unwrap(),
            "the file system of /b is full, which has the output of each run: free space there, or set TMPDIR to another \
             folder"
        );
        assert!(remark_if(Some(ErrorKind::QuotaExceeded)).is_some());
        assert_eq!(
            remark_if(Some(ErrorKind::PermissionDenied)),
            None,
            "a read-only working folder is not full"
        );
        assert_eq!(remark_if(None), None);
    }

    #[test]
    fn folder_with_room_is_not_full() {
        let folder = tempfile::tempdir().unwrap();
        write_probe(folder.path()).unwrap();
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }
}
