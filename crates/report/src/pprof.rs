//! The lock table for `go tool pprof` and for servers of continuous profiles. The sample types are those of Go's own
//! mutex profile: `contentions/count` and `delay/nanoseconds`.
//!
//! ```
//! use unspin_report::pprof;
//! use unspin_wire::RecordKind;
//!
//! let frame = |function: &str, line| pprof::Frame { function: function.into(), file: "queue.c".into(), line };
//! let contention = pprof::Contention {
//!     lock: "queue_lock".into(),
//!     origin: Some("static, queue.c:31".into()),
//!     kind: RecordKind::Mutex,
//!     pid: 4711,
//!     address: 0x55d2_0c01_13f0,
//!     callers: vec![frame("push", 57), frame("main", 9)],
//!     contentions: 1200,
//!     delay: 0.35,
//! };
//! let file = pprof::encode("./program", &[contention], 1_700_000_000_000_000_000, 2.0);
//! assert_eq!(&file[..2], [0x1F, 0x8B], "compressed with gzip, as pprof expects it");
//! ```

mod ended_waits;
mod holders;
mod profile;
mod samples;

pub use self::ended_waits::EndedWaits;
pub use self::holders::{UNKNOWN_HOLDER, holders};
pub use self::samples::{Sampled, encode_samples};

use self::profile::{Function, Label, Line, Location, Mapping, Profile, Sample, ValueType};
use crate::fold;
use crate::name::{Name, Names};
use crate::report;
use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use unspin_wire::{Class, Image, Key, RecordKind, Snapshot};

/// A position in the program.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Frame {
    /// The function, demangled.
    pub function: String,
    /// The source file; empty if unknown.
    pub file: String,
    /// The line; 0 if unknown.
    pub line: u32,
}

/// The waits for one lock by one caller.
#[derive(Clone, PartialEq, Debug)]
pub struct Contention {
    /// The lock's name: the leaf of the stack, so that `-top` lists locks.
    pub lock: String,
    /// How the name is known.
    pub origin: Option<String>,
    /// The kind of use.
    pub kind: RecordKind,
    /// The process.
    pub pid: u32,
    /// The return address of the call; 0 if it is not known.
    pub address: u64,
    /// The callers that took the lock, innermost first.
    pub callers: Vec<Frame>,
    /// Attempts that waited.
    pub contentions: u64,
    /// Total wait in seconds.
    pub delay: f64,
}

/// Returns the frames of a key's caller, innermost first. If it returns none, the caller is shown by its name.
pub type Frames<'a> = dyn Fn(&Image, &Key) -> Vec<Frame> + 'a;

/// The waits for locks in a snapshot. All other waits are omitted, because idling is no delay.
pub fn contentions(snapshot: &Snapshot, names: &Names<'_>, frames: &Frames<'_>) -> Vec<Contention> {
    of_kinds(snapshot, names, frames, |kind| kind.class() == Class::Lock)
}

/// The waits that Go's profile `block` has: for locks, conditions, barriers, semaphores, and ends of threads. Each is that of
/// the thread that waited. Waits for descriptors are omitted, as Go omits those for the network.
pub fn blocked(snapshot: &Snapshot, names: &Names<'_>, frames: &Frames<'_>) -> Vec<Contention> {
    of_kinds(snapshot, names, frames, |kind| {
        kind.class() == Class::Lock || kind.is_by_design() || kind == RecordKind::Join
    })
}

fn of_kinds(
    snapshot: &Snapshot,
    names: &Names<'_>,
    frames: &Frames<'_>,
    is_one: impl Fn(RecordKind) -> bool,
) -> Vec<Contention> {
    let mut all = Vec::new();
    for image in &snapshot.images {
        for (key, record) in &image.rows {
            let (contentions, delay) = (record.counts.waiters(), record.counts.wait());
            // A wait may be counted in one interval, and its time in the next.
            if is_one(fold::kind(key)) && (contentions, delay) != (0, 0) {
                all.push(contention(
                    image,
                    key,
                    contentions,
                    snapshot.window.to_seconds(delay),
                    names,
                    frames,
                ));
            }
        }
    }
    all
}

fn contention(
    image: &Image,
    key: &Key,
    contentions: u64,
    delay: f64,
    names: &Names<'_>,
    frames: &Frames<'_>,
) -> Contention {
    let Name { lock, origin, caller, .. } = report::name(names, image, key);
    let mut callers = frames(image, key);
    if callers.is_empty() {
        callers.push(Frame { function: caller, ..Frame::default() });
    }
    let (kind, pid, address) = (fold::kind(key), image.pid, key.caller);
    // The caller is the name of a wait without an object; it is the next frame anyway.
    let (lock, origin) = if kind.has_object() { (lock, origin) } else { (kind.noun().into(), None) };
    Contention { lock, origin, kind, pid, address, callers, contentions, delay }
}

