//! How types of `unspin-wire`, which knows no serde, are written in JSON.
//!
//! Each type here mirrors the type of the same name and is named in `#[serde(with = "serial::…")]`. The compiler refuses
//! a mirror that lacks a variant or a field.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// From the table of kinds: the mirror.
macro_rules! mirror_kinds {
    ($($(#[doc = $doc:literal])+ $variant:ident = $byte:literal { $($property:tt)* })+) => {
        /// [`unspin_wire::RecordKind`]: the variant's name in lower case, words joined by hyphens.
        #[derive(Serialize, Deserialize)]
        #[serde(remote = "unspin_wire::RecordKind", rename_all = "kebab-case")]
        #[expect(missing_docs, reason = "unspin_wire::RecordKind documents the variants")]
        pub enum RecordKind {
            $($variant,)+
        }
    };
}
unspin_wire::for_each_record_kind!(mirror_kinds);

/// [`unspin_wire::Event`]: the variant's name in lower case, words joined by hyphens; two names are older.
#[derive(Serialize, Deserialize)]
#[serde(remote = "unspin_wire::Event", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "unspin_wire::Event documents the variants")]
pub enum Event {
    FastPath,
    Blocked,
    HandOff,
    GracePeriod,
    #[serde(rename = "handed-over")]
    ForeignUnlock,
    Unmatched,
    #[serde(rename = "crowded")]
    HeldListFull,
    SeccompFilter,
    Sampled,
}

/// [`unspin_wire::Level`]: `"counts"`, `{"sampled": {"every": 16}}`, `"full"`, `"auto"`.
#[derive(Serialize, Deserialize)]
#[serde(remote = "unspin_wire::Level", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "unspin_wire::Level documents the variants")]
pub enum Level {
    Counts,
    Sampled { every: u32 },
    Full,
    Auto,
}

/// [`unspin_wire::Invocation`]: an object of its fields.
#[derive(Serialize, Deserialize)]
#[serde(remote = "unspin_wire::Invocation")]
#[expect(missing_docs, reason = "unspin_wire::Invocation documents the fields")]
pub struct Invocation {
    pub command: Vec<String>,
    pub waits: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<String>,
}

/// [`unspin_wire::Unrecorded`]: an object of its fields.
#[derive(Serialize, Deserialize)]
#[serde(remote = "unspin_wire::Unrecorded")]
#[expect(missing_docs, reason = "unspin_wire::Unrecorded documents the fields")]
pub struct Unrecorded {
    pub overflowed: u64,
    pub threads: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "unspin_wire::WakeUpCost")]
struct WakeUpCost {
    futex_ns: u64,
    epoll_ns: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "unspin_wire::Disturbance")]
struct Disturbance {
    others: f64,
    stolen: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    throttled: Option<f64>,
}

/// A cost that may be unknown: an object of its fields, or null.
pub(crate) mod optional_wake_up_cost {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Known(#[serde(with = "WakeUpCost")] unspin_wire::WakeUpCost);

    pub(crate) fn serialize<S: Serializer>(
        cost: &Option<unspin_wire::WakeUpCost>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        cost.map(Known).serialize(serializer)
    }

    pub(crate) fn deserialize<'d, D: Deserializer<'d>>(
        deserializer: D,
    ) -> Result<Option<unspin_wire::WakeUpCost>, D::Error> {
        Ok(Option::<Known>::deserialize(deserializer)?.map(|known| known.0))
    }
}

/// A disturbance that may be unknown: an object of its fields, or null.
pub(crate) mod optional_disturbance {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Known(#[serde(with = "Disturbance")] unspin_wire::Disturbance);

    pub(crate) fn serialize<S: Serializer>(
        disturbance: &Option<unspin_wire::Disturbance>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        disturbance.map(Known).serialize(serializer)
    }

    pub(crate) fn deserialize<'d, D: Deserializer<'d>>(
        deserializer: D,
    ) -> Result<Option<unspin_wire::Disturbance>, D::Error> {
        Ok(Option::<Known>::deserialize(deserializer)?.map(|known| known.0))
    }
}
