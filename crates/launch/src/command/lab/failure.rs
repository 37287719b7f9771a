//! The failure of one of the programs, which the other has executed.

use crate::error::Error;
use crate::output::stderr::QUOTED;
use crate::program::workload::WorkloadProgram;
use std::process::ExitStatus;

/// How many lines are quoted of an error that a program has not explained.
const LINES: usize = 5;

/// The error that a program has printed, with the exit code that it had. `needed_by` is the command that executed it.
pub(super) fn error_of(program: WorkloadProgram, needed_by: &str, status: ExitStatus, said: &str) -> Error {
    let Some(text) = said.lines().find_map(|line| line.strip_prefix("unspin: ")) else {
        return Error::Benchmark(format!(
            "{needed_by}: {} ended with {status}{}",
            program.name(),
            quote(said)
        ));
    };
    let text = text.to_owned();
    match status.code() {
        Some(2) => Error::Usage(text),
        Some(125) => Error::Environment(text),
        Some(126) => Error::CannotRun(text),
        Some(127) => Error::NotFound(text),
        _ => Error::Benchmark(text),
    }
}

/// The lines of a panic, from its message on; else the last lines: the dynamic linker's message.
fn quote(said: &str) -> String {
    let lines: Vec<&str> = said.trim_end().lines().collect();
    let panic = lines.iter().position(|line| line.starts_with("thread '"));
    let from = panic.unwrap_or(lines.len().saturating_sub(LINES));
    lines[from..].iter().take(LINES).map(|line| format!("{QUOTED}{line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn error(status: i32, said: &str) -> Error {
        error_of(WorkloadProgram::Lab, "dbt1", ExitStatus::from_raw(status), said)
    }

    #[test]
    fn errors_keep_their_text_and_their_code() {
        let no_server = error(127 << 8, "unspin: dbt1: no server\n");
        assert!(matches!(&no_server, Error::NotFound(text) if text == "dbt1: no server"), "{no_server:?}");
        let usage = "note: a first line\nunspin: no such mix\n\nUsage: unspin dbt1\n\nFor more information, try '--help'.\n";
        let usage = error(2 << 8, usage);
        assert!(matches!(&usage, Error::Usage(text) if text == "no such mix"), "{usage:?}");
    }

    #[test]
    fn errors_that_are_not_unspins_are_quoted() {
        let killed = error(9, "");
        assert!(
            matches!(&killed, Error::Benchmark(text) if text.ends_with("signal: 9 (SIGKILL)")),
            "{killed:?}"
        );
        let trace: String = (0..9).map(|n| format!("   {n}: a frame\n")).collect();
        let panicked =
            error(101 << 8, &format!("a warning\nthread 'main' panicked:\nwhy\nstack backtrace:\n{trace}"));
        let expected = "dbt1: unspin-lab ended with exit status: 101\n  | thread 'main' panicked:\n  | why\n  | stack backtrace:\n  \
                        |    0: a frame\n  |    1: a frame";
        assert!(matches!(&panicked, Error::Benchmark(text) if text == expected), "{panicked:?}");
        let linker = error(1 << 8, "unspin-lab: libm.so.6: version `GLIBC_2.99' not found\n");
        assert!(
            matches!(&linker, Error::Benchmark(text) if text.contains("\n  | unspin-lab: libm")),
            "{linker:?}"
        );
    }
}
