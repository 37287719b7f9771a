//! The file of a timeline, and what is said about it.

use super::lens_timeline::LensTimeline;
use super::longest::LeftOutWaits;
use super::profile;
use super::threads::ObservedThreads;
use super::tracks::{TRACKS_MAX, Tracks};
use crate::lens::conditions::Conditions;
use crate::lens::text::{format_count, losses};
use crate::settings::Lens;
use std::path::Path;
use unspin_launch::error::Error;
use unspin_launch::output::{outfile, stderr};
use unspin_report::figures::time;

/// The waits of all lenses with their times.
pub struct Timeline {
    /// Those of each lens.
    pub lenses: Vec<LensTimeline>,
    /// The threads.
    pub threads: ObservedThreads,
}

impl Timeline {
    /// Writes the file, and says what it has, what it lacks, and what opens it.
    pub fn write(&self, file: &Path, conditions: &Conditions) -> Result<(), Error> {
        let (contents, lines) = self.contents(conditions)?;
        outfile::write(file, &contents)?;
        let name =
            if file.as_os_str() == "-" { "standard output".into() } else { file.display().to_string() };
        for line in lines {
            stderr::say(format_args!("{name}: {line}"));
        }
        let next = self.without_waits().unwrap_or_else(|| {
            let size = size(contents.len());
            format!(
                "{size}; open it at profiler.firefox.com (Load a profile from file), or at ui.perfetto.dev"
            )
        });
        stderr::say(format_args!("{name}: {next}"));
        Ok(())
    }

    /// What to do if there is no wait: viewers refuse a profile without threads.
    fn without_waits(&self) -> Option<String> {
        if self.lenses.iter().any(|lens| !lens.waits.is_empty()) {
            return None;
        }
        let all = Lens::OF_KERNEL.iter().map(|lens| lens.name()).collect::<Vec<_>>().join(",");
        let has_all = Lens::OF_KERNEL.iter().all(|lens| self.lenses.iter().any(|seen| seen.lens == *lens));
        let next = match has_all {
            true => "observe for longer, or while the program waits".to_owned(),
            false => format!("observe with more lenses (--lens {all}), or while the program waits"),
        };
        Some(format!("no wait was seen, so there is nothing to open: {next}"))
    }

