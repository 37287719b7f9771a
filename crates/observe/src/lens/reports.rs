//! The reports of the lenses that read the kernel's events.

use super::detail::Detail;
use super::filters::Filters;
use super::lens_report::LensReport;
use super::rows::LensTable;
use super::thread_time::{LensMeasurements, LibcWaits, ThreadTime};
use crate::settings::ViewSettings;
use serde::Serialize;
use unspin_report::{Figures, Layout, MeterReport};

macro_rules! define_reports {
    ($($(#[doc = $doc:literal])+ $lens:ident $name:literal {
        field: $field:ident, collector: $collector:ty, report: $report:ty, listed: $listed:literal
    })+) => {
        /// One report of each lens. In the JSON document each is a field of its own.
        #[derive(Clone, PartialEq, Debug, Default, Serialize)]
        pub struct Reports {
            $($(#[doc = $doc])+
            #[serde(skip_serializing_if = "Option::is_none")]
            pub $field: Option<$report>,)+
            /// The total of all lenses, if there are several.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub thread_time: Option<ThreadTime>,
        }

        impl Reports {
            /// The reports that there are.
            fn all(&self) -> impl Iterator<Item = &dyn LensReport> {
                [$(self.$field.as_ref().map(|report| report as &dyn LensReport)),+].into_iter().flatten()
            }

            fn all_mut(&mut self) -> impl Iterator<Item = &mut dyn LensReport> {
                [$(self.$field.as_mut().map(|report| report as &mut dyn LensReport)),+].into_iter().flatten()
            }
        }
    };
}
for_each_lens!(define_reports);

impl Reports {
    /// Compares with what the pthread lens has seen of the same program.
    pub fn explain(&mut self, report: &MeterReport) {
        let libc = LibcWaits::of(report);
        self.all_mut().for_each(|report| report.explain(libc));
        self.add_thread_time(Some(libc));
    }

    /// Adds the total, if there are several lenses.
    pub fn add_thread_time(&mut self, libc: Option<LibcWaits>) {
        let mut measurements = LensMeasurements { libc, ..LensMeasurements::default() };
        self.all().for_each(|report| report.measure(&mut measurements));
        self.thread_time = ThreadTime::of(measurements);
    }

    /// The printed form of what passes the filters, a section for each lens.
    pub fn sections(&self, view: &ViewSettings, layout: &Layout) -> Vec<String> {
        let filters = Filters::new(view);
        let sections = self.all().map(|report| report.section(&filters, layout));
        sections.chain(self.thread_time.as_ref().map(|total| total.text(layout))).collect()
    }

    /// The table of the one lens that has a report.
    pub fn table(&self, figures: Figures) -> Option<LensTable> {
        Some(self.all().next()?.table(figures))
    }

    /// The lines about the row with this name, of the lens that has a report; none if the report has no such row.
    pub fn detail(&self, name: &str, width: usize) -> Option<Vec<String>> {
        let mut detail = Detail::new(name, width);
        self.all().next()?.describe(name, &mut detail)?;
        Some(detail.lines())
    }
}
