//! The value of `--waits`: a policy, for all waits or for those of one call site.

use super::entry::{WaitEntry, Which};
use super::policy::WaitPolicy;
use super::site_name::SiteName;
use std::fmt;
use std::str::FromStr;

/// `poll`, or `poll@uv__io_poll+0x1d2`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitChoice {
    /// What a thread does before it sleeps.
    pub policy: WaitPolicy,
    /// The call site; none: all call sites without a choice of their own.
    pub site: Option<SiteName>,
}

impl FromStr for WaitChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<WaitChoice, String> {
        let Some((policy, site)) = text.split_once('@') else {
            return Ok(WaitChoice { policy: text.parse()?, site: None });
        };
        let policy: WaitPolicy = policy.parse()?;
        let site = SiteName::new(site).ok_or_else(|| {
            format!("name a call site after the @, as `unspin meter` prints it: {policy}@worker_loop+0x2d")
        })?;
        Ok(WaitChoice { policy, site: Some(site) })
    }
}

impl fmt::Display for WaitChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.site {
            Some(site) => write!(f, "{}@{site}", self.policy),
            None => self.policy.fmt(f),
        }
    }
}

impl From<&WaitChoice> for WaitEntry {
    fn from(choice: &WaitChoice) -> WaitEntry {
        let which = choice.site.clone().map_or(Which::All, |name| Which::Named { name, module: None });
        WaitEntry { policy: choice.policy, which }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_is_parsed_with_and_without_site() {
        let choice = |text: &str| text.parse::<WaitChoice>();
        assert_eq!(choice("poll"), Ok(WaitChoice { policy: WaitPolicy::Poll, site: None }));
        let site = SiteName::new("queue.c:88");
        assert_eq!(choice("system@queue.c:88"), Ok(WaitChoice { policy: WaitPolicy::System, site }));
        assert_eq!(choice("poll@f+0x2d").unwrap().to_string(), "poll@f+0x2d");
        assert!(choice("poll@").unwrap_err().starts_with("name a call site after the @"));
        assert!(choice("@f").unwrap_err().starts_with("there is no wait policy \"\""));
    }
}
