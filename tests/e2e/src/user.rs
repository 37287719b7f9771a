//! Users, for programs that refuse to run as root.

use std::io;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// A user other than root.
#[derive(Clone, Copy, Debug)]
pub struct User {
    uid: u32,
    gid: u32,
}

impl User {
    /// The user as which root runs programs that refuse root: `nobody`. None if this is not root, or if there is no
    /// such user.
    pub fn instead_of_root() -> Option<User> {
        if !crate::is_root() {
            return None;
        }
        let users = std::fs::read_to_string("/etc/passwd").ok()?;
        let fields = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let nobody = fields.into_iter().find(|fields| fields.len() > 3 && fields[0] == "nobody")?;
        Some(User { uid: nobody[2].parse().ok()?, gid: nobody[3].parse().ok()? })
    }

    /// Lets the command run as this user, with no other group.
    pub fn apply_to(self, command: &mut Command) {
        command.uid(self.uid).gid(self.gid);
    }

    /// Gives a file to this user.
    ///
    /// # Errors
    /// If there is no such file.
    pub fn give_file(self, path: &Path) -> io::Result<()> {
        chown(path, Some(self.uid), Some(self.gid))
    }
}
