//! Waits for tests.

use super::lens_timeline::{LensTimeline, NamedWait, WaitField, WaitLabel, WaitValue};
use super::longest::LeftOutWaits;
use super::track::Track;
use crate::settings::Lens;

const FIELDS: &[WaitField] = &[
    WaitField { key: "caller", label: "Caller", value: WaitValue::Label(0) },
    WaitField { key: "outcome", label: "Outcome", value: WaitValue::Outcome },
    WaitField { key: "waker", label: "Woken by", value: WaitValue::Waker },
];

/// A wait with the first label.
pub fn wait(track: Track, start: u64, end: u64) -> NamedWait {
    NamedWait { track, start, end, label: 0, outcome: "woken", waker: None, cpu_ns: 0 }
}

/// The futex lens with these waits, and one label.
pub fn lens(waits: Vec<NamedWait>) -> LensTimeline {
    let label = WaitLabel {
        name: "queue_lock".into(),
        values: vec!["push+0x1".into()],
        frames: vec!["main".into(), "push".into(), "futex_wait".into()],
    };
    LensTimeline {
        lens: Lens::Futex,
        fields: FIELDS,
        labels: vec![label],
        waits,
        left_out: LeftOutWaits::default(),
    }
}
