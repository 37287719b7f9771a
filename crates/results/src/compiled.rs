//! The compiled plans of stored results.
//!
//! A plan names locks and call sites; a compiled plan has their addresses in the builds of one machine. The cost of a wake-up in it is
//! that of the machine, and says nothing about the plan.

use std::collections::BTreeSet;
use unspin_wire::plan::{self, AnyKind, Line};

/// What a compiled plan does. Two are equal if they replace the same places in the same way.
///
/// ```
/// use unspin_results::CompiledPlan;
///
/// let here = CompiledPlan::of("unspin plan 2\nwakeup\t25000\nadaptive\tvariable\t4040-4068@/x\n");
/// let there = CompiledPlan::of("unspin plan 2\nwakeup\t51000\nadaptive\tvariable\t5040-5068@/x\n");
/// assert_ne!(here, there);
/// assert_eq!(here.actions(), there.actions());
/// assert_eq!(here.actions().into_iter().collect::<Vec<_>>(), ["adaptive for some mutexes"]);
/// ```
#[derive(PartialEq, Eq, Debug)]
pub struct CompiledPlan<'text>(Lines<'text>);

#[derive(PartialEq, Eq, Debug)]
enum Lines<'text> {
    Known(Vec<PlanLine<'text>>),
    /// The lines of a plan of another version.
    Unknown(Vec<&'text str>),
}

type PlanLine<'text> = Line<'text, AnyKind<String, String, String>>;

impl CompiledPlan<'_> {
    /// Reads the text of a compiled plan. One of another version is compared by its words.
    pub fn of(text: &str) -> CompiledPlan<'_> {
        let mut lines = Vec::new();
        let parsed = plan::parse(text.as_bytes(), |line: PlanLine| {
            if !matches!(line, Line::WakeUp(_)) {
                lines.push(line);
            }
            true
        });
        CompiledPlan(match parsed {
            Ok(()) => Lines::Known(lines),
            Err(_) => Lines::Unknown(text.lines().filter(|line| !line.starts_with("wakeup\t")).collect()),
        })
    }

    /// Each kind of lock and policy of waits, for all or for some: the plan without its places.
    pub fn actions(&self) -> BTreeSet<String> {
        match &self.0 {
            Lines::Known(lines) => lines.iter().filter_map(action).collect(),
            Lines::Unknown(lines) => lines.iter().map(|line| words(line)).collect(),
        }
    }
}

fn action(line: &PlanLine) -> Option<String> {
    match line {
        Line::All(kind) => Some(format!("{kind} for all {}", kind.family().nouns())),
        Line::Locks(kind, ..) => Some(format!("{kind} for some {}", kind.family().nouns())),
        Line::Waits(policy) => Some(format!("{policy} for all waits")),
        Line::Site(policy, _) => Some(format!("{policy} for some waits")),
        Line::ForcePolls => Some("forced polls".into()),
        Line::ForceReady => Some("forced answers".into()),
        Line::WakeUp(_) | Line::Library(_) | Line::Program(_) | Line::Module(_) | Line::Entry(_) => None,
    }
}

/// A line without its places.
fn words(line: &str) -> String {
    line.split('\t').filter(|field| !field.contains('@')).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLL: &str = "unspin plan 2\nwakeup\t25000\nwaits\tpoll\n";

    fn actions(text: &str) -> Vec<String> {
        CompiledPlan::of(text).actions().into_iter().collect()
    }

    #[test]
    fn cost_of_a_wake_up_is_not_compared() {
        assert_eq!(CompiledPlan::of(POLL), CompiledPlan::of(&POLL.replace("25000", "51000")));
        let newer = POLL.replace("plan 2", "plan 3");
        assert_eq!(CompiledPlan::of(&newer), CompiledPlan::of(&newer.replace("25000", "51000")));
    }

    #[test]
    fn other_kinds_and_other_scopes_are_other_actions() {
        assert_eq!(actions(POLL), ["poll for all waits"]);
        let all = "unspin plan 2\nadaptive\tall\nwaits\tpoll\n";
        assert_eq!(actions(all), ["adaptive for all mutexes", "poll for all waits"]);
        let one = "unspin plan 2\nadaptive\tvariable\t4040-4068@/x\nwaits\tpoll\n";
        assert_eq!(actions(one), ["adaptive for some mutexes", "poll for all waits"]);
    }

    #[test]
    fn plan_of_another_version_is_compared_by_its_words() {
        let newer = "unspin plan 3\nadaptive\tvariable\t4040-4068@/x\n";
        assert_eq!(actions(newer), ["adaptive variable", "unspin plan 3"]);
        assert_eq!(actions(newer), actions(&newer.replace("4040-4068", "5040-5068")));
        assert_ne!(CompiledPlan::of(newer), CompiledPlan::of(&newer.replace("4040-4068", "5040-5068")));
    }
}
