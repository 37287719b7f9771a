//! `unspin man-pages`.

use super::man_page::ManPage;
use super::whole;
use crate::options::ManPagesOptions;
use clap::{Command, Subcommand};
use std::fs;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use unspin_lab_options::LabCommand;
use unspin_launch::error::Error;
use unspin_launch::machine::Build;

/// Seconds since the epoch that reproducible builds take for the present (the specification of reproducible-builds.org).
const SOURCE_DATE_EPOCH: &str = "SOURCE_DATE_EPOCH";

/// Writes the pages of all commands.
pub fn write(options: &ManPagesOptions) -> Result<ExitCode, Error> {
    let folder = &options.folder;
    fs::create_dir_all(folder).map_err(|error| Error::at(folder, "the folder cannot be made", error))?;
    let date = date(std::env::var(SOURCE_DATE_EPOCH).ok().as_deref())?;
    for page in pages() {
        let file = folder.join(page.file_name());
        fs::write(&file, page.render(&date))
            .map_err(|error| Error::at(&file, "the page cannot be written", error))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A page for each program and each command.
fn pages() -> Vec<ManPage> {
    let lab = LabCommand::augment_subcommands(Command::new("unspin-lab").version(Build::VERSION))
        .about("Historical reports, their workloads and virtual machines, which unspin executes")
        .override_usage("unspin-lab <COMMAND>")
        .after_help("Examples:\n  unspin volano\n  unspin reproduce --quick")
        .long_about(
            "The commands volano, dbt1, reproduce and vm of unspin, most of which need a database or an asynchronous runtime. unspin finds this \
             program beside itself, else in PATH, and executes it; there is no need to type its name.",
        );
    let mut pages = Vec::new();
    let mut all = whole().disable_help_subcommand(true);
    all.build();
    add(&all, &all, &mut pages);
    pages.push(ManPage::of(&lab.disable_help_subcommand(true), &all));
    pages
}

fn add(command: &Command, all: &Command, pages: &mut Vec<ManPage>) {
    pages.push(ManPage::of(command, all));
    for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        add(command, all, pages);
    }
}

/// The date of the pages: YYYY-MM-DD.
fn date(stated: Option<&str>) -> Result<String, Error> {
    let time = match stated {
        None => SystemTime::now(),
        Some(text) => {
            text.parse().ok().and_then(|s| UNIX_EPOCH.checked_add(Duration::from_secs(s))).ok_or_else(
                || Error::Usage(format!("{SOURCE_DATE_EPOCH}={text}: state seconds since 1970, or unset it")),
            )?
        }
    };
    Ok(humantime::format_rfc3339(time).to_string().chars().take(10).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_a_page() {
        let pages = pages();
        let names: Vec<String> = pages.iter().map(ManPage::file_name).collect();
        for name in
            ["unspin", "unspin-run", "unspin-arenas", "unspin-arenas-list", "unspin-volano", "unspin-lab"]
        {
            assert!(names.contains(&format!("{name}.1")), "{names:?}");
        }
        assert!(!names.iter().any(|name| name.contains("man-pages")), "{names:?}");
        for page in &pages {
            let text = page.render("2026-01-02");
            assert!(text.contains("\n.SH EXAMPLES\n") && text.contains("2026-01-02"), "{text}");
        }
    }

    #[test]
    fn date_is_stated_or_todays() {
        assert_eq!(date(Some("1700000000")).unwrap(), "2023-11-14");
        assert!(date(None).unwrap().as_str() >= "2026-01-01");
        assert!(matches!(date(Some("x")), Err(Error::Usage(why)) if why.contains("SOURCE_DATE_EPOCH=x")));
    }
}
