//! The tables of a plan file.

use crate::plan::entry::{Entry, WaitEntry, Which};
use crate::plan::kind;
use crate::plan::located::Located;
use crate::plan::lock_name::LockName;
use crate::plan::place::{By, Place};
use crate::plan::policy;
use crate::plan::site_name::SiteName;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use unspin_wire::plan::LockFamily;

/// The name that stands for every lock, or every call site, without a table of its own.
pub const EVERY: &str = "*";

/// The builds of the files to which the places of a plan apply.
pub type Builds = BTreeMap<PathBuf, String>;

/// The replacement of one lock. The name of the table says of which family the lock is.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockTable {
    /// The lock's name; [`EVERY`]: every lock of the family that no other table names. Without it the table is refused.
    pub lock: Option<String>,
    kind: String,
    /// The only file in which the name is looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<PathBuf>,
    /// The places that identify it; none: looked up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Vec<String>>,
}

/// The policy of the waits of one call site.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WaitTable {
    /// The call site's name; [`EVERY`]: every wait that no other table names. Without it the table is refused.
    pub site: Option<String>,
    policy: String,
    /// The only file in which the name is looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<PathBuf>,
    /// The places that identify it; none: looked up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Vec<String>>,
}

impl LockTable {
    /// The table of an entry.
    pub fn of(entry: &Entry) -> LockTable {
        let lock = Some(EVERY.to_owned());
        let row = LockTable { lock, kind: entry.kind.to_string(), module: None, places: Vec::new() };
        match &entry.which {
            Which::All => row,
            Which::Named { name, module } => {
                LockTable { lock: Some(name.to_string()), module: module.clone(), ..row }
            }
            Which::Located(lock) => LockTable { lock: Some(lock.label()), places: words(lock), ..row },
        }
    }

    /// The entry, for locks of this family; otherwise what is wrong with the table.
    pub fn entry(&self, family: LockFamily, builds: &Builds) -> Result<Entry, String> {
        let kind = kind::parse_in_table(family, &self.kind)?;
        let (noun, table) = (family.noun(), family.table());
        let Some(lock) = &self.lock else {
            return Err(format!(
                "a [[{table}]] of kind {kind} has no lock: write `lock = \"NAME\"`, or `lock = \"{EVERY}\"` for every {noun} that \
                 no other [[{table}]] names"
            ));
        };
        if lock == EVERY {
            return match self.places.is_empty() && self.module.is_none() {
                true => Ok(Entry { kind, which: Which::All }),
                false => Err(format!(
                    "the {kind} for lock \"{EVERY}\" is for every {noun}: it has no places, and no module"
                )),
            };
        }
        let name = LockName::new(lock)
            .ok_or_else(|| format!("a lock has no name: write `lock = \"{EVERY}\"` to mean every {noun}"))?;
        if self.places.is_empty() {
            return Ok(Entry { kind, which: Which::Named { name, module: self.module.clone() } });
        }
        let suits = |by| by != By::Site && (by != By::Use || family.has_first_use());
        let places = places(lock, &self.places, builds, &suits)?;
        Ok(Entry {
            kind,
            which: Which::Located(Located { name: lock.clone(), origin: None, places, mutexes: 0 }),
        })
    }
}

impl WaitTable {
    /// The table of an entry.
    pub fn of(entry: &WaitEntry) -> WaitTable {
        let site = Some(EVERY.to_owned());
        let row = WaitTable { site, policy: entry.policy.name().into(), module: None, places: Vec::new() };
        match &entry.which {
            Which::All => row,
            Which::Named { name, module } => {
                WaitTable { site: Some(name.to_string()), module: module.clone(), ..row }
            }
            Which::Located(site) => WaitTable { site: Some(site.name.clone()), places: words(site), ..row },
        }
    }

    /// The entry; otherwise what is wrong with the table.
    pub fn entry(&self, builds: &Builds) -> Result<WaitEntry, String> {
        let policy = policy::parse(&self.policy)?;
        let Some(site) = &self.site else {
            return Err(format!(
                "a [[wait]] of policy {policy} has no site: write `site = \"NAME\"`, or `site = \"{EVERY}\"` for every wait that \
                 no other [[wait]] names"
            ));
        };
        if site == EVERY {
            return match self.places.is_empty() && self.module.is_none() {
                true => Ok(WaitEntry { policy, which: Which::All }),
                false => Err(format!(
                    "the policy {policy} for site \"{EVERY}\" is for every wait: it has no places, and no module"
                )),
            };
        }
        let name = SiteName::new(site)
            .ok_or_else(|| format!("a site has no name: write `site = \"{EVERY}\"` to mean every wait"))?;
        if self.places.is_empty() {
            return Ok(WaitEntry { policy, which: Which::Named { name, module: self.module.clone() } });
        }
        let places = places(site, &self.places, builds, &|by| by == By::Site)?;
        Ok(WaitEntry {
            policy,
            which: Which::Located(Located { name: site.clone(), origin: None, places, mutexes: 0 }),
        })
    }
}

fn words(located: &Located) -> Vec<Vec<String>> {
    located.places.iter().map(Place::words).collect()
}

/// The places of a table, if each is in a file of known build and of a kind that suits the table.
fn places(
    name: &str,
    written: &[Vec<String>],
    builds: &Builds,
    suits: &dyn Fn(By) -> bool,
) -> Result<Vec<Place>, String> {
    let parse = |words: &Vec<String>| {
        let known = |place: &Place| place.spans.iter().all(|span| builds.contains_key(&span.module));
        let place = Place::parse(words).filter(|place| suits(place.by));
        let place = place.ok_or_else(|| format!("{name}: {words:?} is not a place"))?;
        match known(&place) {
            true => Ok(place),
            false => {
                Err(format!("{name}: `modules` does not say which build of the file {words:?} is about"))
            }
        }
    };
    written.iter().map(parse).collect()
}
