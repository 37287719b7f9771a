//! What a thread does in a wait before it sleeps, by its name on the command line.

use std::fmt;
use std::str::FromStr;

/// What a thread does before it sleeps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum WaitPolicy {
    /// It checks repeatedly for as long as a wake-up costs, where that has paid lately.
    Poll,
    /// It sleeps at once, like without unspin: the control.
    System,
}

impl WaitPolicy {
    const ALL: [WaitPolicy; 2] = [WaitPolicy::Poll, WaitPolicy::System];

    /// Its name on the command line, in plan files and in compiled plans.
    pub const fn name(self) -> &'static str {
        match self {
            WaitPolicy::Poll => "poll",
            WaitPolicy::System => "system",
        }
    }
}

impl fmt::Display for WaitPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for WaitPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<WaitPolicy, String> {
        let known = WaitPolicy::ALL.into_iter().find(|policy| policy.name() == text);
        known.ok_or_else(|| {
            let names = WaitPolicy::ALL.map(WaitPolicy::name);
            let meant =
                super::nearest::of(text, names).map_or(String::new(), |near| format!(" (meant: {near}?)"));
            format!("there is no wait policy {text:?}{meant}: {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_policy_is_refused_with_the_known_ones() {
        assert_eq!("poll".parse(), Ok(WaitPolicy::Poll));
        assert_eq!(
            "pol".parse::<WaitPolicy>(),
            Err("there is no wait policy \"pol\" (meant: poll?): poll, system".into())
        );
        assert_eq!(
            "spin".parse::<WaitPolicy>(),
            Err("there is no wait policy \"spin\": poll, system".into())
        );
    }
}
