//! The configurations to be judged.

use super::booted::GuestKernel;
use super::configuration::Configuration;
use super::scheduled::Scheduling;
use super::setup::Setup;
use crate::settings::ProveSettings;
use std::path::PathBuf;
use unspin_launch::error::Error;
use unspin_launch::plan::{Choice, Entry, Located, Plan, PlanFile, WaitChoice, WaitEntry, Which};
use unspin_launch::program::Program;
use unspin_launch::program::workload::{DefaultCandidates, Workload};
use unspin_launch::replace::engine::Engine;
use unspin_launch::replace::run_queue::RunQueue;
use unspin_launch::scheduler::SchedulerCommand;
use unspin_locks::{RwLockKind, SpinKind};
use unspin_stats::Candidate;

/// The candidates, and the control with which they are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Requested {
    /// The system's own locks through the same hooks as the candidates, so that a gain is due to the candidate.
    pub control: Configuration,
    /// System V engines, plans for locks and waits, run queues, schedulers, or kernels.
    pub judged: Vec<Configuration>,
}

/// The candidates that a command line names.
#[derive(Clone, Copy, Debug, Default)]
pub struct NamedCandidates<'o> {
    /// `--mutex`
    pub mutex: &'o [Choice],
    /// `--rwlock`
    pub rwlock: &'o [Choice<RwLockKind>],
    /// `--spin`
    pub spin: &'o [Choice<SpinKind>],
    /// `--waits`
    pub waits: &'o [WaitChoice],
    /// `--use-plan`
    pub use_plan: &'o [PathBuf],
    /// `--sysv`
    pub sysv: &'o [Engine],
    /// `--runqueue`
    pub run_queues: &'o [RunQueue],
    /// `--scheduler`
    pub schedulers: &'o [SchedulerCommand],
    /// `--kernel`
    pub kernels: &'o [GuestKernel],
}

impl<'o> NamedCandidates<'o> {
    /// Those of `unspin prove`.
    pub fn of(options: &'o ProveSettings) -> NamedCandidates<'o> {
        let ProveSettings { mutex, rwlock, spin, waits, use_plan, sysv, run_queues, .. } = options;
        let ProveSettings { schedulers, kernels, .. } = options;
        NamedCandidates { mutex, rwlock, spin, waits, use_plan, sysv, run_queues, schedulers, kernels }
    }

    /// The kinds of locks, of all families.
    fn locks(&self) -> Vec<Entry> {
        let mutexes = self.mutex.iter().map(Entry::from);
        mutexes.chain(self.rwlock.iter().map(Entry::from)).chain(self.spin.iter().map(Entry::from)).collect()
    }
}

/// The name of the program without the preload library.
pub const NO_PRELOAD: &str = "no preload";

impl Requested {
    /// The candidates that the command line names, or the default ones of its workload; none if they must be searched
    /// for.
    pub fn of(options: &NamedCandidates<'_>, program: &Program) -> Result<Option<Requested>, Error> {
        if !options.schedulers.is_empty() {
            return schedulers(options.schedulers, options.kernels).map(Some);
        }
        if let Some((control, judged)) = options.kernels.split_first() {
            return kernels(control, judged).map(Some);
        }
        if let Some(ComparedRunQueues { control, judged }) = run_queues(options.run_queues)? {
            let setup = Setup { run_queue: Some(judged), ..Setup::default() };
            return Ok(Some(Requested {
                control: Configuration::of_run_queue(control),
                judged: vec![Configuration::judged(judged.name(), setup)],
            }));
        }
        let waits = options.waits;
        let (mut engines, mut locks) = (options.sysv.to_vec(), options.locks());
        if engines.is_empty() && locks.is_empty() && waits.is_empty() && options.use_plan.is_empty() {
            let workload = program.workload().and_then(Workload::named);
            match workload.map_or(DefaultCandidates::Search, |workload| workload.candidates) {
                DefaultCandidates::Engines(defaults) => engines = defaults.to_vec(),
                DefaultCandidates::MutexesWith(word, kinds) if ends_with(program, word) => {
                    locks = kinds.iter().map(|&kind| Entry::new(kind, Which::All)).collect();
                }
                DefaultCandidates::Search | DefaultCandidates::MutexesWith(..) => return Ok(None),
            }
        }
        let mut plans: Vec<(String, Plan)> =
            locks.into_iter().map(|entry| (name(&entry), Plan::of(entry))).collect();
        plans.extend(waits.iter().map(|choice| (choice.to_string(), Plan::of_wait(WaitEntry::from(choice)))));
        for file in options.use_plan {
            plans.push((file.display().to_string(), PlanFile::read(file)?.plan_for(program)?));
        }
        let control = match plans.is_empty() {
            true => Configuration::kernel(),
            false => Configuration::system(plans.iter().map(|(_, plan)| plan), program)?,
        };
        let mut judged = engines_beside(&control, &engines);
        for (name, plan) in plans {
            judged.push(Configuration::judged(&name, Setup::of(control.prepare(plan, program)?)));
        }
        Ok(Some(Requested { control, judged }))
    }

