//! The standard input of `prove`, which the program does not get: each run would read another part of it.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;

/// What the user should know if standard input has data. A terminal and an empty pipe have none.
pub fn warning() -> Option<String> {
    let kind = kind_with_data(std::io::stdin())?;
    Some(format!(
        "standard input is a {kind}, and is not passed on: under prove the program's standard input is empty. Name the file \
         as an argument of the program, or prove a script that reads it"
    ))
}

fn kind_with_data(input: impl AsFd) -> Option<&'static str> {
    let input = input.as_fd();
    let about = File::from(input.try_clone_to_owned().ok()?).metadata().ok()?;
    match about.file_type() {
        kind if kind.is_file() && about.len() > 0 => Some("file"),
        kind if kind.is_fifo() && unspin_sys::file::has_data(input) => Some("pipe"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn only_input_with_data_is_noticed() {
        let mut file = tempfile::tempfile().unwrap();
        assert_eq!(kind_with_data(&file), None);
        file.write_all(b"b\na\n").unwrap();
        assert_eq!(kind_with_data(&file), Some("file"));
        let (reader, mut writer) = std::io::pipe().unwrap();
        assert_eq!(kind_with_data(&reader), None);
        writer.write_all(b"x").unwrap();
        assert_eq!(kind_with_data(&reader), Some("pipe"));
        assert_eq!(kind_with_data(File::open("/dev/null").unwrap()), None);
    }
}
