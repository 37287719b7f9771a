//! Loads the schedulers by libbpf and reads what they count.

use crate::counters::Counters;
use crate::error::Error;
use crate::locks::{LockClass, LockUse};
use crate::options::{Kind, Options};
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Func;
use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder, OpenMapMut, OpenObject, PrintLevel};
use std::ffi::OsStr;
use std::fs;
use std::sync::Mutex;

const GLOBAL: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/global.bpf.o"));
const MQ: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/mq.bpf.o"));

/// `MAX_CPUS` of bpf/tasks.h, and the number of `OTHER_LOCK`.
const MAX_CPUS: u32 = 512;
const OTHER_LOCK: u32 = 2 * MAX_CPUS;

/// Tells that a CPU runs a task of a higher class.
const SWITCH_PROGRAM: &str = "on_switch";
/// Puts tasks into a queue again, on kernels where `on_switch` may not.
const RELEASE_PROGRAM: &str = "on_release";
/// The function of the kernel by which `on_switch` does that: Linux 6.19.
const REENQUEUE_FROM_EVERYWHERE: &str = "scx_bpf_reenqueue_local___v2";

/// The programs of bpf/locks.h.
const LOCK_PROGRAMS: [&str; 4] = ["native_begin", "native_end", "pv_begin", "pv_end"];
/// Those without which no lock is measured. The others are for guests of KVM.
const NEEDED: [&str; 2] = ["native_begin", "native_end"];
/// What the others trace. Kernels without CONFIG_PARAVIRT_SPINLOCKS do not have it.
const GUEST_SLOW_PATH: &str = "__pv_queued_spin_lock_slowpath";
/// Where the operation `cpu_release` is in `struct sched_ext_ops` of bpf/kernel.h.
const CPU_RELEASE: usize = 8;

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
    /// The programs beside it: that of task switches, those that measure locks.
    tracing: Vec<Link>,
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
        let tracing = attach_tracing(&mut object)?;
        let attached = attach(&mut object).map_err(|error| not_enabled(kind, &error))?;
        Ok(Scheduler { object, kind, attached: Some(attached), tracing })
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
        self.attached = None;
        self.tracing.clear();
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

/// Opens the object file and sets what the options and the kernel say.
fn open(options: &Options) -> libbpf_rs::Result<OpenObject> {
    let bytes = if options.scheduler == Kind::Global { GLOBAL } else { MQ };
    let mut open = ObjectBuilder::default().open_memory(bytes)?;
    let kernel = Btf::from_vmlinux()?;
    let has_function = |name: &str| kernel.type_by_name::<Func<'_>>(name).is_some();
    let reenqueues_at_switch = has_function(REENQUEUE_FROM_EVERYWHERE);
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        // Both have it as the first field.
        match name.as_str() {
            ".rodata.settings" => set(&mut map, 0, &u32::from(options.locks).to_ne_bytes()),
            "scheduler" => {
                set(&mut map, 0, &options.timeout_ms.to_ne_bytes());
                if reenqueues_at_switch {
                    set(&mut map, CPU_RELEASE, &[0; 8]);
                }
            }
            _ => {}
        }
    }
    for mut program in open.progs_mut() {
        let name = program.name().to_string_lossy().into_owned();
        if name == RELEASE_PROGRAM && reenqueues_at_switch {
            program.set_autoload(false);
        } else if LOCK_PROGRAMS.contains(&name.as_str()) {
            let is_used = NEEDED.contains(&name.as_str()) || is_guest() && has_function(GUEST_SLOW_PATH);
            program.set_autoload(options.locks && is_used);
        }
    }
    Ok(open)
}

/// Sets these bytes of a map's initial value.
fn set(map: &mut OpenMapMut<'_>, offset: usize, bytes: &[u8]) {
    if let Some(field) = map.initial_value_mut().and_then(|value| value.get_mut(offset..offset + bytes.len()))
    {
        field.copy_from_slice(bytes);
    }
}

/// Guests of KVM and Xen wait for spin locks in another function.
fn is_guest() -> bool {
    fs::read_to_string("/sys/hypervisor/type").is_ok()
        || fs::read_to_string("/proc/cpuinfo")
            .is_ok_and(|text| text.split_whitespace().any(|flag| flag == "hypervisor"))
}

/// Attaches the programs that are loaded and are no operations of the scheduler.
fn attach_tracing(object: &mut Object) -> Result<Vec<Link>, Error> {
    let mut links = Vec::new();
    for program in object.progs_mut().filter(|program| program.autoload()) {
        let name = program.name().to_string_lossy().into_owned();
        let is_switch = name == SWITCH_PROGRAM;
        if !is_switch && !LOCK_PROGRAMS.contains(&name.as_str()) {
            continue;
        }
        let link = program.attach().map_err(|error| {
            Error::Failed(if is_switch {
                format!("the kernel's task switches cannot be traced: {error}: use a kernel with CONFIG_DEBUG_INFO_BTF=y")
            } else {
                format!("--locks: the kernel's slow path of spin locks cannot be traced: {error}: omit --locks")
            })
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
