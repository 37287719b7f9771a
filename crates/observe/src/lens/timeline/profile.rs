//! The waits of all lenses as a profile of the Firefox Profiler.
//!
//! Each wait is a marker in the track of its thread. One lens also gives the samples, each with the time of its wait as weight, so
//! that the call tree and the flame graph show where threads wait: the off-cpu lens if it is there, because its waits do not overlap
//! those of other lenses; else the first lens.

use super::lens_timeline::{LensTimeline, NamedWait, WaitField, WaitValue};
use super::threads::ObservedThreads;
use super::track::Track;
use super::tracks::{TrackWaits, Tracks, total};
use crate::settings::Lens;
use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, Marker, MarkerFieldFlags,
    MarkerFieldFormat, MarkerLocations, MarkerTiming, MarkerTypeHandle, ProcessHandle, Profile,
    RuntimeSchemaMarkerField, RuntimeSchemaMarkerSchema, SamplingInterval, StackHandle, StringHandle,
    ThreadHandle, Timestamp, WeightType,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use unspin_sys::printable;

/// Tracks that a viewer shows at first.
const SHOWN_AT_FIRST: usize = 20;
/// Fields of a marker.
const FIELDS_MAX: usize = 8;

/// Converts the waits of these lenses. The notes are shown over the whole time.
pub fn of(
    tracks: &Tracks<'_>,
    lenses: &[LensTimeline],
    threads: &ObservedThreads,
    command: &str,
    notes: &[String],
) -> Profile {
    let interval = SamplingInterval::from_millis(1);
    let profile = Profile::new(&printable::line(command), threads.began_at().into(), interval);
    let mut writer = Writer { profile, threads, processes: BTreeMap::new(), names: HashMap::new() };
    writer.profile.set_symbolicated(true);
    writer.profile.set_os_name("Linux");
    let kinds: Vec<LensKind> = lenses.iter().map(|lens| writer.kind(lens)).collect();
    let mut by_time = Vec::new();
    for (&track, waits) in &tracks.tracks {
        let thread = writer.thread(track);
        by_time.push((Reverse(total(waits)), thread));
        writer.add_waits(thread, waits, lenses, &kinds);
    }
    by_time.sort();
    for &(_, thread) in by_time.iter().take(SHOWN_AT_FIRST) {
        writer.profile.add_initial_visible_thread(thread);
    }
    if let Some(&(_, longest)) = by_time.first() {
        writer.profile.add_initial_selected_thread(longest);
    }
    writer.add_notes(notes);
    writer.profile
}

/// The lens. Its waits are the samples, too.
fn sampled(lenses: &[LensTimeline]) -> usize {
    lenses.iter().position(|one| one.lens == Lens::OffCpu).unwrap_or(0)
}

/// How the waits of a lens are written.
struct LensKind {
    kind: MarkerTypeHandle,
    category: CategoryHandle,
    /// Of each label: its name, and the values of its fields.
    labels: Vec<(StringHandle, Vec<StringHandle>)>,
}

struct Writer<'t> {
    profile: Profile,
    threads: &'t ObservedThreads,
    processes: BTreeMap<u32, ProcessHandle>,
    /// The names of threads that woke others.
    names: HashMap<Track, StringHandle>,
}

