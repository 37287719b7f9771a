//! Reads a profile in the processed format of the Firefox Profiler as that program does: every index must be in its table, and every
//! column as long as its table.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A thread of a profile.
#[derive(Debug)]
pub struct FirefoxThread {
    /// The name that is shown.
    pub name: String,
    /// The name of its process.
    pub process: String,
    /// The number of its process.
    pub pid: String,
    /// Its number.
    pub tid: String,
    /// Its markers.
    pub markers: Vec<FirefoxMarker>,
    /// Its samples.
    pub samples: Vec<FirefoxSample>,
}

/// An interval. Times are in nanoseconds since the beginning of the profile.
#[derive(Debug)]
pub struct FirefoxMarker {
    /// The name of its schema.
    pub kind: String,
    /// The name that is shown.
    pub name: String,
    /// Its beginning.
    pub start: u64,
    /// Its end.
    pub end: u64,
    /// The fields of its schema.
    pub fields: BTreeMap<String, String>,
    /// The functions of its stack, innermost first.
    pub stack: Vec<String>,
}

/// A sample.
#[derive(Debug)]
pub struct FirefoxSample {
    /// Its weight in milliseconds.
    pub weight: i64,
    /// The functions of its stack, innermost first.
    pub stack: Vec<String>,
}

type Read<T> = Result<T, String>;

/// The threads of a profile; or what is wrong with it.
pub fn threads(profile: &Value) -> Read<Vec<FirefoxThread>> {
    let meta = &profile["meta"];
    if !meta["preprocessedProfileVersion"].is_u64() || !meta["product"].is_string() {
        return Err(format!("the head is no head of a profile: {meta}"));
    }
    let shared =
        Shared { schemas: schemas(meta)?, categories: array(&meta["categories"], "categories")?.len() };
    let listed = array(&profile["threads"], "threads")?;
    let threads: Vec<FirefoxThread> =
        listed.iter().map(|thread| Reader::new(thread, &shared)?.thread()).collect::<Read<_>>()?;
    for list in ["initialVisibleThreads", "initialSelectedThreads"] {
        for number in meta[list].as_array().into_iter().flatten() {
            index(number, threads.len(), list)?;
        }
    }
    let numbers: BTreeSet<(&str, &str)> = threads.iter().map(|one| (&*one.pid, &*one.tid)).collect();
    if numbers.len() != threads.len() {
        return Err("two threads have one number".into());
    }
    Ok(threads)
}

/// What all threads share.
struct Shared {
    /// The fields of each schema that are indices into the table of strings.
    schemas: BTreeMap<String, Vec<String>>,
    categories: usize,
}

fn schemas(meta: &Value) -> Read<BTreeMap<String, Vec<String>>> {
    let mut schemas = BTreeMap::new();
    for schema in array(&meta["markerSchema"], "markerSchema")? {
        let mut fields = Vec::new();
        for field in array(&schema["fields"], "fields")? {
            if field["format"] != "unique-string" {
                return Err(format!("a field of another form: {field}"));
            }
            fields.push(text(&field["key"], "key")?);
        }
        schemas.insert(text(&schema["name"], "schema")?, fields);
    }
    Ok(schemas)
}

struct Reader<'a> {
    thread: &'a Value,
    shared: &'a Shared,
    strings: Vec<String>,
    /// The name of each frame.
    frames: Vec<String>,
    /// The frame and the caller of each stack.
    stacks: Vec<(usize, Option<usize>)>,
}

