//! The waits for locks as the profiles signal of OpenTelemetry, which is an alpha: a later version may read these files no more.
//!
//! The file is one `ProfilesData` of [`VERSION`], in protocol buffers without compression. It has two profiles with the same
//! stacks: `contentions` in `count`, and `delay` in `nanoseconds`. As in pprof's form the lock is the leaf of its stack.
//!
//! ```
//! use unspin_report::{otlp, pprof};
//! use unspin_wire::RecordKind;
//!
//! let contention = pprof::Contention {
//!     lock: "queue_lock".into(),
//!     origin: None,
//!     kind: RecordKind::Mutex,
//!     pid: 4711,
//!     address: 0,
//!     callers: vec![pprof::Frame { function: "push".into(), file: "queue.c".into(), line: 57 }],
//!     contentions: 1200,
//!     delay: 0.35,
//! };
//! let file = otlp::encode(&["./program".into()], &[contention], 1_700_000_000_000_000_000, 2.0);
//! assert!(!file.is_empty());
//! ```

mod messages;

use crate::pprof::{Contention, Frame};
use messages::{
    AnyValue, Function, InstrumentationScope, KeyValue, KeyValueAndUnit, Line, Link, Location, Mapping,
    Profile, ProfilesData, ProfilesDictionary, Resource, ResourceProfiles, Sample, ScopeProfiles, Stack,
    Value, ValueType,
};
use prost::Message;
use std::collections::BTreeMap;

/// The version of opentelemetry-proto whose `profiles/v1development` is written.
pub const VERSION: &str = "1.10.0";

/// The file. `command` is the program with its arguments; `started` is in nanoseconds since the epoch. Contentions that differ
/// only in their numbers are added up.
pub fn encode(command: &[String], contentions: &[Contention], started: u64, seconds: f64) -> Vec<u8> {
    data(command, contentions, started, seconds).encode_to_vec()
}

fn data(command: &[String], contentions: &[Contention], started: u64, seconds: f64) -> ProfilesData {
    let mut tables = Tables::new(command);
    let mut sums = BTreeMap::<(i32, Vec<i32>), [i64; 2]>::new();
    for one in contentions {
        let [n, ns] = sums.entry((tables.stack(one), tables.attributes(one))).or_default();
        *n = n.saturating_add(i64::try_from(one.contentions).unwrap_or(i64::MAX));
        *ns = ns.saturating_add((one.delay * 1e9) as i64);
    }
    let types = [tables.value_type("contentions", "count"), tables.value_type("delay", "nanoseconds")];
    let profile = |at: usize| Profile {
        sample_type: Some(types[at]),
        samples: sums
            .iter()
            .map(|((stack, attributes), sum)| Sample {
                stack_index: *stack,
                attribute_indices: attributes.clone(),
                values: vec![sum[at]],
            })
            .collect(),
        time_unix_nano: started,
        duration_nano: (seconds * 1e9) as u64,
        // Every wait is counted.
        period_type: Some(types[0]),
        period: 1,
    };
    // Delays first: viewers show the first profile.
    let profiles = vec![profile(1), profile(0)];
    let scope = InstrumentationScope { name: "unspin".into(), version: env!("CARGO_PKG_VERSION").into() };
    let scope_profiles = vec![ScopeProfiles { scope: Some(scope), profiles }];
    let resource = Resource { attributes: resource(command) };
    let resource_profiles = vec![ResourceProfiles { resource: Some(resource), scope_profiles }];
    ProfilesData { resource_profiles, dictionary: Some(tables.dictionary) }
}

/// The program, in OpenTelemetry's names.
fn resource(command: &[String]) -> Vec<KeyValue> {
    let pair = |key: &str, value: String| KeyValue { key: key.into(), value: Some(text(value)) };
    let Some(program) = command.first() else { return Vec::new() };
    let name = program.rsplit('/').next().unwrap_or(program);
    vec![
        pair("service.name", format!("unknown_service:{name}")),
        pair("process.executable.name", name.into()),
        pair("process.command_line", command.join(" ")),
    ]
}

fn text(value: String) -> AnyValue {
    AnyValue { value: Some(Value::String(value)) }
}

