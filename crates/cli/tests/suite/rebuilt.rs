//! Files that another build replaced between a process's use of a lock and the report.

use crate::common::{compiled_with, finish, unspin};
use std::fs;
use std::path::Path;

/// Two builds of one program; none without a compiler.
fn builds(folder: &Path, linked: &str) -> Option<()> {
    for (name, options) in
        [("first", &["-DNAME=alpha_lock", linked][..]), ("second", &["-DNAME=beta_lock", "-DPAD", linked])]
    {
        let built = compiled_with("rebuilt.c", options, folder)?;
        fs::rename(built, folder.join(name)).unwrap();
    }
    Some(())
}

/// Runs the script in the folder, and returns the report of all locks.
fn metered(folder: &Path, script: &str) -> String {
    let (_, err, code) =
        finish(unspin(&["meter", "--all", "sh", "-c", script]).current_dir(folder).env("COLUMNS", "400"));
    assert_eq!(code, Some(7), "{err}");
    err
}

/// The inode of the first build may be used again for the second one, or the file is overwritten in place.
#[test]
fn lock_of_a_replaced_program_is_an_offset_with_a_remark() {
    for linked in ["-Wl,--build-id=sha1", "-Wl,--build-id=none"] {
        for replace in ["rm program; cp second program", "cat second >program"] {
            let folder = tempfile::tempdir().unwrap();
            let Some(()) = builds(folder.path(), linked) else { return };
            let report =
                metered(folder.path(), &format!("cp first program; ./program; {replace}; ./program"));
            assert!(report.contains("beta_lock"), "{linked} {replace}: {report}");
            assert!(report.contains("program+0x"), "{linked} {replace}: {report}");
            assert!(!report.contains("frame_dummy") && !report.contains("alpha_lock"), "{report}");
            let remark = "Replaced or removed since they ran, or unreadable: ";
            assert!(report.contains(remark), "{linked} {replace}: {report}");
        }
    }
}

#[test]
fn program_that_stays_has_names_and_no_remark() {
    let folder = tempfile::tempdir().unwrap();
    let Some(()) = builds(folder.path(), "-Wl,--build-id=sha1") else { return };
    let report = metered(folder.path(), "./first; ./second");
    assert!(report.contains("alpha_lock") && report.contains("beta_lock"), "{report}");
    assert!(!report.contains("Replaced or removed"), "{report}");
}
