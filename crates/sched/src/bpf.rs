//! Loads the schedulers by libbpf and reads what they count.

use crate::counters::Counters;
use crate::error::Error;
use crate::locks::{LockClass, LockUse};
use crate::options::{Kind, Options};
use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder, OpenObject, PrintLevel};
use std::ffi::OsStr;
use std::fs;
use std::sync::Mutex;

const GLOBAL: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/global.bpf.o"));
const MQ: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/mq.bpf.o"));

/// `MAX_CPUS` of bpf/tasks.h, and the number of `OTHER_LOCK`.
const MAX_CPUS: u32 = 512;
const OTHER_LOCK: u32 = 2 * MAX_CPUS;

/// The programs of bpf/locks.h.
const LOCK_PROGRAMS: [&str; 4] = ["native_begin", "native_end", "pv_begin", "pv_end"];
/// Those without which no lock is measured. The others are for guests of KVM.
const NEEDED: [&str; 2] = ["native_begin", "native_end"];

/// Lines of the verifier's refusal that are shown.
const LAST_LINES: usize = 8;

/// What libbpf says while it loads.
static MESSAGES: Mutex<String> = Mutex::new(String::new());

/// A scheduler in the kernel.
pub struct Scheduler {
    object: Object,
    kind: Kind,
    /// The scheduler is loaded as long as this exists.
    attached: Option<Link>,
    /// The programs that measure locks.
    lock_programs: Vec<Link>,
}

/// How the kernel ended it.
pub struct End {
    /// What the kernel says.
    pub text: String,
}

impl Scheduler {
    /// Loads and enables the scheduler.
    pub fn load(options: &Options) -> Result<Scheduler, Error> {
        check_kernel()?;
        libbpf_rs::set_print(Some((PrintLevel::Info, remember)));
        let kind = options.scheduler;
        let open = open(options).map_err(|error| refused(kind, &error))?;
        let mut object = open.load().map_err(|error| refused(kind, &error))?;
        let lock_programs = if options.locks { attach_lock_programs(&mut object)? } else { Vec::new() };
        let attached = attach(&mut object).map_err(|error| not_enabled(kind, &error))?;
        Ok(Scheduler { object, kind, attached: Some(attached), lock_programs })
    }

    /// How the kernel has ended the scheduler, if it has, while it was to be loaded.
    pub fn end(&self) -> Option<End> {
        let bytes = self.value(".data.end", 0).ok()?;
        let kind = i32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?);
        // From 64 on: unloaded by us, by BPF, by the kernel. From 66 on it was not us.
        if kind <= 64 {
            return None;
        }
        let text = |from: usize, to: usize| {
            let bytes = bytes.get(from..to).unwrap_or_default();
            String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
        };
        let (reason, message) = (text(16, 16 + 128), text(16 + 128, 16 + 128 + 1024));
        Some(End { text: if message.is_empty() { reason } else { format!("{reason} ({message})") } })
    }

    /// The sum of all CPUs' counters.
    pub fn counters(&self) -> Result<Counters, Error> {
        let of_cpus = self.per_cpu("counters", 0)?;
        let sum = of_cpus
            .iter()
            .map(|bytes| Counters::parse(bytes))
            .try_fold(Counters::default(), |sum, one| Some(sum.plus(one?)));
        sum.ok_or_else(|| Error::Failed("the counters have another length than the program knows".into()))
    }

    /// The locks of the run queues, of our queues, and all others.
    pub fn lock_uses(&self) -> Result<Vec<LockUse>, Error> {
        let cpus = self.per_cpu("lock_uses", 0)?.len() as u32;
        let queues = if self.kind == Kind::Global { 1 } else { cpus };
        let numbers = (0..queues)
            .map(|queue| (LockClass::DispatchQueue, queue, MAX_CPUS + queue))
            .chain((0..cpus).map(|cpu| (LockClass::RunQueue, cpu, cpu)))
            .chain([(LockClass::Other, 0, OTHER_LOCK)]);
        numbers.map(|(class, number, key)| self.lock_use(class, number, key)).collect()
    }

    fn lock_use(&self, class: LockClass, number: u32, key: u32) -> Result<LockUse, Error> {
        let of_cpus = self.per_cpu("lock_uses", key)?;
        let uses = of_cpus.iter().filter_map(|bytes| LockUse::parse(class, number, bytes));
        uses.reduce(LockUse::plus).ok_or_else(|| Error::Failed("no CPU has counted locks".into()))
    }

    /// Returns when the kernel's own scheduler has all tasks again.
    pub fn unload(&mut self) {
        self.lock_programs.clear();
        self.attached = None;
    }

    fn per_cpu(&self, map: &str, key: u32) -> Result<Vec<Vec<u8>>, Error> {
        let found = self.map(map)?.lookup_percpu(&key.to_ne_bytes(), MapFlags::ANY);
        found
            .map_err(|error| cannot_read(map, &error))?
            .ok_or_else(|| Error::Failed(format!("{map} has no entry {key}")))
    }

    fn value(&self, map: &str, key: u32) -> Result<Vec<u8>, Error> {
        let found = self.map(map)?.lookup(&key.to_ne_bytes(), MapFlags::ANY);
        found
            .map_err(|error| cannot_read(map, &error))?
            .ok_or_else(|| Error::Failed(format!("{map} has no entry {key}")))
    }

    fn map(&self, name: &str) -> Result<libbpf_rs::Map<'_>, Error> {
        let found = self.object.maps().find(|map| map.name() == OsStr::new(name));
        found.ok_or_else(|| Error::Failed(format!("the object file has no map {name}")))
    }
}

