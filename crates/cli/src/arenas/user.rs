//! Names of users.

use nix::unistd::{Uid, User};

/// The user's name, or its number if it has no name.
pub fn name(uid: u32) -> String {
    let user = User::from_uid(Uid::from_raw(uid)).ok().flatten();
    user.map_or_else(|| uid.to_string(), |user| user.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_without_name_is_shown_as_number() {
        assert_eq!(name(0), "root");
        // Above the numbers that useradd(8) assigns.
        assert_eq!(name(4_000_000_001), "4000000001");
    }
}
