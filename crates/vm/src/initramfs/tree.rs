//! The tree of the guest's files, before it is written.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// What a path of the guest is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Node {
    Folder,
    /// The contents of a file of the host.
    File(PathBuf),
    Bytes(Vec<u8>),
    Link(PathBuf),
    /// A character device, by its numbers.
    Device(u32, u32),
}

/// The folders that Debian has merged into `/usr`, so that a file has one path.
const MERGED: [&str; 4] = ["bin", "lib", "lib64", "sbin"];

/// The guest's paths, from the root. Folders sort before what is in them.
#[derive(Default, Debug)]
pub(super) struct Tree {
    nodes: BTreeMap<PathBuf, Node>,
}

impl Tree {
    /// What every guest has: the folders that its first process mounts file systems on, a console, and a user.
    pub fn with_system() -> Tree {
        let mut tree = Tree::default();
        for name in MERGED {
            tree.add_folder(&Path::new("/usr").join(name));
            tree.nodes.insert(Path::new("/").join(name), Node::Link(Path::new("usr").join(name)));
        }
        for folder in ["/proc", "/sys", "/dev", "/tmp", "/run", "/root", "/etc", "/var/tmp", "/var/cache"] {
            tree.add_folder(Path::new(folder));
        }
        // The kernel opens it for the first process; the numbers are those of Documentation/admin-guide/devices.txt.
        tree.nodes.insert("/dev/console".into(), Node::Device(5, 1));
        tree.add_bytes(Path::new("/etc/passwd"), b"root:x:0:0:root:/root:/bin/sh\n".to_vec());
        tree.add_bytes(Path::new("/etc/group"), b"root:x:0:\n".to_vec());
        tree.add_bytes(Path::new("/etc/hosts"), b"127.0.0.1 localhost\n::1 localhost\n".to_vec());
        tree
    }

    /// The nodes, each folder before its contents.
    pub fn nodes(&self) -> impl Iterator<Item = (&Path, &Node)> {
        self.nodes.iter().map(|(path, node)| (path.as_path(), node))
    }

    /// Whether there is something at this path.
    pub fn has(&self, path: &Path) -> bool {
        self.nodes.contains_key(&resolved(path))
    }

    /// Adds a file with the contents of one of the host. What is there already stays.
    pub fn add_file(&mut self, path: &Path, host: &Path) {
        self.add(path, Node::File(host.to_owned()));
    }

    /// Adds a file with these contents.
    pub fn add_bytes(&mut self, path: &Path, bytes: Vec<u8>) {
        self.add(path, Node::Bytes(bytes));
    }

    /// Adds a symbolic link.
    pub fn add_link(&mut self, path: &Path, target: &Path) {
        self.add(path, Node::Link(target.to_owned()));
    }

    /// Adds a folder, and those above it.
    pub fn add_folder(&mut self, path: &Path) {
        let path = resolved(path);
        let above: Vec<&Path> = path.ancestors().filter(|above| above.parent().is_some()).collect();
        for folder in above {
            self.nodes.entry(folder.to_owned()).or_insert(Node::Folder);
        }
    }

    fn add(&mut self, path: &Path, node: Node) {
        let path = resolved(path);
        if let Some(folder) = path.parent() {
            self.add_folder(folder);
        }
        self.nodes.entry(path).or_insert(node);
    }
}

/// The path without `.` and `..`, and with `/usr` before the folders that are links there.
fn resolved(path: &Path) -> PathBuf {
    let mut found = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => found.push(name),
            Component::ParentDir => _ = found.pop(),
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
        }
    }
    let first = found.components().nth(1).map(|name| name.as_os_str().to_owned());
    match first {
        Some(name) if MERGED.iter().any(|merged| name == *merged) => {
            Path::new("/usr").join(found.strip_prefix("/").unwrap_or(&found))
        }
        _ => found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_folders_and_dots_lead_to_one_path() {
        assert_eq!(resolved(Path::new("/lib/x/../y.so")), Path::new("/usr/lib/y.so"));
        assert_eq!(resolved(Path::new("/usr/lib/./y.so")), Path::new("/usr/lib/y.so"));
        assert_eq!(resolved(Path::new("/../home/a")), Path::new("/home/a"));
        let mut tree = Tree::with_system();
        tree.add_file(Path::new("/bin/sh"), Path::new("/bin/dash"));
        assert!(tree.has(Path::new("/usr/bin/sh")));
        tree.add_file(Path::new("/usr/bin/sh"), Path::new("/bin/bash"));
        let sh = tree.nodes().find(|(path, _)| path.ends_with("sh")).unwrap().1;
        assert_eq!(*sh, Node::File("/bin/dash".into()), "the first stays");
    }

    #[test]
    fn folders_come_before_their_contents() {
        let mut tree = Tree::default();
        tree.add_bytes(Path::new("/a/b/c"), Vec::new());
        let paths: Vec<&Path> = tree.nodes().map(|(path, _)| path).collect();
        assert_eq!(paths, [Path::new("/a"), Path::new("/a/b"), Path::new("/a/b/c")]);
    }
}