fn cannot_read(map: &str, error: &libbpf_rs::Error) -> Error {
    Error::Failed(format!("{map} of the scheduler cannot be read: {error}"))
}

/// Opens the object file and sets what the options say.
fn open(options: &Options) -> libbpf_rs::Result<OpenObject> {
    let bytes = if options.scheduler == Kind::Global { GLOBAL } else { MQ };
    let mut open = ObjectBuilder::default().open_memory(bytes)?;
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        let value = match name.as_str() {
            ".rodata.settings" => u32::from(options.locks),
            "scheduler" => options.timeout_ms,
            _ => continue,
        };
        // Both have it as the first field.
        if let Some(field) = map.initial_value_mut().and_then(|value| value.get_mut(..4)) {
            field.copy_from_slice(&value.to_ne_bytes());
        }
    }
    for mut program in open.progs_mut() {
        if LOCK_PROGRAMS.iter().any(|name| program.name() == OsStr::new(name)) {
            let is_needed = NEEDED.iter().any(|name| program.name() == OsStr::new(name));
            program.set_autoload(options.locks && (is_needed || is_kvm_guest()));
        }
    }
    Ok(open)
}

/// Guests of KVM and Xen wait for spin locks in another function.
fn is_kvm_guest() -> bool {
    fs::read_to_string("/sys/hypervisor/type").is_ok()
        || fs::read_to_string("/proc/cpuinfo")
            .is_ok_and(|text| text.split_whitespace().any(|flag| flag == "hypervisor"))
}

fn attach_lock_programs(object: &mut Object) -> Result<Vec<Link>, Error> {
    let mut links = Vec::new();
    for program in object.progs_mut() {
        if !LOCK_PROGRAMS.iter().any(|name| program.name() == OsStr::new(name)) || !program.autoload() {
            continue;
        }
        let link = program.attach().map_err(|error| {
            Error::Failed(format!(
                "--locks: the kernel's slow path of spin locks cannot be traced: {error}: omit --locks"
            ))
        })?;
        links.push(link);
    }
    Ok(links)
}

fn attach(object: &mut Object) -> libbpf_rs::Result<Link> {
    let mut found = object.maps_mut().filter(|map| map.name() == OsStr::new("scheduler"));
    match found.next() {
        Some(mut map) => map.attach_struct_ops(),
        None => Err(libbpf_rs::Error::from_raw_os_error(2)),
    }
}

/// Refuses kernels that have no sched_ext.
fn check_kernel() -> Result<(), Error> {
    if fs::metadata("/sys/kernel/sched_ext").is_ok() {
        return Ok(());
    }
    let version = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Err(Error::Failed(format!(
        "this kernel ({}) has no sched_ext: boot one of 6.12 or later with CONFIG_SCHED_CLASS_EXT=y, as linux-image-cloud-amd64 \
         of Debian's backports; a virtual machine will do",
        version.trim()
    )))
}

fn remember(_: PrintLevel, text: String) {
    if let Ok(mut messages) = MESSAGES.lock() {
        *messages += &text;
    }
}

/// The kernel has not taken the programs.
fn refused(kind: Kind, error: &libbpf_rs::Error) -> Error {
    let name = kind.name();
    if error.kind() == libbpf_rs::ErrorKind::PermissionDenied && !is_root() {
        return Error::Failed(format!(
            "{name} is not loaded: only root may (CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN): use sudo"
        ));
    }
    let messages = MESSAGES.lock().map(|messages| messages.clone()).unwrap_or_default();
    let lines: Vec<&str> = messages.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n  ");
    Error::Failed(format!(
        "the kernel refuses the scheduler {name}: {error}: report this with the version of the kernel; the last lines of libbpf and \
         of the verifier:\n  {last}"
    ))
}

/// The programs are in the kernel, but it does not make them its scheduler.
fn not_enabled(kind: Kind, error: &libbpf_rs::Error) -> Error {
    let name = kind.name();
    match fs::read_to_string("/sys/kernel/sched_ext/root/ops") {
        Ok(other) if !other.trim().is_empty() => Error::Failed(format!(
            "{name} is not loaded, because the kernel has the scheduler {} already: end that one first",
            other.trim()
        )),
        _ => Error::Failed(format!(
            "the kernel does not enable the scheduler {name}: {error}: dmesg has the reason"
        )),
    }
}

fn is_root() -> bool {
    fs::read_to_string("/proc/self/status").is_ok_and(|text| {
        text.lines().any(|line| line.starts_with("Uid:") && line.split_whitespace().nth(2) == Some("0"))
    })
}