impl<'a> Reader<'a> {
    fn new(thread: &'a Value, shared: &'a Shared) -> Read<Reader<'a>> {
        let strings = array(&thread["stringArray"], "stringArray")?;
        let strings: Vec<String> = strings.iter().map(|one| text(one, "string")).collect::<Read<_>>()?;
        let funcs = table(&thread["funcTable"], "funcTable", &["name"])?;
        let names = indices(&thread["funcTable"]["name"], funcs, strings.len(), "name of a function")?;
        let length = table(&thread["frameTable"], "frameTable", &["func", "category"])?;
        let of_frames = indices(&thread["frameTable"]["func"], length, funcs, "function of a frame")?;
        indices(&thread["frameTable"]["category"], length, shared.categories, "category of a frame")?;
        let frames: Vec<String> = of_frames.into_iter().map(|func| strings[names[func]].clone()).collect();
        let table_of_stacks = &thread["stackTable"];
        let length = table(table_of_stacks, "stackTable", &["prefix", "frame"])?;
        let of_stacks = indices(&table_of_stacks["frame"], length, frames.len(), "frame of a stack")?;
        let mut stacks = Vec::new();
        for (number, frame) in of_stacks.into_iter().enumerate() {
            let prefix = &table_of_stacks["prefix"][number];
            // A caller comes before those that it calls.
            let caller =
                (!prefix.is_null()).then(|| index(prefix, number, "caller of a stack")).transpose()?;
            stacks.push((frame, caller));
        }
        Ok(Reader { thread, shared, strings, frames, stacks })
    }

    fn thread(&self) -> Read<FirefoxThread> {
        Ok(FirefoxThread {
            name: text(&self.thread["name"], "name of a thread")?,
            process: text(&self.thread["processName"], "name of a process")?,
            pid: text(&self.thread["pid"], "pid")?,
            tid: text(&self.thread["tid"], "tid")?,
            markers: self.markers()?,
            samples: self.samples()?,
        })
    }

    fn stack(&self, number: &Value) -> Read<Vec<String>> {
        let mut next = (!number.is_null()).then(|| index(number, self.stacks.len(), "stack")).transpose()?;
        let mut functions = Vec::new();
        while let Some(stack) = next {
            let (frame, caller) = self.stacks[stack];
            functions.push(self.frames[frame].clone());
            next = caller;
        }
        Ok(functions)
    }

    fn string(&self, number: &Value, what: &str) -> Read<String> {
        Ok(self.strings[index(number, self.strings.len(), what)?].clone())
    }

    fn markers(&self) -> Read<Vec<FirefoxMarker>> {
        let markers = &self.thread["markers"];
        let columns = ["category", "data", "endTime", "name", "phase", "startTime"];
        let length = table(markers, "markers", &columns)?;
        indices(&markers["category"], length, self.shared.categories, "category of a marker")?;
        (0..length).map(|n| self.marker(markers, n)).collect()
    }

    fn marker(&self, markers: &Value, n: usize) -> Read<FirefoxMarker> {
        let (start, end) = (time(&markers["startTime"][n])?, time(&markers["endTime"][n])?);
        // An interval has the phase 1.
        if markers["phase"][n] != 1 || start > end {
            return Err(format!(
                "marker {n} is no interval: phase {}, {start} to {end}",
                markers["phase"][n]
            ));
        }
        let data = &markers["data"][n];
        let kind = text(&data["type"], "type of a marker")?;
        let keys =
            self.shared.schemas.get(&kind).ok_or_else(|| format!("{kind}: there is no such schema"))?;
        let fields = keys.iter().map(|key| Ok((key.clone(), self.string(&data[key], key)?)));
        let fields = fields.collect::<Read<_>>()?;
        let name = self.string(&markers["name"][n], "name of a marker")?;
        Ok(FirefoxMarker { kind, name, start, end, fields, stack: self.stack(&data["cause"]["stack"])? })
    }

    fn samples(&self) -> Read<Vec<FirefoxSample>> {
        let samples = &self.thread["samples"];
        let length = table(samples, "samples", &["stack", "timeDeltas", "weight", "threadCPUDelta"])?;
        if samples["weightType"] != "tracing-ms" {
            return Err(format!("the weight of samples is no time: {}", samples["weightType"]));
        }
        let sample = |n: usize| {
            time(&samples["timeDeltas"][n])?;
            let weight = samples["weight"][n].as_i64().ok_or("a weight is no number")?;
            Ok(FirefoxSample { weight, stack: self.stack(&samples["stack"][n])? })
        };
        (0..length).map(sample).collect()
    }
}

fn array<'a>(value: &'a Value, what: &str) -> Read<&'a Vec<Value>> {
    value.as_array().ok_or_else(|| format!("{what} is no list: {value}"))
}

fn text(value: &Value, what: &str) -> Read<String> {
    value.as_str().map(str::to_owned).ok_or_else(|| format!("{what} is no text: {value}"))
}

fn index(value: &Value, length: usize, what: &str) -> Read<usize> {
    let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
    let within = number.filter(|&number| number < length);
    within.ok_or_else(|| format!("{what}: {value} is not in a table of {length}"))
}

fn indices(column: &Value, length: usize, of: usize, what: &str) -> Read<Vec<usize>> {
    let column = array(column, what)?;
    column.iter().take(length).map(|number| index(number, of, what)).collect()
}

/// The length of a table. All its columns have it, and these are there.
fn table(table: &Value, what: &str, required: &[&str]) -> Read<usize> {
    let length = table["length"].as_u64().ok_or_else(|| format!("{what} has no length"))? as usize;
    for name in required {
        array(&table[name], name)?;
    }
    let columns = table.as_object().into_iter().flatten();
    for (name, column) in columns.filter_map(|(name, value)| Some((name, value.as_array()?))) {
        if column.len() != length {
            return Err(format!("{what} has {length} rows, its column {name} {}", column.len()));
        }
    }
    Ok(length)
}

/// Nanoseconds of a time in milliseconds.
fn time(value: &Value) -> Read<u64> {
    let ms = value.as_f64().filter(|ms| *ms >= 0.0);
    ms.map(|ms| (ms * 1e6).round() as u64).ok_or_else(|| format!("{value} is no time"))
}