    /// All configurations of the session: the control, its A/A pair, which shows the noise, the program without the
    /// preload library, which shows the cost of the hooks, and the candidates.
    pub fn configurations(&self) -> Vec<Configuration> {
        let again = Configuration {
            candidate: Candidate::aa_control(format!("{} (again)", self.control.name())),
            setup: self.control.setup.clone(),
        };
        // Elsewhere the control has no preload library either.
        let no_preload = self
            .uses_the_library()
            .then(|| Configuration { candidate: Candidate::new(NO_PRELOAD), setup: None });
        let control = [self.control.clone(), again];
        control.into_iter().chain(no_preload).chain(self.judged.iter().cloned()).collect()
    }

    /// Whether only plans are judged.
    pub fn is_about_plans(&self) -> bool {
        !self.judged.is_empty()
            && self.judged.iter().all(|configuration| configuration.judged_plan().is_some())
    }

    /// Whether run queues are judged.
    pub fn is_about_run_queues(&self) -> bool {
        self.judged.iter().any(|configuration| configuration.judged_run_queue().is_some())
    }

    /// Whether the program runs under the preload library: not if schedulers or kernels are judged.
    pub fn uses_the_library(&self) -> bool {
        let judged = |one: &Configuration| one.judged_scheduler().is_some() || one.guest_kernel().is_some();
        !self.judged.iter().any(judged)
    }

    /// Whether a candidate polls at named call sites.
    pub fn names_call_sites(&self) -> bool {
        let plans =
            self.judged.iter().filter_map(|configuration| configuration.setup.as_ref()?.plan.as_ref());
        plans.into_iter().any(|prepared| !prepared.compiled.polling_sites().is_empty())
    }

    /// Completes the candidates' locks that are named after their first use: another call may be the first in the next
    /// run. `recorded` has the locks of a metered run, with every call that may be their first use.
    pub fn complete_first_uses(&mut self, recorded: &[Located], program: &Program) -> Result<(), Error> {
        for configuration in &mut self.judged {
            let Some(Setup { plan: Some(prepared), .. }) = &mut configuration.setup else { continue };
            if let Some(plan) = prepared.plan.with_first_uses(recorded, program)? {
                *prepared = self.control.prepare(plan, program)?;
            }
        }
        Ok(())
    }

    /// Warnings for the user, without duplicates.
    pub fn warnings(&self) -> Vec<String> {
        let plans = self.judged.iter().filter_map(Configuration::judged_plan);
        let mut warnings: Vec<String> = plans.flat_map(Plan::warnings).collect();
        warnings.sort();
        warnings.dedup();
        warnings
    }
}

/// Configurations for engines, with the control's plan.
pub fn engines_beside(control: &Configuration, engines: &[Engine]) -> Vec<Configuration> {
    let plan = control.setup.as_ref().and_then(|setup| setup.plan.clone());
    let judged = |&engine: &Engine| {
        Configuration::judged(engine.name(), Setup { engine, plan: plan.clone(), ..Setup::default() })
    };
    engines.iter().map(judged).collect()
}

/// The schedulers with the kernel's own as their control. One that is given several times is judged several times. All runs are on one
/// kernel: this machine's, or the one that is named.
fn schedulers(named: &[SchedulerCommand], kernels: &[GuestKernel]) -> Result<Requested, Error> {
    if let [first, _, ..] = kernels {
        return Err(Error::Usage(format!(
            "--kernel names {} kernels, and schedulers are compared on one: name one, such as --kernel {}",
            kernels.len(),
            first.name
        )));
    }
    let kernel = kernels.first();
    let judged =
        distinct(named.iter().map(|command| &*command.line)).into_iter().zip(named).map(|(name, command)| {
            let scheduling = Some(Scheduling::Loaded(command.clone()));
            Configuration::judged(&name, Setup { scheduling, kernel: kernel.cloned(), ..Setup::default() })
        });
    Ok(Requested { control: Configuration::of_own_scheduler(kernel), judged: judged.collect() })
}

/// The first kernel as the control of the others. One that is given several times is judged several times.
fn kernels(control: &GuestKernel, judged: &[GuestKernel]) -> Result<Requested, Error> {
    if judged.is_empty() {
        return Err(Error::Usage(format!(
            "--kernel {0}: name two kernels to compare, such as --kernel {0},rt; `unspin vm --kernel {0}` runs on one",
            control.name
        )));
    }
    let names = distinct([control].into_iter().chain(judged).map(|kernel| &*kernel.name));
    let judged = names.into_iter().skip(1).zip(judged).map(|(name, kernel)| {
        Configuration::judged(&name, Setup { kernel: Some(kernel.clone()), ..Setup::default() })
    });
    Ok(Requested { control: Configuration::of_kernel(control), judged: judged.collect() })
}

/// These names; one that comes again is followed by how many times it has come: "mq (2)".
fn distinct<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let names: Vec<&str> = names.collect();
    let times = |index: usize| names[..=index].iter().filter(|&&name| name == names[index]).count();
    (0..names.len())
        .map(|index| match times(index) {
            1 => names[index].to_owned(),
            times => format!("{} ({times})", names[index]),
        })
        .collect()
}

