//! Facts in two columns: the machine, the build, the command.

use crate::name::{code, name, visible};
use maud::{Markup, html};
use std::time::{Duration, UNIX_EPOCH};
use unspin_report::shell_line;
use unspin_results::{StoredBuild, StoredMachine};

/// A list of facts.
#[derive(Default)]
pub struct Facts(Vec<(&'static str, Markup)>);

impl Facts {
    /// With one more fact.
    #[must_use]
    pub fn with(mut self, what: &'static str, fact: Markup) -> Facts {
        self.0.push((what, fact));
        self
    }

    /// With the command of the program, if it is known.
    #[must_use]
    pub fn with_command(self, what: &'static str, command: &[String]) -> Facts {
        if command.is_empty() { self } else { self.with(what, code(&shell_line(command))) }
    }

    /// With the command that repeats the measurement, if it is known.
    #[must_use]
    pub fn with_repeat(self, repeat: Option<&String>) -> Facts {
        let Some(repeat) = repeat else { return self };
        self.with("To repeat", html! { pre { code { (visible(repeat)) } } })
    }

    /// With the machine, or why it is not known.
    #[must_use]
    pub fn with_machine(self, machine: Option<&StoredMachine>) -> Facts {
        let Some(machine) = machine else {
            return self
                .with("Machine", html! { "not known: a recording does not name the machine that made it" });
        };
        self.with(
            "Machine",
            html! { (name(&machine.host)) ": " (machine.cpus) " CPUs, " (name(&machine.processor)) },
        )
        .with("Kernel", html! { "Linux " (name(&machine.kernel)) })
    }

    /// With the build of unspin, if it is known.
    #[must_use]
    pub fn with_build(self, build: Option<&StoredBuild>) -> Facts {
        let Some(build) = build else { return self };
        self.with("Written by", html! { "unspin " (name(&build.version)) " (" (name(&build.commit)) ")" })
    }

    /// With a moment in nanoseconds since the epoch, if it is known.
    #[must_use]
    pub fn with_start(self, started: u64) -> Facts {
        if started == 0 {
            return self;
        }
        let moment =
            humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_nanos(started)).to_string();
        self.with(
            "Began",
            html! { time datetime=(moment) { (moment.replace('T', " ").replace('Z', " UTC")) } },
        )
    }

    /// The list.
    pub fn render(&self) -> Markup {
        html! { dl.facts { @for (what, fact) in &self.0 { dt { (what) } dd { (fact) } } } }
    }
}
