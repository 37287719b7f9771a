//! The `unspin` program: finds the lock your CPUs spin on, replaces it, and proves the difference.
#![forbid(unsafe_code)]

mod arenas;
mod combine;
mod compare;
mod doctor;
mod interface;
mod lab;
mod library;
mod options;
mod page;
mod plan;
mod run;
mod stored;
mod top;
mod workload;

use options::{Command, CommandLine};
use std::process::ExitCode;
use unspin_launch::command::main_thread;
use unspin_observe::settings::MeterSettings;
use unspin_observe::{meter, profile};
use unspin_trial::{ProveSettings, ScaleSettings};

fn main() -> ExitCode {
    main_thread::perform(|| match CommandLine::read().command {
        Command::Prove(options) => unspin_trial::prove(&ProveSettings {
            preparation: unspin_trial::web_shop(&options.command),
            words: Some(options::repeat::words()),
            ..ProveSettings::from(&options)
        }),
        Command::Combine(options) => combine::run(&options),
        Command::Compare(options) => compare::run(&options),
        Command::Scale(options) => unspin_trial::scale(&ScaleSettings {
            words: Some(options::repeat::words()),
            ..ScaleSettings::from(&options)
        }),
        Command::Meter(options) => meter::run(&MeterSettings {
            words: Some(options::repeat::words()),
            ..MeterSettings::from(&options)
        }),
        Command::Report(options) => meter::replay(&(&options).into()),
        Command::Page(options) => page::run(&options),
        Command::Top(options) => top::run(&options),
        Command::Profile(options) => profile::run(&(&options).into()),
        Command::Run(options) => run::run(&options),
        Command::Plan(options) => plan::run(&options.action),
        Command::Library(options) => library::run(&options),
        Command::Workload(workload) => workload::run(&workload),
        Command::Volano(options) => lab::run("volano", &options.arguments),
        Command::Dbt1(options) => lab::run("dbt1", &options.arguments),
        Command::Reproduce(options) => lab::run("reproduce", &options.arguments),
        Command::Vm(options) => lab::run("vm", &options.arguments),
        Command::Arenas(options) => arenas::run(&options.action),
        Command::Doctor(options) => doctor::run(&options),
        Command::Completions(options) => interface::completions::print(&options),
        Command::ManPages(options) => interface::man_pages::write(&options),
    })
}