/// The run queues of a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComparedRunQueues {
    /// The control's; none if the program chooses it.
    pub control: Option<RunQueue>,
    /// The candidate's.
    pub judged: RunQueue,
}

/// The run queues that the command line names, if it names any. The first of two is the control's; one alone is compared
/// with the program's own.
pub fn run_queues(named: &[RunQueue]) -> Result<Option<ComparedRunQueues>, Error> {
    match *named {
        [] => Ok(None),
        [judged] => Ok(Some(ComparedRunQueues { control: None, judged })),
        [control, judged] if control != judged => {
            Ok(Some(ComparedRunQueues { control: Some(control), judged }))
        }
        // There are two, so that one of them is repeated.
        [first, ..] => Err(Error::Usage(format!(
            "--runqueue names a run queue twice: give {}, or one of the two",
            format_args!("{},{}", first.name(), first.other().name())
        ))),
    }
}

/// In the form of the command line.
fn name(entry: &Entry) -> String {
    match &entry.which {
        Which::Named { module: Some(file), .. } => format!("{entry} in {}", file.display()),
        _ => entry.to_string(),
    }
}

/// Whether an argument ends with this word, as in `--transport=queue`.
fn ends_with(program: &Program, word: &str) -> bool {
    program.arguments.iter().any(|argument| argument.as_encoded_bytes().ends_with(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::OWN_SCHEDULER;
    use crate::testing::settings;

    fn parse(command: &[&str]) -> Option<Requested> {
        let options = settings(command);
        Requested::of(&NamedCandidates::of(&options), &Program::find(&options.command).unwrap()).unwrap()
    }

    fn names(requested: &Requested) -> Vec<String> {
        requested.configurations().iter().map(|c| c.name().to_owned()).collect()
    }

    #[test]
    fn all_configurations_use_the_same_hooks() {
        let requested = parse(&["--sysv", "rcu", "--mutex", "fair", "sh"]).unwrap();
        assert_eq!(names(&requested), ["system", "system (again)", NO_PRELOAD, "rcu", "fair"]);
        let setups: Vec<Option<Setup>> = requested.configurations().into_iter().map(|c| c.setup).collect();
        let system = setups[0].clone().unwrap();
        assert_eq!((&setups[1], &setups[2]), (&Some(system.clone()), &None));
        assert_eq!(setups[3], Some(Setup { engine: Engine::Rcu, ..system.clone() }));
        assert_eq!(system.plan.unwrap().compiled.to_string(), "unspin plan 2\nsystem\tall\n");
        let fair = setups[4].clone().unwrap();
        assert_eq!(fair.engine, Engine::Kernel);
        assert_eq!(fair.plan.unwrap().compiled.to_string(), "unspin plan 2\nfair\tall\n");
    }

    /// The lines of a compiled plan, except the cost of a wake-up.
    fn lines(configuration: &Configuration) -> Vec<String> {
        let text = configuration.setup.clone().unwrap().plan.unwrap().compiled.to_string();
        text.lines().filter(|line| !line.starts_with("wakeup\t")).map(str::to_owned).collect()
    }

    #[test]
    fn control_of_waits_has_the_same_hooks_and_does_not_poll() {
        let waits = parse(&["--waits", "poll", "sh"]).unwrap();
        assert_eq!(names(&waits), ["system", "system (again)", NO_PRELOAD, "poll"]);
        assert_eq!(lines(&waits.control), ["unspin plan 2", "waits\tsystem"]);
        assert_eq!(lines(&waits.judged[0]), ["unspin plan 2", "waits\tpoll"]);
        let both = parse(&["--waits", "poll", "--mutex", "fair", "sh"]).unwrap();
        assert_eq!(names(&both)[3..], ["fair", "poll"]);
        assert_eq!(lines(&both.control), ["unspin plan 2", "system\tall", "waits\tsystem"]);
        let text = both.control.setup.unwrap().plan.unwrap().compiled.to_string();
        assert!(!text.contains("wakeup\t"), "the control needs no cost of a wake-up: {text}");
    }

    #[test]
    fn engines_alone_have_no_plan() {
        let requested = parse(&["--sysv", "global", "sh"]).unwrap();
        assert_eq!(names(&requested)[0], "kernel");
        assert!(requested.configurations().iter().flat_map(|c| &c.setup).all(|setup| setup.plan.is_none()));
        let engines: Vec<_> = requested.configurations().iter().map(Configuration::judged_engine).collect();
        assert_eq!(engines, [None, None, None, Some(Engine::Global)]);
    }

    #[test]
    fn workloads_have_default_candidates() {
        assert_eq!(
            names(&parse(&["semopbench", "-g", "1"]).unwrap())[3..],
            Engine::IN_ARENAS.map(Engine::name)
        );
        assert_eq!(parse(&["sh", "-c", "true"]), None);
    }

    #[test]
    fn first_of_two_run_queues_is_the_control() {
        let two = parse(&["--runqueue", "percpu,global", "sh"]).unwrap();
        assert_eq!(names(&two), ["percpu", "percpu (again)", NO_PRELOAD, "global"]);
        assert_eq!(two.judged[0].judged_run_queue(), Some(RunQueue::Global));
        let one = parse(&["--runqueue", "percpu", "sh"]).unwrap();
        assert_eq!(names(&one), ["default", "default (again)", NO_PRELOAD, "percpu"]);
        let twice = run_queues(&[RunQueue::Global, RunQueue::Global]).unwrap_err();
        assert!(twice.to_string().starts_with("--runqueue names a run queue twice: give global,percpu"));
    }

    #[test]
    fn scheduler_given_twice_is_judged_twice() {
        let requested = parse(&["--scheduler", "scx_a 1,scx_b,scx_a 1", "sh"]).unwrap();
        let expected = [OWN_SCHEDULER, "default scheduler (again)", "scx_a 1", "scx_b", "scx_a 1 (2)"];
        assert_eq!(names(&requested), expected, "there is no run with other hooks");
        let line = |c: &Configuration| c.judged_scheduler().map(|command| command.line.clone());
        assert_eq!(line(&requested.judged[2]).as_deref(), Some("scx_a 1"));
        assert_eq!(line(&requested.control), None);
        assert!(requested.judged[0].summary().unwrap().contains("`scx_a 1` loads"));
    }

    #[test]
    fn schedulers_are_compared_on_one_kernel() {
        let requested = parse(&["--kernel", "cloud", "--scheduler", "scx_a,scx_b", "sh"]).unwrap();
        assert_eq!(names(&requested), [OWN_SCHEDULER, "default scheduler (again)", "scx_a", "scx_b"]);
        let configurations = requested.configurations();
        assert!(
            configurations.iter().all(|one| one.guest_kernel().is_some_and(|kernel| kernel.name == "cloud"))
        );
        let text = requested.judged[0].summary().unwrap();
        assert!(text.contains("`scx_a` loads in a virtual machine with the kernel cloud"), "{text}");
        let options = settings(&["--kernel", "cloud,rt", "--scheduler", "scx_a", "sh"]);
        let program = Program::find(&options.command).unwrap();
        let error = Requested::of(&NamedCandidates::of(&options), &program).unwrap_err();
        assert!(error.to_string().starts_with("--kernel names 2 kernels"), "{error}");
    }

    #[test]
    fn first_kernel_is_the_control() {
        let requested = parse(&["--kernel", "plain,rt,plain", "sh"]).unwrap();
        assert_eq!(names(&requested), ["plain", "plain (again)", "rt", "plain (2)"]);
        let name = |one: &Configuration| one.guest_kernel().map(|kernel| kernel.name.clone());
        assert_eq!(name(&requested.control).as_deref(), Some("plain"));
        assert_eq!(name(&requested.judged[1]).as_deref(), Some("plain"));
        assert!(!requested.uses_the_library());
    }

    #[test]
    fn control_has_the_families_of_the_candidates() {
        let requested = parse(&["--rwlock", "rw-fair", "--spin", "adaptive", "sh"]).unwrap();
        assert_eq!(names(&requested)[3..], ["rw-fair", "spin adaptive"]);
        assert_eq!(lines(&requested.control), ["unspin plan 2", "rwlock\tsystem\tall", "spin\tsystem\tall"]);
        assert_eq!(
            lines(&requested.judged[1]),
            ["unspin plan 2", "spin\tadaptive\tall", "rwlock\tsystem\tall"],
            "the other family costs as much as under the control"
        );
    }

    #[test]
    fn experimental_kinds_print_warnings() {
        let warnings = parse(&["--mutex", "ttas,adaptive,mcs", "sh"]).unwrap().warnings();
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(warnings[0].starts_with("mcs is experimental"), "{warnings:?}");
    }
}
