//! Words within sentences.

/// "a", "a and b", "a, b and c", with this conjunction.
///
/// ```
/// assert_eq!(unspin_figures::list(&["a", "b", "c"], "or"), "a, b or c");
/// assert_eq!(unspin_figures::list::<&str>(&[], "and"), "nothing");
/// ```
pub fn list<T: AsRef<str>>(names: &[T], conjunction: &str) -> String {
    match names {
        [] => "nothing".into(),
        [name] => name.as_ref().to_owned(),
        [names @ .., last] => {
            let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
            format!("{} {conjunction} {}", names.join(", "), last.as_ref())
        }
    }
}

/// The sentence with a capital at the beginning.
///
/// ```
/// assert_eq!(unspin_figures::capital("éa"), "Éa");
/// ```
pub fn capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
