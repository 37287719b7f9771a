//! What a path and its query ask for.

use super::metrics::MetricsFormat;
use super::profile_name::ProfileName;
use super::request::Request;
use super::response::{Response, Status};
use std::time::Duration;

/// The longest time for which a profile can be asked.
const SECONDS_MAX: u64 = 3600;

/// The form of a profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProfileForm {
    /// Protocol buffers, compressed with gzip.
    Pprof,
    /// The text of Go's `?debug=1`.
    Text,
}

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Endpoint {
    /// The page with the list of all.
    Home,
    /// The page with the list of profiles.
    Index,
    /// A profile since the start of the program.
    Profile(ProfileName, ProfileForm),
    /// A profile of the time from now on.
    NextSeconds(ProfileName, Duration),
    /// The command line.
    Cmdline,
    /// The counters.
    Metrics(MetricsFormat),
}

impl Endpoint {
    /// What a request asks for; else the answer that says what is wrong.
    pub fn of(request: &Request) -> Result<Endpoint, Response> {
        let path = request.path.as_str();
        if let Some(name) = path.strip_prefix("/debug/pprof/").filter(|name| !name.is_empty()) {
            if name == "cmdline" {
                return Ok(Endpoint::Cmdline);
            }
            let profile = ProfileName::ALL.into_iter().find(|profile| profile.name() == name);
            return profile.map_or_else(|| Err(unknown_profile()), |profile| of_profile(request, profile));
        }
        match path {
            "/" => Ok(Endpoint::Home),
            "/debug/pprof/" => Ok(Endpoint::Index),
            "/debug/pprof" => Err(Response::moved("/debug/pprof/")),
            "/metrics" => Ok(Endpoint::Metrics(MetricsFormat::accepted(&request.accept))),
            _ => Err(Response::error(Status::NotFound, "there are /debug/pprof/ and /metrics")),
        }
    }
}

fn unknown_profile() -> Response {
    let names = ProfileName::ALL.map(ProfileName::name).join(" and ");
    Response::error(
        Status::NotFound,
        &format!("unknown profile; there are {names}: the program's CPU time and memory are not recorded"),
    )
}

fn of_profile(request: &Request, profile: ProfileName) -> Result<Endpoint, Response> {
    // As Go: what is no number is 0.
    let is_text =
        request.parameter("debug").and_then(|text| text.parse::<i64>().ok()).is_some_and(|n| n != 0);
    let form = if is_text { ProfileForm::Text } else { ProfileForm::Pprof };
    let Some(text) = request.parameter("seconds") else { return Ok(Endpoint::Profile(profile, form)) };
    let bad = |why: &str| Err(Response::error(Status::BadRequest, why));
    match text.parse() {
        Ok(1..=SECONDS_MAX) if form == ProfileForm::Text => bad("seconds and debug params are incompatible"),
        Ok(seconds @ 1..=SECONDS_MAX) => Ok(Endpoint::NextSeconds(profile, Duration::from_secs(seconds))),
        _ => bad("invalid value for \"seconds\" - must be an integer from 1 to 3600"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(target: &str) -> Result<Endpoint, Status> {
        Endpoint::of(&Request::get(target)).map_err(|response| response.status)
    }

    #[test]
    fn paths_and_parameters_are_those_of_go() {
        use ProfileForm::{Pprof, Text};
        use ProfileName::{Block, Mutex};
        assert_eq!(of("/debug/pprof/"), Ok(Endpoint::Index));
        assert_eq!(of("/debug/pprof"), Err(Status::MovedPermanently));
        assert_eq!(of("/debug/pprof/mutex"), Ok(Endpoint::Profile(Mutex, Pprof)));
        assert_eq!(of("/debug/pprof/block?debug=1"), Ok(Endpoint::Profile(Block, Text)));
        assert_eq!(of("/debug/pprof/block?debug=0&gc=1"), Ok(Endpoint::Profile(Block, Pprof)));
        let second = Duration::from_secs(1);
        assert_eq!(of("/debug/pprof/mutex?seconds=1"), Ok(Endpoint::NextSeconds(Mutex, second)));
        assert_eq!(of("/debug/pprof/cmdline"), Ok(Endpoint::Cmdline));
        for bad in ["0", "-1", "x", "1.5", "3601", "99999999999999999999"] {
            assert_eq!(of(&format!("/debug/pprof/mutex?seconds={bad}")), Err(Status::BadRequest), "{bad}");
        }
        assert_eq!(of("/debug/pprof/mutex?seconds=1&debug=1"), Err(Status::BadRequest));
        for unknown in ["/debug/pprof/heap", "/debug/pprof/mutex/", "/debug", "/metrics/", "/../etc/passwd"] {
            assert_eq!(of(unknown), Err(Status::NotFound), "{unknown}");
        }
    }
}