/// The profile as a file: protocol buffers, compressed with gzip. `program` is the program that was run; `started` is
/// in nanoseconds since the epoch. Contentions that differ only in their numbers are added up.
pub fn encode(program: &str, contentions: &[Contention], started: u64, seconds: f64) -> Vec<u8> {
    compressed(&Builder::new(program).build(contentions, started, seconds))
}

fn compressed(profile: &Profile) -> Vec<u8> {
    let mut file = GzEncoder::new(Vec::new(), Compression::default());
    let written = file.write_all(&profile.encode_to_vec()).and_then(|()| file.finish());
    written.expect("memory takes everything")
}

/// The texts, functions and locations that have been assigned numbers.
#[derive(Default)]
struct Builder {
    profile: Profile,
    texts: BTreeMap<String, i64>,
    functions: BTreeMap<(String, String), u64>,
    locations: BTreeMap<Frame, u64>,
}

impl Builder {
    fn new(program: &str) -> Builder {
        let mut builder = Builder::default();
        builder.text("");
        let filename = builder.text(program);
        // The flags say that the profile contains all names, so that pprof does not look for the binary.
        builder.profile.mapping.push(Mapping {
            id: 1,
            filename,
            has_functions: true,
            has_filenames: true,
            has_line_numbers: true,
            has_inline_frames: true,
        });
        builder
    }

