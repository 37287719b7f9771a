//! A process image in the recording: one for each program that a process executes, and one for each child made by
//! fork.
//!
//! It holds what is needed to name addresses after the process has ended: its command line, the lists of its modules,
//! and pieces of stack. The process itself writes all of it, without the C library.

use crate::event::Key;
use crate::list;
use crate::pages::{self, Pages, WORDS};
use unspin_sync::atomic::{AtomicU64, Ordering::*};
use unspin_sys::{clock, file, maps, process};

// Indices of the words of the image's first page. Word 0 links the images.
/// `pid << 32 | parent`.
pub(crate) const PROCESS: usize = 1;
/// Start of recording in this image, in ticks.
pub(crate) const SINCE: usize = 2;
/// Head of the list of tables.
pub(crate) const TABLES: usize = 3;
/// Top of the stack of released tables.
pub(crate) const RELEASED: usize = 4;
/// Head of the list of texts and stacks.
pub(crate) const BLOBS: usize = 5;
/// Number of module lists so far.
pub(crate) const GENERATION: usize = 6;
/// Number of stacks so far.
const STACKS: usize = 7;
/// Bytes of the command line; 0 in recordings of versions that did not store it.
const COMMAND_BYTES: usize = 8;
/// When the process was last known to be alive, in ticks; 0: not known after SINCE.
pub(crate) const SEEN: usize = 9;
/// When the process was found to have ended, in ticks; 0: it is not known to have ended.
pub(crate) const ENDED: usize = 10;
/// Inode number of the process's pid namespace; 0 if unknown.
pub(crate) const NAMESPACE: usize = 11;
/// A number of the executed program ([`process::image`]); 0 if unknown.
pub(crate) const PROGRAM: usize = 12;
/// The command line: arguments that end with a null byte each, truncated to the room there is.
const COMMAND: usize = 64;
const COMMAND_WORDS: usize = 128;
/// Behind the first page: a set of hashes of the locks and callers that have a stack.
const SEEN_WORDS: usize = 2 * WORDS;
const PAGES: u64 = 3;

/// Maximum number of stacks of an image: 32 MiB.
const STACKS_MAX: u64 = 8192;

// Indices of the words of a page of text or of stack. Word 0 links the pages.
/// The module generation that a text belongs to, from 1 on; 0: the page holds a stack.
pub(crate) const BLOB_GENERATION: usize = 1;
/// Bytes of text or of stack.
pub(crate) const BLOB_BYTES: usize = 2;
/// A stack's key and registers.
pub(crate) const STACK_LOCK: usize = 3;
pub(crate) const STACK_CALLER: usize = 4;
pub(crate) const STACK_SP: usize = 5;
pub(crate) const STACK_BP: usize = 6;
pub(crate) const STACK_IP: usize = 7;
/// First word of text or of stack.
pub(crate) const BLOB_FIRST: usize = 8;
/// Bytes of text or of stack that fit into a page.
pub(crate) const BLOB_ROOM: usize = (WORDS - BLOB_FIRST) * 8;

/// Registers of a thread when it used a lock. An unwinder starts with them.
#[derive(Clone, Copy, Debug)]
pub struct Registers {
    /// The hook's return address. It equals [`Key::caller`] unless the key names a caller further out.
    pub ip: u64,
    /// Stack pointer after the return to that address.
    pub sp: u64,
    /// The frame-base register at that time.
    pub bp: u64,
}

/// Write access to an image, for any thread of its process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Image<'m> {
    pages: Pages<'m>,
    free: &'m AtomicU64,
    page: u64,
    words: &'m [AtomicU64; WORDS],
}

/// Creates an image of the calling process, without modules, and adds it to the list. Returns its page.
pub(crate) fn create(pages: Pages<'_>, free: &AtomicU64, images: &AtomicU64) -> Option<u64> {
    let page = pages::take(free, pages.len(), PAGES)?;
    pages.populate(page, PAGES).ok()?;
    let words = pages.page(page)?;
    // Relaxed (all): published by the push.
    words[NAMESPACE].store(process::pid_namespace(), Relaxed);
    words[PROGRAM].store(process::image(), Relaxed);
    words[PROCESS].store(u64::from(process::pid()) << 32 | u64::from(process::parent()), Relaxed);
    words[SINCE].store(clock::ticks(), Relaxed);
    let mut command = [0; 8 * COMMAND_WORDS];
    if let Ok(text) = file::read_small(c"/proc/self/cmdline", &mut command) {
        // Relaxed: published by the push.
        words[COMMAND_BYTES].store(text.len() as u64, Relaxed);
        store_bytes(&words[COMMAND..COMMAND + COMMAND_WORDS], text);
    }
    list::push(images, words, page);
    Some(page)
}

