//! A message: a frame of fixed length, with a header that lets the receiver check it.

/// Length of the header in bytes, and so the least length of a message.
pub const HEADER: usize = 16;

/// What the header says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Header {
    /// The room.
    pub room: u32,
    /// The user that sent the message, from 0 in each room.
    pub user: u32,
    /// The number of the message among those of its user, from 0.
    pub sequence: u32,
    /// The number of the message among those of its room. The server sets it.
    pub position: u32,
}

/// Writes a message into the frame: header and text.
pub fn write(frame: &mut [u8], header: Header) {
    let (head, text) = frame.split_at_mut(HEADER);
    for (field, value) in
        head.chunks_exact_mut(4).zip([header.room, header.user, header.sequence, header.position])
    {
        field.copy_from_slice(&value.to_le_bytes());
    }
    text.fill(mark(header));
}

/// Changes the position of a message that is complete otherwise.
pub fn set_position(frame: &mut [u8], position: u32) {
    frame[12..HEADER].copy_from_slice(&position.to_le_bytes());
}

/// The header of a message, whatever its text is.
pub fn header(frame: &[u8]) -> Header {
    let mut fields = frame[..HEADER]
        .chunks_exact(4)
        .map(|field| u32::from_le_bytes(field.try_into().expect("chunks of four bytes")));
    let mut next = || fields.next().expect("a header has four fields");
    Header { room: next(), user: next(), sequence: next(), position: next() }
}

/// Whether the text belongs to the header.
pub fn is_intact(frame: &[u8]) -> bool {
    let mark = mark(header(frame));
    frame[HEADER..].iter().all(|&byte| byte == mark)
}

/// The byte of which the text consists. It differs between neighbouring messages.
fn mark(header: Header) -> u8 {
    (header.room.wrapping_mul(89) ^ header.user.wrapping_mul(31)).wrapping_add(header.sequence) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_that_was_written_is_read() {
        let sent = Header { room: 70_000, user: 3, sequence: 99, position: 0 };
        let mut frame = [0; 40];
        write(&mut frame, sent);
        assert_eq!(header(&frame), sent);
        set_position(&mut frame, 258);
        assert_eq!(header(&frame), Header { position: 258, ..sent });
        assert!(is_intact(&frame), "the text does not depend on the position");
    }

    #[test]
    fn altered_text_or_sequence_is_not_intact() {
        let mut frame = [0; 40];
        write(&mut frame, Header { room: 1, user: 2, sequence: 3, position: 4 });
        for index in [8, HEADER, 39] {
            let mut altered = frame;
            altered[index] ^= 1;
            assert!(!is_intact(&altered), "byte {index}");
        }
    }
}
