//! Users, groups and times in the words that people read.

use nix::unistd::{Gid, Group, Uid, User};
use std::cell::RefCell;
use std::collections::HashMap;
use unspin_sys::clock;

/// What the numbers of an object mean. Remembers names, since asking for one can take a question to a server.
#[derive(Debug, Default)]
pub struct Legend {
    users: RefCell<HashMap<u32, Option<String>>>,
    groups: RefCell<HashMap<u32, Option<String>>>,
}

impl Legend {
    /// The user's name, or the number of one that has none.
    pub fn user(&self, uid: u32) -> String {
        self.known_user(uid).unwrap_or_else(|| uid.to_string())
    }

    /// The group's name, or the number of one that has none.
    pub fn group(&self, gid: u32) -> String {
        let mut groups = self.groups.borrow_mut();
        let name = groups.entry(gid).or_insert_with(|| Some(Group::from_gid(Gid::from_raw(gid)).ok()??.name));
        name.clone().unwrap_or_else(|| gid.to_string())
    }

    /// As [`Legend::user`], a name cut to the ten places that it has in a list.
    pub fn owner(&self, uid: u32) -> String {
        match self.known_user(uid) {
            Some(name) => format!("{name:<10.10}"),
            None => format!("{uid:<10}"),
        }
    }

    fn known_user(&self, uid: u32) -> Option<String> {
        let mut users = self.users.borrow_mut();
        users.entry(uid).or_insert_with(|| Some(User::from_uid(Uid::from_raw(uid)).ok()??.name)).clone()
    }

    /// A time as ctime(3) writes it, without the newline.
    pub fn time(&self, seconds: i64) -> String {
        match seconds {
            0 => "Not set".to_owned(),
            // Beyond what a year can be: a damaged arena.
            _ => clock::local_text(seconds).unwrap_or_else(|| seconds.to_string()),
        }
    }

    /// A time without its weekday and year.
    pub fn short_time(&self, seconds: i64) -> String {
        let time = self.time(seconds);
        if seconds == 0 { time } else { time.chars().skip(4).take(16).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short_in_lists() {
        let legend = Legend::default();
        let long = legend.time(1_000_036_800);
        assert_eq!(legend.short_time(1_000_036_800), long[4..20]);
        assert_eq!((legend.time(0), legend.short_time(0)), ("Not set".into(), "Not set".into()));
        assert_eq!(legend.time(i64::MAX), i64::MAX.to_string());
    }

    #[test]
    fn names_where_there_are_any() {
        let legend = Legend::default();
        assert_eq!((legend.user(0), legend.group(0)), ("root".into(), "root".into()));
        assert_eq!(legend.owner(0), "root      ");
        // Above what useradd(8) gives out.
        assert_eq!(legend.user(4_000_000_001), "4000000001");
        assert_eq!(legend.owner(4_000_000_001), "4000000001");
    }
}
