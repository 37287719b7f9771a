//! Writes the page of a stored result: `page < result.json > result.html`.

fn main() {
    let json = std::io::read_to_string(std::io::stdin()).expect("the standard input is text");
    match unspin_page::page(&json) {
        Ok(page) => print!("{page}"),
        Err(e) => eprintln!("the standard input {e}"),
    }
}
