//! What one look at the machine has found.

use crate::options::Use;
use serde::Serialize;

/// Whether something works.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It does.
    Ok,
    /// It does, at a price.
    Limited,
    /// It does not.
    Fails,
}

impl State {
    /// The first word of the line.
    pub fn word(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Limited => "limited",
            State::Fails => "FAILS",
        }
    }
}

/// One look.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Check {
    /// What was looked at, the same text in every version.
    pub name: &'static str,
    /// Whether it works.
    pub state: State,
    /// What was found.
    pub found: String,
    /// What it costs the user; none if it works.
    pub costs: Option<String>,
    /// What the user can do; none if it works, or if nothing helps.
    pub remedy: Option<String>,
    /// What cannot work if this fails.
    pub needed_by: Vec<Use>,
}

impl Check {
    /// It works.
    pub fn ok(name: &'static str, found: impl Into<String>) -> Check {
        Check {
            name,
            state: State::Ok,
            found: found.into(),
            costs: None,
            remedy: None,
            needed_by: Vec::new(),
        }
    }

    /// It works at a price.
    pub fn limited(name: &'static str, found: impl Into<String>, costs: &str, remedy: Option<&str>) -> Check {
        Check {
            state: State::Limited,
            costs: Some(costs.to_owned()),
            remedy: remedy.map(str::to_owned),
            ..Check::ok(name, found)
        }
    }

    /// It does not work. The error states its remedy itself.
    pub fn fails(name: &'static str, error: impl ToString, costs: &str) -> Check {
        let found = error.to_string();
        let remedy = commands_in(&found);
        Check { state: State::Fails, costs: Some(costs.to_owned()), remedy, ..Check::ok(name, found) }
    }

    /// The same, which this is needed by.
    pub fn needed_by(self, uses: &[Use]) -> Check {
        Check { needed_by: uses.to_vec(), ..self }
    }
}

/// The commands in the text of an error, which stand between backquotes; none if there is none.
fn commands_in(text: &str) -> Option<String> {
    let commands: Vec<&str> = text.split('`').skip(1).step_by(2).collect();
    (!commands.is_empty()).then(|| commands.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_an_error_are_the_remedy() {
        let error = "no tracefs is mounted: as root, `mount -t tracefs x /y`; or run `b`";
        let check = Check::fails("tracepoints", error, "the lenses");
        assert_eq!(check.remedy.as_deref(), Some("mount -t tracefs x /y; b"));
        assert_eq!(Check::fails("a", "no remedy", "b").remedy, None);
    }
}
