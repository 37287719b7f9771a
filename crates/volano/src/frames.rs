//! The bytes that a reader has read, cut into messages.

/// Bytes that a reader asks for at once, unless a message is larger.
pub const READ: usize = 4096;

/// A buffer from which messages are taken. The caller reads into [`Frames::space`].
#[derive(Debug)]
pub struct Frames {
    buffer: Box<[u8]>,
    /// Length of a message.
    size: usize,
    /// The bytes `start..end` have been read and not been taken.
    start: usize,
    end: usize,
}

impl Frames {
    /// An empty buffer for messages of `size` bytes.
    pub fn new(size: usize) -> Frames {
        Frames { buffer: vec![0; size.max(READ)].into(), size, start: 0, end: 0 }
    }

    /// The next complete message.
    pub fn next(&mut self) -> Option<&mut [u8]> {
        let start = self.start;
        if self.end - start < self.size {
            return None;
        }
        self.start += self.size;
        Some(&mut self.buffer[start..self.start])
    }

    /// Room for more bytes, at least one. Only while there is no complete message.
    pub fn space(&mut self) -> &mut [u8] {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        &mut self.buffer[self.end..]
    }

    /// The first `count` bytes of the space have been filled.
    pub fn note_filled(&mut self, count: usize) {
        self.end += count;
    }

    /// Whether a part of a message has been read.
    pub fn has_part(&self) -> bool {
        self.start < self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads `text` in pieces of this length; returns the messages.
    fn cut(text: &[u8], size: usize, piece: usize) -> Vec<Vec<u8>> {
        let mut frames = Frames::new(size);
        let mut messages = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let space = frames.space();
            let count = piece.min(rest.len()).min(space.len());
            space[..count].copy_from_slice(&rest[..count]);
            frames.note_filled(count);
            rest = &rest[count..];
            while let Some(message) = frames.next() {
                messages.push(message.to_vec());
            }
        }
        assert_eq!(frames.has_part(), !text.len().is_multiple_of(size));
        messages
    }

    #[test]
    fn messages_are_cut_wherever_reads_end() {
        let text: Vec<u8> = (0..10_000).map(|byte| byte as u8).collect();
        for size in [16, 100, 5000] {
            for piece in [1, 7, 100, 1 << 20] {
                let messages = cut(&text, size, piece);
                assert_eq!(messages.concat(), text[..text.len() / size * size], "{size} {piece}");
                assert!(messages.iter().all(|message| message.len() == size));
            }
        }
    }
}