/// The dictionary, and the numbers of what is in it.
struct Tables {
    dictionary: ProfilesDictionary,
    strings: BTreeMap<String, i32>,
    functions: BTreeMap<(String, String), i32>,
    locations: BTreeMap<Frame, i32>,
    stacks: BTreeMap<Stack, i32>,
    attributes: BTreeMap<(&'static str, AttributeValue), i32>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum AttributeValue {
    Text(String),
    Number(i64),
}

/// The number of the next entry of a table.
fn next<T>(table: &[T]) -> i32 {
    i32::try_from(table.len()).unwrap_or(i32::MAX)
}

impl Tables {
    /// The first entry of each table stands for none.
    fn new(command: &[String]) -> Tables {
        let dictionary = ProfilesDictionary {
            mapping_table: vec![Mapping::default()],
            location_table: vec![Location::default()],
            function_table: vec![Function::default()],
            link_table: vec![Link::default()],
            string_table: vec![String::new()],
            attribute_table: vec![KeyValueAndUnit::default()],
            stack_table: vec![Stack::default()],
        };
        let mut tables = Tables {
            dictionary,
            strings: BTreeMap::from([(String::new(), 0)]),
            functions: BTreeMap::new(),
            locations: BTreeMap::new(),
            stacks: BTreeMap::new(),
            attributes: BTreeMap::new(),
        };
        let filename_strindex = tables.string(command.first().map_or("", String::as_str));
        tables.dictionary.mapping_table.push(Mapping { filename_strindex });
        tables
    }

    fn string(&mut self, text: &str) -> i32 {
        if let Some(number) = self.strings.get(text) {
            return *number;
        }
        let number = next(&self.dictionary.string_table);
        self.dictionary.string_table.push(text.into());
        self.strings.insert(text.into(), number);
        number
    }

    fn value_type(&mut self, of: &str, unit: &str) -> ValueType {
        ValueType { type_strindex: self.string(of), unit_strindex: self.string(unit) }
    }

    /// The lock as the leaf of the stack, followed by its callers.
    fn stack(&mut self, one: &Contention) -> i32 {
        let mark = one.kind.mark().map_or(String::new(), |mark| format!(" {mark}"));
        let file = one.origin.clone().unwrap_or_default();
        let leaf = Frame { function: format!("{}{mark}", one.lock), file, line: 0 };
        let frames = [&leaf].into_iter().chain(&one.callers);
        let stack = Stack { location_indices: frames.map(|frame| self.location(frame)).collect() };
        if let Some(number) = self.stacks.get(&stack) {
            return *number;
        }
        let number = next(&self.dictionary.stack_table);
        self.dictionary.stack_table.push(stack.clone());
        self.stacks.insert(stack, number);
        number
    }

    fn location(&mut self, frame: &Frame) -> i32 {
        if let Some(number) = self.locations.get(frame) {
            return *number;
        }
        let line = Line { function_index: self.function(frame), line: frame.line.into() };
        let number = next(&self.dictionary.location_table);
        // The program's mapping. In which library a frame is, is not known here.
        self.dictionary.location_table.push(Location { mapping_index: 1, lines: vec![line] });
        self.locations.insert(frame.clone(), number);
        number
    }

    fn function(&mut self, frame: &Frame) -> i32 {
        let key = (frame.function.clone(), frame.file.clone());
        if let Some(number) = self.functions.get(&key) {
            return *number;
        }
        let name = self.string(&frame.function);
        let filename_strindex = self.string(&frame.file);
        let number = next(&self.dictionary.function_table);
        let function = Function { name_strindex: name, system_name_strindex: name, filename_strindex };
        self.dictionary.function_table.push(function);
        self.functions.insert(key, number);
        number
    }

    fn attributes(&mut self, one: &Contention) -> Vec<i32> {
        let pairs = [
            ("lock", AttributeValue::Text(one.lock.clone())),
            ("kind", AttributeValue::Text(one.kind.noun().into())),
            ("process.pid", AttributeValue::Number(one.pid.into())),
        ];
        pairs.into_iter().map(|(key, value)| self.attribute(key, value)).collect()
    }

