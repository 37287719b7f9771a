//! The tabs of the lenses that read the kernel's events.
//!
//! A lens begins to observe when its tab is opened for the first time, and goes on until the end. So lenses with
//! unopened tabs cost nothing.

use super::reading::Period;
use unspin_observe::lens::live::{LensReading, LiveLens};
use unspin_observe::lens::reports::Reports;
use unspin_observe::lens::rows::{LensLine, LensTable};
use unspin_observe::settings::{Lens, ObserveSettings};
use unspin_report::next::Subject;

/// What a tab shows.
#[derive(Clone, PartialEq, Debug)]
pub enum Content {
    /// It has not been opened, or its first reading is still to come.
    Nothing,
    /// Why the lens does not work here.
    Failed(String),
    /// The latest reading.
    Reading(Box<LensReading>),
}

/// A tab.
#[derive(Clone, PartialEq, Debug)]
pub struct LensTab {
    /// The tab's lens.
    pub lens: Lens,
    /// What it shows.
    pub content: Content,
}

impl LensTab {
    /// A tab for each lens.
    pub fn all() -> Vec<LensTab> {
        Lens::OF_KERNEL.iter().map(|&lens| LensTab { lens, content: Content::Nothing }).collect()
    }

    /// The reports of a period; none before the first reading.
    pub fn reports(&self, period: Period) -> Option<&Reports> {
        let Content::Reading(reading) = &self.content else { return None };
        Some(match period {
            Period::Lately => &reading.lately,
            Period::SinceStart => &reading.since_start,
        })
    }

    /// The table of a period, with the rows that have a lower-case text in their names.
    pub fn table(&self, period: Period, filter: &str) -> Option<LensTable> {
        let mut table = self.reports(period)?.table(period.figures())?;
        if !filter.is_empty() {
            table.retain(|line: &LensLine| line.name.to_lowercase().contains(filter));
        }
        Some(table)
    }
}

/// The lenses that observe.
pub struct LiveLenses {
    observe: ObserveSettings,
    subject: Subject,
    open: Vec<(usize, LiveLens)>,
}

impl LiveLenses {
    /// None observes yet. The subject is for suggested commands.
    pub fn new(observe: ObserveSettings, subject: Subject) -> LiveLenses {
        LiveLenses { observe, subject, open: Vec::new() }
    }

    /// Starts the lens of a tab. If it does not work, the tab says why.
    pub fn open(&mut self, number: usize, tab: &mut LensTab) {
        if self.open.iter().any(|(open, _)| *open == number) || matches!(tab.content, Content::Failed(_)) {
            return;
        }
        match LiveLens::start(tab.lens, &self.observe, &self.subject) {
            Ok(lens) => self.open.push((number, lens)),
            Err(e) => tab.content = Content::Failed(e.to_string()),
        }
    }

    /// Makes a reading of each open lens.
    pub fn read(&mut self, tabs: &mut [LensTab]) {
        for (number, lens) in &mut self.open {
            if let Some(reading) = lens.read() {
                tabs[*number].content = Content::Reading(Box::new(reading));
            }
        }
    }

    /// Stops all. Returns their reports since they were opened.
    pub fn stop(&mut self) -> Vec<Reports> {
        std::mem::take(&mut self.open).into_iter().map(|(_, lens)| lens.stop()).collect()
    }
}
