//! What a command expects of a system: file systems, a loopback interface, limits, settings.

use nix::mount::{MsFlags, mount as mount_at};
use nix::sys::resource::{RLIM_INFINITY, Resource, setrlimit};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

/// The file systems, by type and folder, in this order. None on `/tmp`: the root is in memory as well, and the command's files may
/// lie there.
const FILE_SYSTEMS: [(&str, &str); 9] = [
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("devpts", "/dev/pts"),
    ("tmpfs", "/dev/shm"),
    ("tracefs", "/sys/kernel/tracing"),
    ("debugfs", "/sys/kernel/debug"),
    ("bpf", "/sys/fs/bpf"),
    ("cgroup2", "/sys/fs/cgroup"),
];

/// Mounts the file systems. A kernel may lack some, and then so does the command.
pub(super) fn mount() {
    for (kind, folder) in FILE_SYSTEMS {
        // Exists, or is in a file system without folders of ours.
        let _ = fs::create_dir_all(folder);
        let mode = (kind == "tmpfs").then_some("mode=1777");
        let _ = mount_at(Some(kind), folder, Some(kind), MsFlags::empty(), mode);
    }
}

/// The links that udev makes in `/dev`.
const LINKS: [(&str, &str); 4] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
];

/// Settings under /proc and /sys. The guest belongs to the command, so it may measure all of it.
const SETTINGS: [(&str, &str); 3] = [
    ("/proc/sys/kernel/perf_event_paranoid", "-1"),
    ("/proc/sys/kernel/kptr_restrict", "0"),
    // IFF_UP, IFF_LOOPBACK and IFF_RUNNING of net/if.h. The kernel gives the interface its address by itself.
    ("/sys/class/net/lo/flags", "0x49"),
];

/// Descriptors that a process may have without asking, and at most.
const DESCRIPTORS: (u64, u64) = (65_536, 1 << 19);

/// Makes the settings, and raises the limits of this process, which the command inherits.
pub(super) fn set_up() {
    for (file, value) in SETTINGS {
        if let Err(error) = fs::write(file, value) {
            eprintln!("unspin: {file}: {error}");
        }
    }
    for (link, target) in LINKS {
        // It may be there.
        let _ = symlink(target, link);
    }
    for folder in ["/tmp", "/var/tmp"] {
        if let Err(error) = fs::set_permissions(folder, Permissions::from_mode(0o1777)) {
            eprintln!("unspin: {folder}: {error}");
        }
    }
    let limits = [
        (Resource::RLIMIT_MEMLOCK, (RLIM_INFINITY, RLIM_INFINITY)),
        (Resource::RLIMIT_NOFILE, DESCRIPTORS),
        (Resource::RLIMIT_RTPRIO, (99, 99)),
    ];
    for (resource, (soft, hard)) in limits {
        if let Err(error) = setrlimit(resource, soft, hard) {
            eprintln!("unspin: setrlimit: {error}");
        }
    }
}
