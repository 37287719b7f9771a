//! A broken invariant ends the program with one line; no panic unwinds through C.

use std::panic::PanicHookInfo;

/// Makes every later panic of this library's code abort the process. The library has its own copy of Rust's standard
/// library, so a Rust program that is linked with it keeps its own hook.
pub fn install() {
    std::panic::set_hook(Box::new(|panic| {
        eprintln!("{}", line(panic));
        std::process::abort();
    }));
}

fn line(panic: &PanicHookInfo<'_>) -> String {
    let payload = panic.payload();
    let text =
        payload.downcast_ref::<&str>().copied().or(payload.downcast_ref::<String>().map(String::as_str));
    let reason = text.unwrap_or("for no reason given").replace('\n', " ");
    let place = panic.location().map(|place| format!(" at {place}")).unwrap_or_default();
    format!("unspin-sysv: a bug in unspin itself{place}, the program is aborted: {reason}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const CHILD: &str = "UNSPIN_C_PANICS";

    /// Runs as a child process of itself, because the process does not survive the panic.
    #[test]
    fn panic_prints_one_line_and_aborts() {
        if std::env::var_os(CHILD).is_some() {
            install();
            panic!("planted,\nin two lines");
        }
        let this = std::env::current_exe().unwrap();
        let output = Command::new(this)
            .args(["--exact", "guard::tests::panic_prints_one_line_and_aborts", "--nocapture"])
            .env(CHILD, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("the program is aborted: planted, in two lines\n"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        // SIGABRT, signal(7).
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&output.status), Some(6));
    }
}