    fn attribute(&mut self, key: &'static str, value: AttributeValue) -> i32 {
        if let Some(number) = self.attributes.get(&(key, value.clone())) {
            return *number;
        }
        let any = match value.clone() {
            AttributeValue::Text(value) => text(value),
            AttributeValue::Number(value) => AnyValue { value: Some(Value::Int(value)) },
        };
        let number = next(&self.dictionary.attribute_table);
        let key_strindex = self.string(key);
        self.dictionary.attribute_table.push(KeyValueAndUnit { key_strindex, value: Some(any) });
        self.attributes.insert((key, value), number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_wire::RecordKind;

    fn contention(lock: &str, caller: &str, pid: u32, contentions: u64, delay: f64) -> Contention {
        let frame = Frame { function: caller.into(), file: "a.c".into(), line: 7 };
        Contention {
            lock: lock.into(),
            origin: None,
            kind: RecordKind::Write,
            pid,
            address: 0,
            callers: vec![frame],
            contentions,
            delay,
        }
    }

    #[test]
    fn decoded_profiles_equal_the_input() {
        let all = [
            contention("a_lock", "push", 7, 3, 0.5),
            contention("a_lock", "push", 7, 4, 0.25),
            contention("a_lock", "pop", 8, 1, 0.125),
        ];
        let file = encode(&["/bin/program".into(), "-x".into()], &all, 5_000, 2.0);
        let ProfilesData { resource_profiles, dictionary } = ProfilesData::decode(&file[..]).unwrap();
        let dictionary = dictionary.unwrap();
        let text = |number: i32| dictionary.string_table[number as usize].as_str();
        let function = |location: i32| {
            let location = &dictionary.location_table[location as usize];
            text(dictionary.function_table[location.lines[0].function_index as usize].name_strindex)
        };
        let profiles = &resource_profiles[0].scope_profiles[0].profiles;
        let of = |profile: &Profile| -> Vec<(String, i64)> {
            let stack = |sample: &Sample| {
                let stack = &dictionary.stack_table[sample.stack_index as usize];
                stack.location_indices.iter().map(|at| function(*at)).collect::<Vec<_>>().join(" < ")
            };
            let mut rows: Vec<_> = profile.samples.iter().map(|s| (stack(s), s.values[0])).collect();
            rows.sort();
            rows
        };
        let (push, pop) = ("a_lock (writes) < push".to_string(), "a_lock (writes) < pop".to_string());
        assert_eq!(of(&profiles[0]), [(pop.clone(), 125_000_000), (push.clone(), 750_000_000)]);
        assert_eq!(of(&profiles[1]), [(pop, 1), (push, 7)]);
        let types = |profile: &Profile| {
            profile.sample_type.map(|of| (text(of.type_strindex), text(of.unit_strindex)))
        };
        assert_eq!(types(&profiles[0]), Some(("delay", "nanoseconds")));
        assert_eq!(types(&profiles[1]), Some(("contentions", "count")));
        assert_eq!((profiles[0].time_unix_nano, profiles[0].duration_nano), (5_000, 2_000_000_000));
        let resource = resource_profiles[0].resource.as_ref().unwrap();
        assert_eq!(resource.attributes[0].value, Some(super::text("unknown_service:program".into())));
    }

    #[test]
    fn first_entries_of_tables_are_empty_and_none_is_twice() {
        let all = [contention("a_lock", "push", 7, 3, 0.5), contention("b_lock", "push", 7, 3, 0.5)];
        let dictionary = data(&[], &all, 0, 1.0).dictionary.unwrap();
        assert_eq!(dictionary.string_table[0], "");
        assert_eq!(dictionary.stack_table[0], Stack::default());
        assert_eq!(dictionary.attribute_table[0], KeyValueAndUnit::default());
        assert_eq!((dictionary.link_table.len(), dictionary.mapping_table.len()), (1, 2));
        // Two locks, one caller.
        assert_eq!((dictionary.location_table.len(), dictionary.stack_table.len()), (4, 3));
        let mut strings = dictionary.string_table.clone();
        strings.sort();
        strings.dedup();
        assert_eq!(strings.len(), dictionary.string_table.len());
    }
}
