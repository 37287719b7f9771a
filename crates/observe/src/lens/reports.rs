//! The reports of the lenses that read the kernel's events.

use super::futex::FutexReport;
use super::kernel::KernelReport;
use super::off_cpu::OffCpuReport;
use super::thread_time::{KernelWaits, LibcWaits, Measured, ThreadTime};
use crate::settings::ViewSettings;
use regex::Regex;
use serde::Serialize;
use unspin_meter::{Layout, MeterReport};

/// One report of each lens. In the JSON document each is a field of its own.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Reports {
    /// Waits in futex(2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub futex: Option<FutexReport>,
    /// The kernel's own locks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelReport>,
    /// Where the threads' time went.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub off_cpu: Option<OffCpuReport>,
    /// The total of all lenses, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_time: Option<ThreadTime>,
}

impl Reports {
    /// Compares with what the pthread lens has seen of the same program.
    pub fn explain(&mut self, report: &MeterReport) {
        let libc = LibcWaits::of(report);
        if let Some(futex) = &mut self.futex {
            futex.explain(libc.sleep());
        }
        self.add_thread_time(Some(libc));
    }

    /// Adds the total, if there are several lenses.
    pub fn add_thread_time(&mut self, libc: Option<LibcWaits>) {
        let kernel = self.kernel.as_ref();
        self.thread_time = ThreadTime::of(Measured {
            libc,
            futex: self.futex.as_ref().map(|futex| futex.total.waited),
            kernel: kernel.map(|kernel| KernelWaits { waited: kernel.total.lost, spun: kernel.total.spin }),
            off_cpu: self.off_cpu.as_ref(),
        });
    }

    /// The printed form of what passes the filters, a section for each lens.
    pub fn sections(&self, view: &ViewSettings, layout: &Layout) -> Vec<String> {
        let filters = Filters::new(view);
        let mut sections = Vec::new();
        if let Some(mut report) = self.futex.clone() {
            report.keep(filters.min_lost, &|lock| filters.lock(lock), &|caller| filters.caller(caller));
            sections.push(report.text(layout));
        }
        if let Some(mut report) = self.kernel.clone() {
            report.keep(filters.min_lost, &|lock| filters.lock(lock), &|caller| filters.caller(caller));
            sections.push(report.text(layout));
        }
        if let Some(mut report) = self.off_cpu.clone() {
            report.keep(filters.min_lost, &|caller| filters.caller(caller));
            sections.push(report.text(layout));
        }
        sections.extend(self.thread_time.as_ref().map(|total| total.text(layout)));
        sections
    }
}

/// The filters for rows.
struct Filters<'a> {
    min_lost: f64,
    lock: &'a Option<Regex>,
    caller: &'a Option<Regex>,
}

impl Filters<'_> {
    fn new(view: &ViewSettings) -> Filters<'_> {
        let min_lost = view.min_lost.map_or(0.0, |time| time.as_secs_f64());
        Filters { min_lost, lock: &view.lock, caller: &view.caller }
    }

    fn lock(&self, text: &str) -> bool {
        self.lock.as_ref().is_none_or(|pattern| pattern.is_match(text))
    }

    fn caller(&self, text: &str) -> bool {
        self.caller.as_ref().is_none_or(|pattern| pattern.is_match(text))
    }
}
