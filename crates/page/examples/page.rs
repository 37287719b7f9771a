//! Prints the page of a stored result: `cargo run -p unspin-page --example page RESULT.json >page.html`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(file) = std::env::args_os().nth(1) else {
        eprintln!("page: name a file that `unspin prove --json` has written");
        return ExitCode::from(2);
    };
    let page = std::fs::read_to_string(&file).map_err(|e| e.to_string());
    match page.and_then(|json| unspin_page::page(&json).map_err(|e| e.to_string())) {
        Ok(page) => print!("{page}"),
        Err(e) => {
            eprintln!("page: {}: {e}", file.display());
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