impl Writer<'_> {
    fn intern(&mut self, text: &str) -> StringHandle {
        self.profile.intern_string(&printable::line(text))
    }

    /// Time since the observation began.
    fn since_begin(&self, ns: u64) -> Timestamp {
        Timestamp::from_nanos_since_reference(ns.saturating_sub(self.threads.began()))
    }

    fn kind(&mut self, lens: &LensTimeline) -> LensKind {
        assert!(lens.fields.len() <= FIELDS_MAX, "a marker has room for them");
        let (category, color) = match lens.lens {
            Lens::Futex => ("futex wait", CategoryColor::Orange),
            Lens::Kernel => ("kernel lock", CategoryColor::Red),
            Lens::OffCpu => ("off-CPU", CategoryColor::Blue),
            Lens::Pthread => unreachable!("the pthread lens has no times"),
        };
        let type_name = format!("unspin-{}", lens.lens.name());
        let labels = lens.labels.iter().map(|label| {
            let values = label.values.iter().map(|value| self.intern(value)).collect();
            (self.intern(&label.name), values)
        });
        let labels = labels.collect();
        LensKind {
            kind: self.profile.register_marker_type(schema(type_name, lens.fields)),
            category: self.profile.add_category(category, color),
            labels,
        }
    }

    fn process(&mut self, track: Track) -> ProcessHandle {
        let pid = track.pid();
        if let Some(&known) = self.processes.get(&pid) {
            return known;
        }
        let name = self.threads.process_name(track);
        let first = self.threads.get(Track::Thread(pid, pid));
        let start = self.since_begin(first.and_then(|thread| thread.started).unwrap_or(0));
        let process = self.profile.add_process(&printable::line(&name), pid, start);
        if let Some(ended) = first.and_then(|thread| thread.ended) {
            let end = self.since_begin(ended);
            self.profile.set_process_end_time(process, end);
        }
        self.processes.insert(pid, process);
        process
    }

    fn thread(&mut self, track: Track) -> ThreadHandle {
        let process = self.process(track);
        let known = self.threads.get(track);
        let start = self.since_begin(known.and_then(|thread| thread.started).unwrap_or(0));
        let is_first = matches!(track, Track::Thread(pid, tid) if pid == tid);
        let thread = self.profile.add_thread(process, track.tid(), start, is_first);
        if let Some(ended) = known.and_then(|thread| thread.ended) {
            let end = self.since_begin(ended);
            self.profile.set_thread_end_time(thread, end);
        }
        let name = self.threads.name(track);
        self.profile.set_thread_name(thread, &printable::line(&name));
        self.profile.set_thread_show_markers_in_timeline(thread, true);
        self.profile.set_thread_samples_weight_type(thread, WeightType::TracingMs);
        thread
    }

    fn add_waits(
        &mut self,
        thread: ThreadHandle,
        waits: &TrackWaits<'_>,
        lenses: &[LensTimeline],
        kinds: &[LensKind],
    ) {
        let sampled = sampled(lenses);
        let mut stacks = HashMap::<(usize, usize), Option<StackHandle>>::new();
        let mut weights = Weights::default();
        let mut cpu_ns = 0;
        for &(lens, wait) in waits {
            let (of, kind) = (&lenses[lens], &kinds[lens]);
            let known = stacks.get(&(lens, wait.label)).copied();
            let stack =
                known.unwrap_or_else(|| self.stack(thread, &of.labels[wait.label].frames, kind.category));
            stacks.insert((lens, wait.label), stack);
            let (start, end) = (self.since_begin(wait.start), self.since_begin(wait.end.max(wait.start)));
            let marker = self.marker(of, kind, wait);
            let marker = self.profile.add_marker(thread, MarkerTiming::Interval(start, end), marker);
            self.profile.set_marker_stack(thread, marker, stack);
            if lens != sampled {
                continue;
            }
            if let Some(weight) = weights.add(stack, wait.ns()) {
                let cpu = CpuDelta::from_nanos(wait.cpu_ns.saturating_sub(cpu_ns));
                cpu_ns = wait.cpu_ns.max(cpu_ns);
                self.profile.add_sample(thread, start, stack, cpu, weight);
            }
        }
    }

    fn marker(&mut self, lens: &LensTimeline, kind: &LensKind, wait: &NamedWait) -> WaitMarker {
        let (name, of_label) = &kind.labels[wait.label];
        let mut values = [*name; FIELDS_MAX];
        for (value, field) in values.iter_mut().zip(lens.fields) {
            *value = match field.value {
                WaitValue::Label(n) => of_label[n],
                WaitValue::Outcome => self.profile.intern_string(wait.outcome),
                WaitValue::Waker => self.waker(wait.waker),
            };
        }
        WaitMarker { kind: kind.kind, name: *name, category: kind.category, values }
    }

    fn waker(&mut self, waker: Option<Track>) -> StringHandle {
        let Some(track) = waker else { return self.profile.intern_string("") };
        if let Some(&known) = self.names.get(&track) {
            return known;
        }
        let name = self.threads.name(track);
        let known = self.intern(&format!("{name} ({})", track.tid()));
        self.names.insert(track, known);
        known
    }

    fn stack(
        &mut self,
        thread: ThreadHandle,
        frames: &[String],
        category: CategoryHandle,
    ) -> Option<StackHandle> {
        let labels: Vec<StringHandle> = frames.iter().map(|frame| self.intern(frame)).collect();
        let frame = |label| FrameInfo {
            frame: Frame::Label(label),
            category_pair: category.into(),
            flags: FrameFlags::empty(),
        };
        self.profile.intern_stack_frames(thread, labels.into_iter().map(frame))
    }

    /// Notes as markers over the whole time, in a process of their own.
    fn add_notes(&mut self, notes: &[String]) {
        if notes.is_empty() {
            return;
        }
        let fields = &[WaitField { key: "text", label: "Note", value: WaitValue::Label(0) }];
        let kind = self.profile.register_marker_type(schema("unspin-note".into(), fields));
        let begin = self.since_begin(0);
        let end = self.since_begin(self.threads.ended());
        let process = self.profile.add_process("unspin", NOTES, begin);
        let thread = self.profile.add_thread(process, NOTES, begin, true);
        self.profile.set_thread_show_markers_in_timeline(thread, true);
        self.profile.set_thread_samples_weight_type(thread, WeightType::TracingMs);
        self.profile.add_initial_visible_thread(thread);
        let name = self.intern("what this file lacks");
        for note in notes {
            let values = [self.intern(note); FIELDS_MAX];
            let marker = WaitMarker { kind, name, category: CategoryHandle::OTHER, values };
            self.profile.add_marker(thread, MarkerTiming::Interval(begin, end), marker);
        }
    }
}