/// Records that the process of an image is alive now.
pub(crate) fn set_seen(words: &[AtomicU64; WORDS]) {
    // Relaxed: a time that readers take as it is.
    words[SEEN].store(clock::ticks(), Relaxed);
}

/// Number of lists of modules and of stacks.
#[cfg(not(loom))]
pub(crate) fn texts(words: &[AtomicU64; WORDS]) -> u64 {
    // Relaxed (both): numbers that grow after what they count was published; a later call sees it.
    words[GENERATION].load(Relaxed).saturating_add(words[STACKS].load(Relaxed))
}

impl<'m> Image<'m> {
    pub fn at(pages: Pages<'m>, free: &'m AtomicU64, page: u64) -> Option<Image<'m>> {
        Some(Image { pages, free, page, words: pages.page(page)? })
    }

    pub fn page(&self) -> u64 {
        self.page
    }

    pub fn words(&self) -> &'m [AtomicU64; WORDS] {
        self.words
    }

    fn blob(&self) -> Option<(u64, &'m [AtomicU64; WORDS])> {
        let page = pages::take(self.free, self.pages.len(), 1)?;
        self.pages.populate(page, 1).ok()?;
        Some((page, self.pages.page(page)?))
    }

    /// Adds a list of the modules as they are now, and passes the address range of each piece of code to `each`.
    pub fn note_modules(&self, each: &mut dyn FnMut(core::ops::Range<u64>)) {
        // Relaxed: a number.
        let generation = self.words[GENERATION].load(Relaxed) + 1;
        let mut text = Text { image: self, generation, page: None, filled: 0 };
        let _ = maps::lines(|line| {
            if maps::name(line).is_some() {
                text.write(line);
                #[cfg(not(loom))]
                crate::build::describe(line, &mut |line| text.write(line));
                if maps::is_executable(line)
                    && let Some(range) = maps::range(line)
                {
                    each(range);
                }
            }
        });
        text.close();
        // Relaxed: as above. If two threads do this at once, two equal texts get the same number.
        self.words[GENERATION].store(generation, Relaxed);
    }

    /// Whether a stack for this key would be new: the first use of its kind of this lock (an initialisation counts as
    /// one), or the first use by this caller. (Hashes decide. After a collision a stack is wrongly taken as known.)
    pub fn wants_stack(&self, key: Key) -> bool {
        let lock = self.first_of(key.lock.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48);
        let caller = self.first_of(key.caller.wrapping_mul(0xd6e8_feb8_6659_fd93) >> 48);
        // Relaxed: a bound.
        lock | caller && self.words[STACKS].load(Relaxed) < STACKS_MAX
    }

    fn first_of(&self, hash: u64) -> bool {
        let Some(seen) = self.pages.slice((self.page as usize + 1) * WORDS, SEEN_WORDS) else { return false };
        // Relaxed: the thread that sets the bit is the first; no other memory depends on the bit.
        seen[hash as usize / 64 % SEEN_WORDS].fetch_or(1 << (hash % 64), Relaxed) >> (hash % 64) & 1 == 0
    }

    /// Copies a piece of the calling thread's stack, from `registers.sp` upwards, to the end of the stack or of the
    /// page.
    #[cfg(not(loom))]
    pub fn keep_stack(&self, key: Key, registers: Registers) {
        let Some((page, words)) = self.blob() else { return };
        let copied = unspin_sys::mem::copy_into_words(registers.sp as usize, &words[BLOB_FIRST..]);
        // Relaxed (all): published by the push.
        words[BLOB_BYTES].store(copied as u64, Relaxed);
        words[STACK_LOCK].store(key.lock, Relaxed);
        words[STACK_CALLER].store(key.caller, Relaxed);
        words[STACK_SP].store(registers.sp, Relaxed);
        words[STACK_BP].store(registers.bp, Relaxed);
        words[STACK_IP].store(registers.ip, Relaxed);
        list::push(&self.words[BLOBS], words, page);
        // Relaxed: a count.
        self.words[STACKS].fetch_add(1, Relaxed);
    }
}

