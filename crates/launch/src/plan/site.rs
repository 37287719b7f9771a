//! Waits that are named after their call sites.

use super::code::{Callee, Calls, Code};
use super::place::{By, Place, Span};
use super::resolve::NameMatch;
use super::site_name::{SiteMeaning, SiteName};
use core::ops::Range;
use unspin_symbols::File;

/// Number of call sites that are suggested for an offset at which no call returns.
const OFFERED: usize = 3;

/// The calls that a name means in these files. Runtime libraries of the language wait on behalf of the program's
/// functions.
pub fn find(name: &SiteName, files: &[File], runtime: &[File]) -> Option<NameMatch> {
    match name.meaning() {
        SiteMeaning::Call { within, offset } => call(name, within, offset, files, runtime),
        SiteMeaning::Function(function) => {
            called_in(&Code::of_function(function, files), function, files, runtime)
        }
        SiteMeaning::Line(line) => {
            let code = Code::of_line(line, files);
            let label = format!("{}:{}", line.file, line.line);
            called_in(&code, &label, files, runtime)
        }
    }
}

/// One call, whatever function it calls: it may be an indirect call.
fn call(name: &SiteName, within: &str, offset: u64, files: &[File], runtime: &[File]) -> Option<NameMatch> {
    let mut spans = Vec::new();
    for file in files.iter().chain(runtime) {
        // A function may end with a call. The return address of that call is the end of the function.
        let end = |function: Range<u64>| {
            let end = function.start.checked_add(offset).filter(|&end| end > 0)?;
            (function.is_empty() || end <= function.end).then_some(end)
        };
        let ends = file.functions_named(within).into_iter().filter_map(end);
        let of_file = (file.is_called(within) && file.extent().contains(&offset)).then_some(offset);
        // A call is identified by its last byte; its return address is the next one.
        spans.extend(ends.chain(of_file).map(|end| Span::new(file.path(), end.saturating_sub(1)..end)));
    }
    let modules = |span: &Span| format!("{name} ({})", span.module.display());
    match &spans[..] {
        [] => None,
        [first, others @ ..] if others.iter().any(|other| other.module != first.module) => {
            Some(NameMatch::Several(spans.iter().map(modules).collect()))
        }
        _ if !spans.iter().any(|span| is_call(span, files.iter().chain(runtime))) => {
            Some(NameMatch::Unfit(no_call(within, files, runtime)))
        }
        _ => Some(NameMatch::Places(spans.into_iter().map(|span| place(vec![span])).collect())),
    }
}

/// Whether a call ends where this span does.
fn is_call<'f>(span: &Span, mut files: impl Iterator<Item = &'f File>) -> bool {
    files.any(|file| file.path() == span.module && file.is_return_address(span.range.end))
}

/// Why an offset in a function names no call, with the calls of the function that wait.
fn no_call(within: &str, files: &[File], runtime: &[File]) -> String {
    let calls = Calls::of(Callee::Wait, files, runtime);
    let of_file = |file: &File| {
        let functions = file.functions_named(within).into_iter();
        let calls = functions.flat_map(|function| {
            let start = function.start;
            let places = calls.within(&Span::new(file.path(), function));
            places.into_iter().map(move |place| format!("{within}+{:#x}", place.spans[0].range.end - start))
        });
        calls.collect::<Vec<String>>()
    };
    let waits: Vec<String> = files.iter().flat_map(of_file).take(OFFERED).collect();
    match waits.is_empty() {
        true => "no call returns there: `unspin meter` prints the call sites of a program's waits".into(),
        false => format!("no call returns there (meant: {}?)", waits.join(", ")),
    }
}

/// Every wait that a piece of code calls, directly or through a runtime library of the language.
fn called_in(code: &Code, label: &str, files: &[File], runtime: &[File]) -> Option<NameMatch> {
    if code.paths().len() > 1 {
        return Some(NameMatch::Several(code.labels(label)));
    }
    let calls = Calls::of(Callee::Wait, files, runtime);
    let mut places: Vec<Place> = code.spans().flat_map(|span| calls.within(span)).collect();
    for span in code.spans() {
        places.extend(calls.through_system(std::slice::from_ref(span)));
    }
    code.found(
        places,
        "it calls no function of libc that waits: name the call itself, as `unspin meter` prints it (worker_loop+0x2d)",
    )
}

fn place(spans: Vec<Span>) -> Place {
    Place { by: By::Site, spans }
}

/// Whether a function of libc waits: those that the preload library hooks.
pub fn is_wait(function: &str) -> bool {
    WAITS.contains(&function)
}

