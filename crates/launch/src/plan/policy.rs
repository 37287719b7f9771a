//! What a thread does in a wait before it sleeps, by its name on the command line.

pub use unspin_wire::plan::WaitPolicy;

/// The policy with this name, or what to say to the user.
pub fn parse(text: &str) -> Result<WaitPolicy, String> {
    text.parse().map_err(|_| {
        let names = WaitPolicy::ALL.map(WaitPolicy::name);
        let meant =
            super::nearest::of(text, names).map_or(String::new(), |near| format!(" (meant: {near}?)"));
        format!("there is no wait policy {text:?}{meant}: {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_policy_is_refused_with_the_known_ones() {
        assert_eq!(parse("poll"), Ok(WaitPolicy::Poll));
        assert_eq!(parse("pol"), Err("there is no wait policy \"pol\" (meant: poll?): poll, system".into()));
        assert_eq!(parse("spin"), Err("there is no wait policy \"spin\": poll, system".into()));
    }
}