/// A text that is written to as many pages as it needs.
struct Text<'i, 'm> {
    image: &'i Image<'m>,
    generation: u64,
    page: Option<(u64, &'m [AtomicU64; WORDS])>,
    filled: usize,
}

impl Text<'_, '_> {
    fn write(&mut self, line: &[u8]) {
        for part in [line, b"\n"] {
            for &byte in part {
                if self.filled == BLOB_ROOM {
                    self.close();
                }
                if self.page.is_none() {
                    self.page = self.image.blob();
                }
                let Some((_, words)) = self.page else { return };
                let word = &words[BLOB_FIRST + self.filled / 8];
                // Relaxed (both): published by the push in `close`.
                word.store(word.load(Relaxed) | u64::from(byte) << (self.filled % 8 * 8), Relaxed);
                self.filled += 1;
            }
        }
    }

    fn close(&mut self) {
        if let Some((page, words)) = self.page.take() {
            // Relaxed (both): published by the push.
            words[BLOB_GENERATION].store(self.generation, Relaxed);
            words[BLOB_BYTES].store(self.filled as u64, Relaxed);
            list::push(&self.image.words[BLOBS], words, page);
        }
        self.filled = 0;
    }
}

/// The arguments of the process; the first is its name. An argument may be empty.
pub(crate) fn command(words: &[AtomicU64; WORDS]) -> Vec<String> {
    // Relaxed: acquired with the page.
    let stored = words[COMMAND_BYTES].load(Relaxed).min(8 * COMMAND_WORDS as u64) as usize;
    let mut text = load_bytes(&words[COMMAND..COMMAND + COMMAND_WORDS], usize::MAX);
    let last = text.iter().rposition(|&byte| byte != 0);
    text.truncate(if stored > 0 { stored } else { last.map_or(0, |last| last + 1) });
    arguments(&text)
}

/// Splits a text with the format of `/proc/PID/cmdline`: a null byte ends each argument. The last argument lacks it
/// if the text is truncated.
pub(crate) fn arguments(text: &[u8]) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    let text = text.strip_suffix(b"\0").unwrap_or(text);
    text.split(|&byte| byte == 0).map(|argument| String::from_utf8_lossy(argument).into_owned()).collect()
}

/// Writes bytes into words, in the order of memory.
pub(crate) fn store_bytes(words: &[AtomicU64], bytes: &[u8]) {
    for (word, chunk) in words.iter().zip(bytes.chunks(8)) {
        let mut eight = [0; 8];
        eight[..chunk.len()].copy_from_slice(chunk);
        // Relaxed: the caller publishes the words.
        word.store(u64::from_ne_bytes(eight), Relaxed);
    }
}

/// Reads bytes back that [`store_bytes`] wrote.
pub(crate) fn load_bytes(words: &[AtomicU64], bytes: usize) -> Vec<u8> {
    // Relaxed: acquired with the page.
    let mut out: Vec<u8> = words.iter().flat_map(|word| word.load(Relaxed).to_ne_bytes()).collect();
    out.truncate(bytes);
    out
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_split_at_null_bytes() {
        let cases: [(&[u8], &[&str]); 6] = [
            (b"", &[]),
            (b"sh\0-c\0\0x\0", &["sh", "-c", "", "x"]),
            (b"sh\0\0\0", &["sh", "", ""]),
            (b"\0", &[""]),
            (b"sh\0cut of", &["sh", "cut of"]),
            (b"sh", &["sh"]),
        ];
        for (text, expected) in cases {
            assert_eq!(arguments(text), expected, "{text:?}");
        }
    }

    #[test]
    fn recording_without_length_of_command_line_ends_at_its_last_character() {
        let words = std::array::from_fn(|_| AtomicU64::new(0));
        store_bytes(&words[COMMAND..], b"sh\0\0x\0\0");
        assert_eq!(command(&words), ["sh", "", "x"]);
        // Relaxed: one thread.
        words[COMMAND_BYTES].store(7, Relaxed);
        assert_eq!(command(&words), ["sh", "", "x", ""]);
    }
}
