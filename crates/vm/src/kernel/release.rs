//! The names of Debian's kernels: `7.3.4+deb13-cloud-amd64`.

use std::fmt;

/// The kernels that Debian builds of one version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flavour {
    /// For virtual machines: few drivers, boots soonest.
    Cloud,
    /// For all machines.
    Plain,
    /// With PREEMPT_RT.
    Rt,
}

impl Flavour {
    /// All, with their names.
    pub const ALL: [(Flavour, &str); 3] =
        [(Flavour::Cloud, "cloud"), (Flavour::Plain, "plain"), (Flavour::Rt, "rt")];

    /// The name on command lines.
    pub fn name(self) -> &'static str {
        Flavour::ALL.iter().find(|(flavour, _)| *flavour == self).map_or("", |(_, name)| name)
    }
}

/// A kernel's release, as `uname -r` prints it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Release(String);

impl Release {
    /// A release of Debian for this architecture; none if the text is none.
    pub fn new(text: &str) -> Option<Release> {
        let release = Release(text.to_owned());
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b".+~-".contains(&byte);
        let is_one = text.starts_with(|first: char| first.is_ascii_digit())
            && text.ends_with("-amd64")
            && text.bytes().all(is_word);
        is_one.then_some(release)
    }

    /// The release's flavour.
    pub fn flavour(&self) -> Flavour {
        match self.0.strip_suffix("-amd64").unwrap_or(&self.0) {
            name if name.ends_with("-cloud") => Flavour::Cloud,
            name if name.ends_with("-rt") => Flavour::Rt,
            _ => Flavour::Plain,
        }
    }

    /// The release's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The numbers of the version. A later version has greater ones.
    fn numbers(&self) -> Vec<u64> {
        let version = self.0.split('-').next().unwrap_or_default();
        version.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
    }

    /// The newest first; those of one version by their text.
    pub fn sort(releases: &mut [Release]) {
        releases.sort_by(|a, b| b.numbers().cmp(&a.numbers()).then_with(|| a.0.cmp(&b.0)));
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flavour_is_read_from_the_name() {
        let flavour = |text| Release::new(text).map(|release| release.flavour());
        assert_eq!(flavour("7.3.4+deb13-cloud-amd64"), Some(Flavour::Cloud));
        assert_eq!(flavour("7.3.4+deb13-amd64"), Some(Flavour::Plain));
        assert_eq!(flavour("7.3.4+deb13-rt-amd64"), Some(Flavour::Rt));
        for other in ["cloud", "7.3.4", "7.3.4-arm64", "-amd64", "7.3/../x-amd64", "7.3.4 x-amd64"] {
            assert_eq!(flavour(other), None, "{other}");
        }
    }

    #[test]
    fn newest_release_is_the_one_with_the_greatest_numbers() {
        let mut releases =
            ["7.2.9+deb13-amd64", "7.2.12+deb13-rt-amd64", "7.2.12+deb13-amd64", "6.19.14+deb13-amd64"]
                .map(|text| Release::new(text).unwrap());
        Release::sort(&mut releases);
        let sorted = releases.map(|release| release.to_string());
        let newest_first =
            ["7.2.12+deb13-amd64", "7.2.12+deb13-rt-amd64", "7.2.9+deb13-amd64", "6.19.14+deb13-amd64"];
        assert_eq!(sorted, newest_first);
    }
}
