//! The format files of tracepoints: where the fields of a record lie.

/// A field of a tracepoint's record, as its format file describes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// The field's name.
    pub name: String,
    /// Offset of its first byte in the record.
    pub offset: usize,
    /// The field's size in bytes.
    pub size: usize,
    /// Whether the number can be negative.
    pub signed: bool,
    /// Number of elements; 1 if it is no array.
    pub elements: usize,
}

impl Field {
    /// The fields in the text of a format file, with those that all tracepoints have.
    pub fn parse_all(text: &str) -> Vec<Field> {
        text.lines().filter_map(Field::parse).collect()
    }

    /// A line such as `field:unsigned long args[6]; offset:16; size:48; signed:0;`, with tabs in place of the spaces.
    fn parse(line: &str) -> Option<Field> {
        let mut parts = line.trim().split(';').map(str::trim);
        let declaration = parts.next()?.strip_prefix("field:")?;
        let (mut offset, mut size, mut signed) = (None, None, false);
        for part in parts {
            match part.split_once(':') {
                Some(("offset", number)) => offset = number.parse().ok(),
                Some(("size", number)) => size = number.parse::<usize>().ok(),
                Some(("signed", number)) => signed = number == "1",
                _ => {}
            }
        }
        let last = declaration.split_ascii_whitespace().last()?;
        let (name, elements) = match last.split_once('[') {
            Some((name, length)) => (name, length.trim_end_matches(']').parse().unwrap_or(1)),
            None => (last, 1),
        };
        let name = name.trim_start_matches('*').to_owned();
        Some(Field { name, offset: offset?, size: size?, signed, elements: elements.max(1) })
    }

    /// One element of an array as a field.
    pub fn element(&self, index: usize) -> Option<Field> {
        let size = self.size / self.elements;
        let one = Field { offset: self.offset + index * size, size, elements: 1, ..self.clone() };
        (index < self.elements).then_some(one)
    }

    /// The field's number in a record; a negative number is sign-extended. None if the record is too short, or if the
    /// field is no number.
    pub fn read(&self, record: &[u8]) -> Option<u64> {
        let bytes = record.get(self.offset..self.offset.checked_add(self.size)?)?;
        if !matches!(bytes.len(), 1..=8) {
            return None;
        }
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        let shift = 64 - 8 * bytes.len() as u32;
        let number = u64::from_le_bytes(word) << shift;
        Some(if self.signed { (number.cast_signed() >> shift).cast_unsigned() } else { number >> shift })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: &str = "\
name: contention_begin
ID: 408
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:void * lock_addr;	offset:8;	size:8;	signed:0;
	field:unsigned int flags;	offset:16;	size:4;	signed:0;
	field:unsigned long args[6];	offset:24;	size:48;	signed:0;
	field:__data_loc char[] filename;	offset:72;	size:4;	signed:0;

print fmt: \"%p (flags=%s)\", REC->lock_addr, __print_flags(REC->flags)
";

    #[test]
    fn fields_are_parsed_with_offsets() {
        let fields = Field::parse_all(FORMAT);
        let names: Vec<&str> = fields.iter().map(|field| &*field.name).collect();
        assert_eq!(names, ["common_type", "common_pid", "lock_addr", "flags", "args", "filename"]);
        assert_eq!((fields[2].offset, fields[2].size, fields[2].signed), (8, 8, false));
        let second = fields[4].element(1).unwrap();
        assert_eq!((second.offset, second.size), (32, 8));
        assert_eq!(fields[4].element(6), None);
        assert_eq!(fields[3].element(1), None);
    }

    #[test]
    fn numbers_are_read_with_their_sign() {
        let fields = Field::parse_all(FORMAT);
        let mut record = [0; 24];
        record[4..8].copy_from_slice(&(-7_i32).to_le_bytes());
        record[8..16].copy_from_slice(&0xFFFF_FFFF_8100_0000_u64.to_le_bytes());
        record[16..20].copy_from_slice(&0x8000_0001_u32.to_le_bytes());
        assert_eq!(fields[1].read(&record), Some((-7_i64).cast_unsigned()));
        assert_eq!(fields[2].read(&record), Some(0xFFFF_FFFF_8100_0000));
        assert_eq!(fields[3].read(&record), Some(0x8000_0001));
        assert_eq!(fields[4].element(0).unwrap().read(&record), None, "the record ends before it");
        assert_eq!(fields[4].read(&[0; 100]), None, "an array is no number");
    }
}