/// The number of the process that holds the notes: above those that the kernel gives (PID_MAX_LIMIT, 2^22).
const NOTES: u32 = 1 << 22;

/// The weights of the samples of a thread. They are whole milliseconds. What a wait has less or more than that goes to the next wait of
/// the same stack, so that the sum of each stack is its time, rounded.
#[derive(Default)]
struct Weights {
    /// Nanoseconds that no sample has, by stack, and half a millisecond.
    rest_ns: HashMap<Option<StackHandle>, u64>,
}

const MILLISECOND: u64 = 1_000_000;

impl Weights {
    /// The weight of a wait; none if it has none.
    fn add(&mut self, stack: Option<StackHandle>, ns: u64) -> Option<i32> {
        let rest = self.rest_ns.entry(stack).or_insert(MILLISECOND / 2);
        *rest += ns;
        let weight = i32::try_from(*rest / MILLISECOND).unwrap_or(i32::MAX);
        *rest %= MILLISECOND;
        (weight > 0).then_some(weight)
    }
}

/// The form of the markers of a lens.
fn schema(type_name: String, fields: &[WaitField]) -> RuntimeSchemaMarkerSchema {
    let field = |field: &WaitField| RuntimeSchemaMarkerField {
        key: field.key.into(),
        label: field.label.into(),
        format: MarkerFieldFormat::String,
        flags: MarkerFieldFlags::SEARCHABLE,
    };
    // The last field of a label tells most: the caller.
    let shown = fields.iter().rfind(|field| matches!(field.value, WaitValue::Label(_)));
    let label = shown.map(|field| format!("{{marker.data.{}}}", field.key));
    RuntimeSchemaMarkerSchema {
        type_name,
        description: None,
        locations: MarkerLocations::MARKER_CHART
            | MarkerLocations::MARKER_TABLE
            | MarkerLocations::TIMELINE_OVERVIEW,
        table_label: label.clone().map(|label| format!("{{marker.name}}: {label}")),
        tooltip_label: Some("{marker.name}".into()),
        chart_label: label,
        fields: fields.iter().map(field).collect(),
        graphs: Vec::new(),
    }
}

/// A wait as a marker. Its fields are those of its lens.
struct WaitMarker {
    kind: MarkerTypeHandle,
    name: StringHandle,
    category: CategoryHandle,
    values: [StringHandle; FIELDS_MAX],
}

impl Marker for WaitMarker {
    fn marker_type(&self, _: &mut Profile) -> MarkerTypeHandle {
        self.kind
    }

    fn name(&self, _: &mut Profile) -> StringHandle {
        self.name
    }

    fn category(&self, _: &mut Profile) -> CategoryHandle {
        self.category
    }

    fn string_field_value(&self, field: u32) -> StringHandle {
        self.values[field as usize]
    }

    fn number_field_value(&self, _: u32) -> f64 {
        unreachable!("all fields are strings")
    }
}