    /// The contents of the file, and lines that say what it has and lacks.
    pub(super) fn contents(&self, conditions: &Conditions) -> Result<(Vec<u8>, Vec<String>), Error> {
        let tracks = Tracks::of(&self.lenses, TRACKS_MAX);
        let mut lacks: Vec<String> = self.lenses.iter().filter_map(shortest_left_out).collect();
        lacks.extend(tracks_left_out(&tracks));
        lacks.extend(losses(conditions.losses.records, conditions.losses.unreadable));
        let command = conditions.subject.observed_by("meter");
        let profile = profile::of(&tracks, &self.lenses, &self.threads, &command, &lacks);
        let contents = serde_json::to_vec(&profile)
            .map_err(|e| Error::Environment(format!("the timeline cannot be written as JSON: {e}")))?;
        let waits = format_count(tracks.waits() as u64, "wait", "waits");
        let threads = format_count(tracks.tracks.len() as u64, "thread", "threads");
        lacks.insert(0, format!("{waits} of {threads}"));
        Ok((contents, lacks))
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

/// Which waits of a lens there was no room for.
fn shortest_left_out(lens: &LensTimeline) -> Option<String> {
    let LeftOutWaits { waits, ns, max_ns } = lens.left_out;
    (waits > 0).then(|| {
        format!(
            "{} lens: {} left out, the shortest ones: at most {} each, {} in all; the table has them",
            lens.lens.name(),
            format_count(waits, "wait is", "waits are"),
            time(seconds(max_ns)),
            time(seconds(ns)),
        )
    })
}

/// For which threads there was no room.
fn tracks_left_out(tracks: &Tracks<'_>) -> Option<String> {
    let LeftOutWaits { waits, ns, .. } = tracks.left_out_waits;
    (tracks.left_out > 0).then(|| {
        format!(
            "{} left out, because there is room for the {TRACKS_MAX} that waited longest: {} of {} in all",
            format_count(tracks.left_out as u64, "thread is", "threads are"),
            format_count(waits, "wait", "waits"),
            time(seconds(ns)),
        )
    })
}

/// Bytes in decimal units.
fn size(bytes: usize) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{lens, wait};
    use super::super::track::Track;
    use super::*;
    use serde_json::Value;
    use unspin_e2e::firefox::{FirefoxThread, threads};
    use unspin_report::next::Subject;
    use unspin_trace::{Losses, Target};

    fn written(lenses: Vec<LensTimeline>, losses: Losses) -> (Value, Vec<String>) {
        let subject = Subject::Program(vec!["./server\u{1b}[2J".into()]);
        let conditions = Conditions { target: Target::Children, subject, seconds: 1.0, cpus: 2, losses };
        let timeline = Timeline { lenses, threads: ObservedThreads::default() };
        let (contents, lines) = timeline.contents(&conditions).unwrap();
        (serde_json::from_slice(&contents).unwrap(), lines)
    }

    fn read(profile: &Value) -> Vec<FirefoxThread> {
        threads(profile).unwrap_or_else(|e| panic!("{e}: {profile}"))
    }

    /// Three threads of two processes, and an idle CPU. A wait is within another one.
    fn waits() -> Vec<super::super::lens_timeline::NamedWait> {
        let thread = |pid, tid| Track::Thread(pid, tid);
        let mut waits = vec![
            wait(thread(7, 7), 0, 2_600_000),
            wait(thread(7, 8), 100, 1_400_100),
            wait(thread(7, 8), 2_000_000, 3_300_001),
            wait(thread(9, 9), 5, 5),
            wait(Track::Idle(0), 50, 60),
            wait(Track::Idle(1), 50, 60),
            wait(Track::Exiting(1), 50, 60),
        ];
        waits[0].waker = Some(thread(7, 8));
        waits
    }

    #[test]
    fn waits_are_intervals_of_their_threads() {
        let (profile, lines) = written(vec![lens(waits())], Losses::default());
        assert_eq!(lines, ["7 waits of 6 threads"]);
        let threads = read(&profile);
        let of = |tid: &str| threads.iter().find(|one| one.tid == tid && one.pid != "0").unwrap();
        let [first] = &of("7").markers[..] else { panic!("{threads:?}") };
        assert_eq!((first.start, first.end, first.name.as_str()), (0, 2_600_000, "queue_lock"));
        let fields: Vec<&str> = first.fields.values().map(String::as_str).collect();
        assert_eq!(fields, ["push+0x1", "woken", "thread 8 (8)"]);
        assert_eq!(first.stack, ["futex_wait", "push", "main"]);
        let second: Vec<(u64, u64)> = of("8").markers.iter().map(|one| (one.start, one.end)).collect();
        assert_eq!(second, [(100, 1_400_100), (2_000_000, 3_300_001)]);
        // 1.4 and 1.3 ms: the sum is 2.7 ms.
        assert_eq!(of("8").samples.iter().map(|one| one.weight).sum::<i64>(), 3);
        assert_eq!(threads.iter().filter(|one| one.process == "idle CPUs").count(), 2);
        let shown = profile["meta"]["initialSelectedThreads"][0].as_u64().unwrap() as usize;
        assert_eq!(threads[shown].tid, "8", "it has waited longest");
    }

    #[test]
    fn timeline_without_waits_is_a_profile() {
        for lenses in [vec![], vec![lens(vec![])]] {
            let (profile, lines) = written(lenses, Losses::default());
            assert_eq!((read(&profile).len(), lines), (0, vec!["0 waits of 0 threads".to_owned()]));
        }
    }

    /// Viewers answer such a file with an error.
    #[test]
    fn timeline_without_waits_is_not_to_be_opened() {
        let said = |lenses| Timeline { lenses, threads: ObservedThreads::default() }.without_waits();
        let few = said(vec![lens(vec![])]).unwrap();
        assert!(
            few.starts_with(
                "no wait was seen, so there is nothing to open: observe with more lenses (--lens "
            ),
            "{few}"
        );
        let all = Lens::OF_KERNEL.iter().map(|&of| LensTimeline { lens: of, ..lens(vec![]) }).collect();
        assert!(said(all).unwrap().ends_with(": observe for longer, or while the program waits"));
        assert_eq!(said(vec![lens(waits())]), None);
    }

    #[test]
    fn what_is_missing_is_in_the_file_and_said() {
        let mut some = lens(waits());
        some.left_out = LeftOutWaits { waits: 3, ns: 9_000, max_ns: 4_000 };
        let (profile, lines) = written(vec![some], Losses { records: 5, ..Losses::default() });
        let left_out = "futex lens: 3 waits are left out, the shortest ones: at most 4us each, 9us in all; the table has them";
        assert_eq!(lines[1].replace("4.0us", "4us").replace("9.0us", "9us"), left_out);
        assert!(lines[2].starts_with("5 events were lost"), "{lines:?}");
        let threads = read(&profile);
        let notes = threads.iter().find(|one| one.process == "unspin").unwrap();
        let texts: Vec<&str> = notes.markers.iter().map(|note| note.fields["text"].as_str()).collect();
        assert_eq!(texts, lines[1..]);
    }

    #[test]
    fn hostile_names_stay_names() {
        let mut hostile = lens(waits());
        let name = "\"},{\u{1b}[31m\u{202e}</script>{marker.data.waker}\n\0";
        hostile.labels[0].name = name.into();
        hostile.labels[0].values = vec![name.into()];
        hostile.labels[0].frames = vec![String::new(), name.into()];
        let (profile, _) = written(vec![hostile], Losses::default());
        let threads = read(&profile);
        let marker = &threads.iter().find(|one| one.tid == "7").unwrap().markers[0];
        let texts = [&marker.name, &marker.fields["caller"], &marker.stack[0]];
        for text in texts {
            assert!(!text.contains(unspin_sys::printable::changes_terminal), "{text:?}");
            assert!(text.starts_with("\"},{") && text.contains("</script>{marker.data.waker}"), "{text:?}");
        }
        assert!(!profile["meta"]["product"].as_str().unwrap().contains('\u{1b}'));
    }

    /// The reader refuses what a viewer could not show.
    #[test]
    fn reader_finds_what_is_wrong() {
        let (profile, _) = written(vec![lens(waits())], Losses::default());
        let find = |tid: &str| {
            let threads = profile["threads"].as_array().unwrap();
            threads.iter().position(|one| one["tid"] == tid && one["markers"]["length"] == 2).unwrap()
        };
        let wrong = |path: &str, value: Value| {
            let mut profile = profile.clone();
            let at = format!("/threads/{}{path}", find("8"));
            *profile.pointer_mut(&at).unwrap_or_else(|| panic!("{at}")) = value;
            threads(&profile).expect_err(path)
        };
        for (path, value) in [
            ("/markers/name/0", 10_000.into()),
            ("/markers/startTime/0", 1e9.into()),
            ("/markers/category/0", 9.into()),
            ("/markers/data/0/type", "other".into()),
            ("/markers/data/0/waker", (-1).into()),
            ("/markers/data/0/cause/stack", 3.into()),
            ("/markers/length", 3.into()),
            ("/frameTable/func/0", 77.into()),
            ("/stackTable/prefix/0", 0.into()),
            ("/samples/stack/0", 99.into()),
            ("/stringArray/0", Value::Null),
            ("/name", Value::Null),
        ] {
            let said = wrong(path, value);
            assert!(!said.is_empty());
        }
    }
}