    fn build(mut self, contentions: &[Contention], started: u64, seconds: f64) -> Profile {
        let count = ValueType { r#type: self.text("contentions"), unit: self.text("count") };
        let delay = ValueType { r#type: self.text("delay"), unit: self.text("nanoseconds") };
        let mut samples = BTreeMap::<(Vec<u64>, Vec<(i64, i64, i64)>), [i64; 2]>::new();
        for contention in contentions {
            let key = (self.stack(contention), self.labels(contention));
            let [n, ns] = samples.entry(key).or_default();
            *n = n.saturating_add(i64::try_from(contention.contentions).unwrap_or(i64::MAX));
            // A number that is too large, which occurs only in a damaged recording, becomes the maximum.
            *ns = ns.saturating_add((contention.delay * 1e9) as i64);
        }
        let label = |(key, str, num)| Label { key, str, num };
        let sample = |((location_id, labels), value): ((Vec<u64>, Vec<_>), [i64; 2])| Sample {
            location_id,
            value: value.into(),
            label: labels.into_iter().map(label).collect(),
        };
        Profile {
            sample_type: vec![count, delay],
            sample: samples.into_iter().map(sample).collect(),
            time_nanos: started as i64,
            duration_nanos: (seconds * 1e9) as i64,
            period_type: Some(count),
            // Period 1: every wait is counted.
            period: 1,
            default_sample_type: delay.r#type,
            ..self.profile
        }
    }

    /// The lock as the leaf of the stack, followed by its callers.
    fn stack(&mut self, contention: &Contention) -> Vec<u64> {
        let file = contention.origin.clone().unwrap_or_default();
        let mark = contention.kind.mark().map_or(String::new(), |mark| format!(" {mark}"));
        let leaf = Frame { function: format!("{}{mark}", contention.lock), file, line: 0 };
        [&leaf].into_iter().chain(&contention.callers).map(|frame| self.location(frame)).collect()
    }

    fn labels(&mut self, contention: &Contention) -> Vec<(i64, i64, i64)> {
        let kind = contention.kind.noun();
        vec![
            (self.text("lock"), self.text(&contention.lock), 0),
            (self.text("kind"), self.text(kind), 0),
            (self.text("pid"), 0, contention.pid.into()),
        ]
    }

    fn text(&mut self, text: &str) -> i64 {
        if let Some(number) = self.texts.get(text) {
            return *number;
        }
        let number = self.profile.string_table.len() as i64;
        self.profile.string_table.push(text.into());
        self.texts.insert(text.into(), number);
        number
    }

    fn location(&mut self, frame: &Frame) -> u64 {
        if let Some(id) = self.locations.get(frame) {
            return *id;
        }
        let id = self.locations.len() as u64 + 1;
        let line = Line { function_id: self.function(frame), line: frame.line.into() };
        self.profile.location.push(Location { id, mapping_id: 1, address: address(frame), line: vec![line] });
        self.locations.insert(frame.clone(), id);
        id
    }

    fn function(&mut self, frame: &Frame) -> u64 {
        let key = (frame.function.clone(), frame.file.clone());
        if let Some(id) = self.functions.get(&key) {
            return *id;
        }
        let id = self.functions.len() as u64 + 1;
        let (name, filename) = (self.text(&frame.function), self.text(&frame.file));
        self.profile.function.push(Function { id, name, system_name: name, filename });
        self.functions.insert(key, id);
        id
    }
}

/// An address for a position. A client that compares two profiles, such as Grafana Alloy, tells stacks apart by the addresses in
/// them. Locks have none, and one function of several processes has several: so it is a number that each profile of a
/// recording has for the same position.
fn address(frame: &Frame) -> u64 {
    let mut hasher = DefaultHasher::new();
    frame.hash(&mut hasher);
    // 0 means that there is none.
    hasher.finish().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use std::io::Read;

    fn decode(file: &[u8]) -> Profile {
        let mut bytes = Vec::new();
        GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
        Profile::decode(&bytes[..]).unwrap()
    }

    fn contention(lock: &str, callers: &[(&str, u32)], contentions: u64, delay: f64) -> Contention {
        let frame = |(function, line): &(&str, u32)| Frame {
            function: function.to_string(),
            file: "a.c".into(),
            line: *line,
        };
        let callers = callers.iter().map(frame).collect();
        Contention {
            lock: lock.into(),
            origin: None,
            kind: RecordKind::Mutex,
            pid: 7,
            address: 0,
            callers,
            contentions,
            delay,
        }
    }

    #[test]
    fn decoded_profile_equals_the_input() {
        let all = [
            contention("a_lock", &[("push", 10), ("main", 1)], 3, 0.5),
            contention("a_lock", &[("pop", 20), ("main", 1)], 2, 0.25),
            contention("b_lock", &[("push", 11)], 1, 1e-9),
            contention("a_lock", &[("push", 10), ("main", 1)], 4, 0.125),
        ];
        let profile = decode(&encode("./program", &all, 5_000, 2.0));
        let text = |number: i64| profile.string_table[number as usize].as_str();
        assert_eq!(text(0), "");
        let types: Vec<_> = profile.sample_type.iter().map(|t| (text(t.r#type), text(t.unit))).collect();
        assert_eq!(types, [("contentions", "count"), ("delay", "nanoseconds")]);
        assert_eq!((profile.time_nanos, profile.duration_nanos, profile.period), (5_000, 2_000_000_000, 1));
        assert_eq!(text(profile.default_sample_type), "delay");
        assert_eq!(text(profile.mapping[0].filename), "./program");

        let frame = |id: &u64| {
            let location = profile.location.iter().find(|location| location.id == *id).unwrap();
            let line = location.line[0];
            let function = profile.function.iter().find(|function| function.id == line.function_id).unwrap();
            format!("{}:{}", text(function.name), line.line)
        };
        let mut samples: Vec<(String, &[i64])> = profile
            .sample
            .iter()
            .map(|s| (s.location_id.iter().map(frame).collect::<Vec<_>>().join(" < "), &s.value[..]))
            .collect();
        samples.sort();
        assert_eq!(
            samples,
            [
                ("a_lock:0 < pop:20 < main:1".to_string(), &[2, 250_000_000][..]),
                ("a_lock:0 < push:10 < main:1".into(), &[7, 625_000_000]),
                ("b_lock:0 < push:11".into(), &[1, 1]),
            ]
        );
        let labels = |s: &Sample| -> Vec<(String, String, i64)> {
            s.label.iter().map(|l| (text(l.key).into(), text(l.str).into(), l.num)).collect()
        };
        assert!(labels(&profile.sample[0]).contains(&("kind".into(), "mutex".into(), 0)));
        assert!(profile.sample.iter().all(|s| labels(s).contains(&("pid".into(), String::new(), 7))));
        // One function that is called at two lines is one function.
        assert_eq!(profile.function.iter().filter(|function| text(function.name) == "push").count(), 1);
    }

    /// Two profiles are compared by the addresses in stacks.
    #[test]
    fn positions_have_the_same_addresses_in_each_profile() {
        let one = contention("a_lock", &[("push", 10), ("main", 1)], 3, 0.5);
        let two = contention("a_lock", &[("push", 11)], 3, 0.5);
        let addresses = |all: &[Contention]| -> Vec<u64> {
            decode(&encode("x", all, 0, 1.0)).location.iter().map(|location| location.address).collect()
        };
        let both = addresses(&[two.clone(), one.clone()]);
        assert_eq!(both.len(), 4);
        assert!(both.iter().enumerate().all(|(at, address)| *address != 0 && !both[..at].contains(address)));
        assert!([addresses(&[one]), addresses(&[two])].concat().iter().all(|address| both.contains(address)));
    }

    #[test]
    fn empty_input_gives_an_empty_profile() {
        let profile = decode(&encode("x", &[], 0, 1.0));
        assert!(profile.sample.is_empty() && profile.sample_type.len() == 2);
    }
}
