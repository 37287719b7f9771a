//! tracefs: where the kernel describes its tracepoints.

use crate::error::Error;
use crate::format::Field;
use crate::record::VALUES;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::mount::{self, FsMountFlags, FsOpenFlags, MountAttrFlags};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use unspin_sys::creds::Creds;

/// Where tracefs is mounted, by convention: Documentation/trace/ftrace.rst.
const MOUNTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// A mounted tracefs.
#[derive(Clone, Debug)]
pub struct Tracefs {
    folder: PathBuf,
    /// The mount that only this process has, which ends with its last descriptor.
    _own: Option<Arc<OwnedFd>>,
}

/// A tracepoint of this kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tracepoint {
    /// `group:event`
    pub name: String,
    /// The event's number for perf_event_open.
    pub id: u64,
    /// The fields that a sample's values hold, in this order.
    pub fields: Vec<Field>,
}

impl Tracefs {
    /// Finds the mounted tracefs. If none is mounted, mounts one that no other process sees, if the caller may do that.
    pub fn find() -> Result<Tracefs, Error> {
        match Tracefs::find_in(&MOUNTS.map(PathBuf::from)) {
            Err(Error::NoTracefs) => Tracefs::mount().map_err(|_| Error::NoTracefs),
            found => found,
        }
    }

    /// A detached mount: in no folder, and gone with its descriptor (fsmount(2), Linux 5.2). It needs CAP_SYS_ADMIN.
    fn mount() -> rustix::io::Result<Tracefs> {
        let context = mount::fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        mount::fsconfig_create(&context)?;
        let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY;
        let mount = mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
        let folder = format!("/proc/self/fd/{}", mount.as_raw_fd()).into();
        Ok(Tracefs { folder, _own: Some(Arc::new(mount)) })
    }

    fn find_in(mounts: &[PathBuf]) -> Result<Tracefs, Error> {
        let mut hidden = None;
        for folder in mounts {
            match fs::read_dir(folder.join("events")) {
                Ok(_) => return Ok(Tracefs { folder: folder.clone(), _own: None }),
                Err(e) if e.kind() == ErrorKind::PermissionDenied => hidden = Some(folder),
                Err(_) => {}
            }
        }
        Err(hidden.map_or(Error::NoTracefs, |folder| hidden_from_caller(folder)))
    }

    /// A tracepoint, by its name `group:event`, with these fields; `args[1]` is an element of an array.
    pub fn tracepoint(&self, name: &str, fields: &[&str]) -> Result<Tracepoint, Error> {
        assert!(fields.len() <= VALUES, "a sample has {VALUES} values");
        let (group, event) = name.split_once(':').unwrap_or(("", name));
        let folder = self.folder.join("events").join(group).join(event);
        let read = |file: &Path| {
            fs::read_to_string(file).map_err(|e| match e.kind() {
                ErrorKind::NotFound => Error::NoTracepoint(name.to_owned()),
                ErrorKind::PermissionDenied => hidden_from_caller(&self.folder),
                _ => Error::File(file.to_owned(), e),
            })
        };
        let id = read(&folder.join("id"))?;
        let known = Field::parse_all(&read(&folder.join("format"))?);
        let missing = |field: &str| Error::NoField { tracepoint: name.to_owned(), field: field.to_owned() };
        let fields = fields.iter().map(|field| find(&known, field).ok_or_else(|| missing(field)));
        Ok(Tracepoint {
            name: name.to_owned(),
            id: id.trim().parse().map_err(|_| missing("id"))?,
            fields: fields.collect::<Result<_, _>>()?,
        })
    }
}

/// The error where tracefs hides its files: they are root's and readable by their group. `mode=755` would open the
/// folders only.
fn hidden_from_caller(folder: &Path) -> Error {
    let group = Creds::current().gid;
    let remedy = format!(
        "{} may be read only by root: run as root, or permit it to your group by `mount -o \
         remount,mode=750,gid={group} {0}`, and tracepoints by `sysctl kernel.perf_event_paranoid=-1`",
        folder.display()
    );
    Error::HiddenTracefs { remedy }
}

/// A field by its name, or an element of an array.
fn find(known: &[Field], name: &str) -> Option<Field> {
    let (name, index) = match name.split_once('[') {
        Some((name, index)) => (name, Some(index.trim_end_matches(']').parse().ok()?)),
        None => (name, None),
    };
    let field = known.iter().find(|field| field.name == name)?;
    index.map_or_else(|| Some(field.clone()), |index| field.element(index))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    /// A tracefs with one tracepoint.
    fn plant(format: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("unspin-tracefs-{}-{}", std::process::id(), format.len()));
        let event = folder.join("events/lock/contention_begin");
        fs::create_dir_all(&event).unwrap();
        fs::write(event.join("id"), "408\n").unwrap();
        fs::write(event.join("format"), format).unwrap();
        folder
    }

    #[test]
    fn fields_are_found_by_name_wherever_they_lie() {
        let folder = plant(
            "\tfield:unsigned int flags;\toffset:8;\tsize:4;\tsigned:0;\n\
             \tfield:void * lock_addr;\toffset:16;\tsize:8;\tsigned:0;\n\
             \tfield:unsigned long args[6];\toffset:24;\tsize:48;\tsigned:0;\n",
        );
        let tracefs = Tracefs::find_in(&["/nowhere".into(), folder.clone()]).unwrap();
        let found = tracefs.tracepoint("lock:contention_begin", &["lock_addr", "flags", "args[2]"]).unwrap();
        assert_eq!(found.id, 408);
        assert_eq!(found.fields.iter().map(|field| field.offset).collect::<Vec<_>>(), [16, 8, 40]);
        let error = tracefs.tracepoint("lock:contention_begin", &["size"]).unwrap_err().to_string();
        assert!(error.contains("no field size"), "{error}");
        let error = tracefs.tracepoint("lock:gone", &[]).unwrap_err().to_string();
        assert!(error.contains("no tracepoint lock:gone"), "{error}");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn own_mount_is_seen_by_this_process_only() {
        // Others may mount something meanwhile.
        let mounted = || fs::read_to_string("/proc/self/mounts").unwrap().matches(" tracefs ").count();
        let before = mounted();
        let Ok(tracefs) = Tracefs::mount() else {
            let _ = writeln!(
                std::io::stderr(),
                "SKIPPED own_mount_is_seen_by_this_process_only: only CAP_SYS_ADMIN may mount"
            );
            return;
        };
        assert_eq!(mounted(), before);
        let switch = tracefs.tracepoint("sched:sched_switch", &["prev_pid"]).unwrap();
        assert!(switch.id > 0);
        // Not by its number, which another test's descriptor gets next.
        let descriptor = Arc::downgrade(tracefs._own.as_ref().unwrap());
        drop(tracefs);
        assert!(descriptor.upgrade().is_none(), "the mount ends with its descriptor");
    }

    #[test]
    fn missing_tracefs_names_the_mount_command() {
        let error = Tracefs::find_in(&["/nowhere".into()]).unwrap_err().to_string();
        assert!(error.contains("mount -t tracefs tracefs /sys/kernel/tracing"), "{error}");
    }
}
