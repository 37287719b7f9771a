//! The text form of a profile, as Go writes it for `?debug=1`.

use super::profile_name::ProfileName;
use std::fmt::Write;
use unspin_report::pprof::Contention;
use unspin_sys::printable;

/// The text: for each stack nanoseconds, number and address, and its frames below. Most time first.
pub fn write(name: ProfileName, stacks: &[Contention]) -> String {
    // Go's cycles are nanoseconds here.
    let mut text = format!("{}\ncycles/second=1000000000\n", name.heading());
    if name == ProfileName::Mutex {
        text += "sampling period=1\n";
    }
    let mut sorted: Vec<&Contention> = stacks.iter().collect();
    sorted.sort_by(|a, b| b.delay.total_cmp(&a.delay).then(b.contentions.cmp(&a.contentions)));
    for one in sorted {
        // The lock is the leaf of the stack, as in the profile. It is no code, so it has no address.
        let Contention { lock, origin, kind, address, callers, contentions, delay, .. } = one;
        let origin = origin.as_deref().unwrap_or_default();
        let mark = kind.mark().map_or(String::new(), |mark| format!(" {mark}"));
        _ = writeln!(text, "{:.0} {contentions} @ {address:#x}", delay * 1e9);
        _ = writeln!(text, "#\t0x0\t{}{mark}\t{}", printable::line(lock), printable::line(origin));
        for frame in callers {
            let function = printable::line(&frame.function);
            _ = match frame.file.as_str() {
                "" => writeln!(text, "#\t{address:#x}\t{function}"),
                file => {
                    writeln!(text, "#\t{address:#x}\t{function}\t{}:{}", printable::line(file), frame.line)
                }
            };
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_report::pprof::Frame;
    use unspin_wire::RecordKind;

    #[test]
    fn text_has_the_lines_of_go() {
        let frame = Frame { function: "push".into(), file: "queue.c".into(), line: 57 };
        let one = |lock: &str, delay: f64, callers: Vec<Frame>| Contention {
            lock: lock.into(),
            origin: Some("static, queue.c:31".into()),
            kind: RecordKind::MutexHolder,
            pid: 7,
            address: 0x40,
            callers,
            contentions: 3,
            delay,
        };
        let unknown = Frame { function: "pop\n".into(), ..Frame::default() };
        let all = [one("a_lock", 0.25, vec![unknown]), one("b_lock", 0.5, vec![frame])];
        let expected = "--- mutex:\ncycles/second=1000000000\nsampling period=1\n\
                        500000000 3 @ 0x40\n#\t0x0\tb_lock\tstatic, queue.c:31\n#\t0x40\tpush\tqueue.c:57\n\n\
                        250000000 3 @ 0x40\n#\t0x0\ta_lock\tstatic, queue.c:31\n#\t0x40\tpop\\n\n\n";
        assert_eq!(write(ProfileName::Mutex, &all), expected);
        assert!(write(ProfileName::Block, &[]).starts_with("--- contention:\ncycles/second="));
    }
}