const WAITS: [&str; 43] = [
    "pthread_cond_wait",
    "pthread_cond_timedwait",
    "pthread_cond_clockwait",
    "cnd_wait",
    "cnd_timedwait",
    "sem_wait",
    "sem_timedwait",
    "sem_clockwait",
    "pthread_barrier_wait",
    "pthread_join",
    "pthread_timedjoin_np",
    "pthread_clockjoin_np",
    "thrd_join",
    "poll",
    "__poll",
    "__poll_chk",
    "ppoll",
    "__ppoll_chk",
    "select",
    "__select",
    "pselect",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "read",
    "__read",
    "__read_chk",
    "readv",
    "recv",
    "__recv",
    "__recv_chk",
    "recvfrom",
    "__recvfrom_chk",
    "recvmsg",
    "__recvmsg",
    "recvmmsg",
    "accept",
    "accept4",
    // Rust's standard library and parking_lot sleep in this way.
    "syscall",
    "semop",
    "semtimedop",
    "msgrcv",
    "msgsnd",
];

#[cfg(test)]
mod tests {
    use super::super::resolve::Resolver;
    use super::super::testing;
    use super::*;
    use crate::program::Program;
    use unspin_e2e::Workshop;

    const SOURCE: &str = "
        #include <poll.h>
        #include <pthread.h>
        static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
        static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
        static int is_ready;
        void __attribute__((noinline)) await_ready(void) {
            pthread_mutex_lock(&guard);
            while (!is_ready)
                pthread_cond_wait(&ready, &guard); /* line 10 */
            pthread_mutex_unlock(&guard);
        }
        int __attribute__((noinline)) nap(void) { return poll(0, 0, 1) + 1; }
        int main(int argc, char **argv) { is_ready = argc; await_ready(); return nap() - 1; }";

    fn compile(workshop: &Workshop, flags: &[&str]) -> Option<Program> {
        let source = workshop.file("waits.c");
        std::fs::write(&source, SOURCE).unwrap();
        testing::compile(workshop, source.to_str().unwrap(), flags)
    }

    fn sites(program: &Program, name: &str) -> Result<Vec<Place>, String> {
        let resolver = Resolver::new(program);
        resolver.sites(&SiteName::new(name).unwrap(), None).map_err(|e| e.to_string())
    }

    #[test]
    fn function_line_and_call_name_the_same_place() {
        let workshop = Workshop::new();
        let Some(program) = compile(&workshop, &["-g", "-O1"]) else { return };
        let file = File::open(&program.path).unwrap();
        let wait = file.calls(|name| name == "pthread_cond_wait")[0];
        let expected = vec![place(vec![Span::new(&program.path, wait..wait + 1)])];
        let start = file.functions_named("await_ready")[0].start;
        let name = |offset: u64| format!("await_ready+{offset:#x}");
        assert_eq!(sites(&program, "await_ready"), Ok(expected.clone()));
        assert_eq!(sites(&program, "waits.c:10"), Ok(expected.clone()));
        assert_eq!(sites(&program, &name(wait + 1 - start)), Ok(expected));
        let by_file = format!("{}+{:#x}", file.name(), wait + 1);
        assert_eq!(sites(&program, &by_file).unwrap().len(), 1);
        assert_eq!(sites(&program, "nap").unwrap().len(), 1);
    }

    #[test]
    fn function_without_wait_is_refused() {
        let workshop = Workshop::new();
        let Some(program) = compile(&workshop, &["-O1"]) else { return };
        let why = sites(&program, "main").unwrap_err();
        assert!(why.starts_with("main: it calls no function of libc that waits"), "{why}");
        let unknown = sites(&program, "await_raedy").unwrap_err();
        let expected = format!(
            "await_raedy: there is no such function in {} (meant: await_ready?); `unspin meter` prints the call sites of a \
             program's waits",
            program.path.display()
        );
        assert_eq!(unknown, expected);
        assert!(sites(&program, "await_raedy+0x10").unwrap_err().contains("(meant: await_ready?)"));
        let beyond = sites(&program, "await_ready+0x99999").unwrap_err();
        assert!(beyond.starts_with("await_ready+0x99999: await_ready is shorter; "), "{beyond}");
        let file = File::open(&program.path).unwrap();
        let start = file.functions_named("await_ready")[0].start;
        let wait = file.calls(|name| name == "pthread_cond_wait")[0] + 1 - start;
        let beside = sites(&program, &format!("await_ready+{:#x}", wait - 1)).unwrap_err();
        assert!(
            beside.ends_with(&format!(" no call returns there (meant: await_ready+{wait:#x}?)")),
            "{beside}"
        );
        let lines = sites(&program, "waits.c:10").unwrap_err();
        assert!(lines.contains("has no debug information"), "{lines}");
    }
}
