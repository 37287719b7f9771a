//! What the guest's kernel prints on its console: the last of it is kept, for messages.

use unspin_sys::printable;

/// Bytes that are kept.
const KEPT: usize = 64 << 10;
/// Lines that an error quotes.
const QUOTED: usize = 12;

/// The words by which every panic of Linux begins (kernel/panic.c).
const PANIC: &str = "Kernel panic - not syncing";
/// The word before the kind of an error of the kernel, which is told before the panic that follows (arch/x86/kernel/dumpstack.c).
const OOPS: &str = "Oops: ";

/// The end of a console's text.
#[derive(Default)]
pub(super) struct Console(Vec<u8>);

impl Console {
    /// Appends what has come.
    pub fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
        if self.0.len() > 2 * KEPT {
            self.0.drain(..self.0.len() - KEPT);
        }
    }

    /// The text, without what moves a terminal's cursor.
    pub fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.0);
        let lines = text.lines().map(plain).filter(|line| !line.trim().is_empty());
        lines.flat_map(|line| [line, "\n".into()]).collect()
    }

    /// The line of a panic of the kernel, with that of its oops; none if there was none.
    pub fn panic(&self) -> Option<String> {
        let text = self.text();
        let line_from = |start: usize| text[start..].lines().next().unwrap_or_default().trim();
        let panic = text.find(PANIC)?;
        Some(match text[..panic].find(OOPS) {
            Some(oops) => format!("{} ({})", line_from(panic), line_from(oops)),
            None => line_from(panic).to_owned(),
        })
    }

    /// The last lines, for the end of a message; those from a panic on, or from its oops, if there was one.
    pub fn quote(&self) -> String {
        let text = self.text();
        let lines: Vec<&str> = text.lines().collect();
        let position = |words: &str| lines.iter().position(|line| line.contains(words));
        let panic = position(PANIC).map(|panic| position(OOPS).map_or(panic, |oops| oops.min(panic)));
        let first = panic.unwrap_or(lines.len().saturating_sub(QUOTED));
        let last = &lines[first..lines.len().min(first + QUOTED)];
        if last.is_empty() {
            return "\n  | (the console is empty)".into();
        }
        last.iter().map(|line| format!("\n  | {}", printable::line(line))).collect()
    }
}

/// A line without escape sequences (ECMA-48: ESC, `[`, parameters, a letter), which the BIOS prints.
fn plain(line: &str) -> String {
    let mut rest = line;
    let mut found = String::new();
    while let Some((before, after)) = rest.split_once('\x1b') {
        found += before;
        let end = after.find(|c: char| c.is_ascii_alphabetic()).map_or(after.len(), |at| at + 1);
        rest = &after[end..];
    }
    found + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panic_is_found_by_its_words() {
        let mut console = Console::default();
        console.push(b"\x1bc\x1b[?7l\x1b[2JSeaBIOS\r\n[    1.0] Linux\r\n");
        assert_eq!(console.panic(), None);
        console.push(b"[    2.5] Kernel panic - not syncing: VFS: no root\r\n[    2.6] CPU: 0\r\n");
        assert_eq!(console.panic().unwrap(), "Kernel panic - not syncing: VFS: no root");
        assert!(console.text().starts_with("SeaBIOS\n[    1.0] Linux\n"), "{:?}", console.text());
        assert!(console.quote().ends_with("\n  | [    2.6] CPU: 0"));
    }

    #[test]
    fn oops_is_told_with_its_panic() {
        let mut console = Console::default();
        console.push(b"[    2.5] Oops: int3: 0000 [#1] PREEMPT SMP\r\n[    2.5] RIP: 0010:x\r\n");
        assert_eq!(console.panic(), None);
        console.push(b"[    2.6] Kernel panic - not syncing: Fatal exception\r\n");
        let expected = "Kernel panic - not syncing: Fatal exception (Oops: int3: 0000 [#1] PREEMPT SMP)";
        assert_eq!(console.panic().unwrap(), expected);
        assert!(console.quote().starts_with("\n  | [    2.5] Oops: int3"), "{}", console.quote());
    }

    #[test]
    fn only_the_end_is_kept_and_quoted() {
        let mut console = Console::default();
        assert_eq!(console.quote(), "\n  | (the console is empty)");
        for number in 0..100_000 {
            console.push(format!("line {number}\n").as_bytes());
        }
        assert!(console.0.len() <= 2 * KEPT);
        assert_eq!(console.quote().matches("\n  | line ").count(), QUOTED);
        assert!(console.quote().ends_with("line 99999"));
    }
}
