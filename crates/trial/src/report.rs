//! The whole result, before it is printed or written.

use super::configuration::Configuration;
use super::ending::RunEnd;
use super::kernels::BootedKernel;
use super::locks::Locks;
use super::metering::EndedEarly;
use super::percentile::PercentileEvidence;
use super::recommendation::Recommended;
use super::runner::{Runner, Trial};
use super::schedulers::{JudgedScheduler, SchedulerPair};
use super::search::Search;
use super::service::Service;
use super::session::Session;
use super::staircase::Staircase;
use super::waits::{self, JudgedSite};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::process::ExitCode;
use unspin_launch::machine::{Build, Machine};
use unspin_launch::plan::Plan;
use unspin_launch::replace::engine::Engine;
use unspin_launch::replace::run_queue::RunQueue;
use unspin_results::StoredCpuShares;
use unspin_stats::{Comparison, Conclusion, CpuCostUnit, Direction, Summary, Verdict};

/// The whole result of `unspin prove`.
#[derive(Debug)]
pub struct Report {
    /// The command that was measured, as the user wrote it.
    pub command: Vec<OsString>,
    /// The command of unspin that measured; none if another command called.
    pub command_of_unspin: Option<Vec<OsString>>,
    /// The command to which a plan that won can be applied later.
    pub applied_to: Vec<OsString>,
    /// The commands around the server, if the command is a server.
    pub service: Option<Service>,
    /// The machine.
    pub machine: Machine,
    /// The build of unspin.
    pub build: Build,
    /// The configurations that were compared.
    pub configurations: Vec<Configuration>,
    /// The runs and their analysis.
    pub session: Session,
    /// The comparison of the engine `rcu` with the engine `global`. The historical reports compared two kernels in this
    /// way.
    pub reports_figure: Option<Comparison>,
    /// The scheduler of each configuration.
    pub schedulers: Vec<Option<JudgedScheduler>>,
    /// The kernel that was booted for each configuration.
    pub kernels: Vec<Option<BootedKernel>>,
    /// The schedulers compared with each other.
    pub between_schedulers: Vec<SchedulerPair>,
    /// The run queue of the control, if `--runqueue` names it.
    pub run_queue: Option<RunQueue>,
    /// The value of `--metric` that reads a rate in the program's output, if the wall time was measured.
    pub rate_in_output: Option<String>,
    /// What the figure rests on, if it is a percentile.
    pub percentile: Option<PercentileEvidence>,
    /// How the candidates were found, if the command line named none.
    pub search: Option<Search>,
    /// Kinds of mutex step by step: the figures of Rostedt 2008.
    pub staircase: Option<Staircase>,
    /// Where the CPU time went, for each configuration.
    pub cpu: Vec<StoredCpuShares>,
    /// How the judged waits ended.
    pub waits: Vec<JudgedSite>,
    /// The recorded locks.
    pub locks: Locks,
    /// The kernel's semaphore sets that appeared during failed runs and are still there. (Those of other programs that have ended
    /// since are not.)
    pub left_sets: BTreeSet<i32>,
    /// The plan that won; determined last.
    pub recommended: Option<Recommended>,
    /// Whether ^C ended the session.
    pub interrupted: bool,
}

impl Report {
    /// Sums up a session.
    pub fn new(
        runner: &Runner<'_>,
        configurations: Vec<Configuration>,
        session: Session,
        locks: Locks,
        search: Option<Search>,
    ) -> Report {
        let program = runner.program;
        let machine = Machine::this();
        let command = program.command_line();
        let left = session.runs.iter().flat_map(|run| run.trial.left_sets.iter().copied());
        let left: BTreeSet<i32> = left.collect();
        let there = if left.is_empty() { Vec::new() } else { runner.kernel_sets() };
        let shares = |candidate| cpu_shares(session.trials(candidate), machine.cpus);
        let kernels = configurations.iter().enumerate();
        let kernels = kernels.map(|(index, one)| BootedKernel::of(one, index, &session));
        let schedulers = configurations.iter().enumerate();
        let schedulers = schedulers.map(|(index, one)| JudgedScheduler::of(one, index, &session));
        Report {
            applied_to: command.clone(),
            command,
            command_of_unspin: None,
            run_queue: program.run_queue,
            percentile: runner.figure.percentile_evidence(session.runs.iter().map(|run| run.trial.samples)),
            rate_in_output: runner.figure.rate_in_output().map(str::to_owned),
            build: Build::THIS,
            cpu: (0..configurations.len()).map(shares).collect(),
            schedulers: schedulers.collect(),
            kernels: kernels.collect(),
            between_schedulers: SchedulerPair::all(&configurations, &session),
            reports_figure: against_global(&configurations, &session),
            staircase: Staircase::of(&configurations, &session),
            interrupted: runner.interrupt.has_come(),
            service: runner.service.cloned(),
            waits: waits::judged_sites(&configurations, &locks.metered, machine.cpus),
            machine,
            configurations,
            session,
            locks,
            search,
            left_sets: left.into_iter().filter(|id| there.contains(id)).collect(),
            recommended: None,
        }
    }

    /// The comparison of a configuration with the control; none for the control.
    pub fn comparison(&self, configuration: &Configuration) -> Option<&Comparison> {
        let all = self.session.analysis.comparisons.iter().chain(&self.session.no_preload);
        all.into_iter().find(|c| c.name == configuration.name())
    }

    /// The judged plans that are proven faster, within the limit of CPU time if there is one; each with its ratio.
    pub fn proven_plans(&self) -> Vec<(f64, &Comparison, &Plan)> {
        let proven = self.configurations.iter().filter_map(|configuration| {
            let (plan, comparison) = (configuration.judged_plan()?, self.comparison(configuration)?);
            Some((comparison.recommended()?.value, comparison, plan))
        });
        proven.collect()
    }

    /// The verdict on the candidates.
    pub fn conclusion(&self) -> Conclusion {
        let tried = self.search.as_ref().and_then(|search| search.screening.as_ref());
        match tried {
            // The control did not end.
            _ if self.locks.ended_early().is_some_and(|(_, why)| why == EndedEarly::TimeLimit) => {
                Conclusion::Failed
            }
            // No candidate was left to be judged.
            Some(screened) if !self.has_judged() => screened.conclusion(),
            _ => self.session.analysis.conclusion(),
        }
    }

    /// Whether there is a candidate.
    pub fn has_judged(&self) -> bool {
        self.configurations.iter().any(Configuration::is_judged)
    }

    /// Whether nothing is ranked because runs of the control failed. The report explains the first failure with the end
    /// of its output.
    pub fn control_failure(&self) -> Option<String> {
        let is_judged = |name: &str| self.configurations.iter().any(|c| c.is_judged() && c.name() == name);
        let mut verdicts = self.session.analysis.comparisons.iter().map(|comparison| &comparison.verdict);
        verdicts.find_map(|verdict| match verdict {
            Verdict::Failed { name, failed, runs, reason } if !is_judged(name) => Some(format!(
                "{name} failed in {failed} of {runs} runs. Nothing can be compared with it, so no candidate is ranked.{}",
                self.advice_on_failure(reason)
            )),
            _ => None,
        })
    }

    /// What to do if no run of any configuration has succeeded: then it is the program that fails, or its output lacks the figure. Empty
    /// if a run has.
    fn advice_on_failure(&self, reason: &str) -> String {
        let samples = &self.session.experiment.samples;
        let mut runs = samples.iter().flat_map(|samples| samples.warm_up.iter().chain(&samples.runs));
        if runs.any(|run| run.value().is_some()) {
            return String::new();
        }
        let ended_well = self.session.runs.iter().any(|run| run.trial.ending == RunEnd::Exited { code: 0 });
        match ended_well {
            true => " No run has a figure that can be compared: its first failure says why.".into(),
            false => {
                let remedy = self.kernel_name().map_or(
                    "make the program run by itself first, without unspin".to_owned(),
                    |kernel| {
                        format!(
                            "make the program run by `unspin vm --kernel {kernel} -- …` first. The virtual machine has only the files that the \
                             command line names; --vm-options '--file FILE' adds others"
                        )
                    },
                );
                format!(" No run succeeded ({reason}): {remedy}.")
            }
        }
    }

    /// The kernel of the control's virtual machines; none if there are none.
    fn kernel_name(&self) -> Option<&str> {
        self.configurations.iter().find_map(Configuration::guest_kernel).map(|kernel| &*kernel.name)
    }

    /// Whether no candidate has succeeded, so that more rounds would not help.
    pub fn all_judged_failed(&self) -> bool {
        let mut judged = self.configurations.iter().filter(|c| c.is_judged()).peekable();
        let has_failed = |one: &Configuration| {
            self.comparison(one).is_some_and(|found| matches!(found.verdict, Verdict::Failed { .. }))
        };
        judged.peek().is_some() && judged.all(has_failed)
    }

    /// Compares two configurations of the session: the one named `before` as the control, `after` as the only
    /// candidate. None if there are no such configurations, or if `before` failed. `unit` is that of the figure,
    /// where the session does not know it.
    pub fn between(&self, before: &str, after: &str, unit: &str) -> Option<Comparison> {
        let index = |name: &str| self.configurations.iter().position(|c| c.name() == name);
        self.session.between(index(before)?, index(after)?, unit, self.session.analysis.settings.alpha)
    }

    /// The summary of a configuration's runs.
    pub fn summary(&self, name: &str) -> Option<Summary> {
        let index = self.configurations.iter().position(|c| c.name() == name)?;
        self.session.experiment.samples[index].summary(self.session.experiment.metric.direction)
    }

    /// The run queue that `--runqueue` gives a configuration; none if the program chooses it.
    pub fn run_queue_of(&self, configuration: &Configuration) -> Option<RunQueue> {
        configuration.setup.as_ref().and_then(|setup| setup.run_queue).or(self.run_queue)
    }

    /// Whether CPU time is that of a request in all comparisons that have it, of which there is one at least.
    pub fn is_cpu_time_per_request(&self) -> bool {
        let costs = || self.session.analysis.comparisons.iter().filter_map(|comparison| comparison.cpu);
        costs().next().is_some() && costs().all(|cost| cost.per == CpuCostUnit::Request)
    }

    /// For what CPU times are compared, at the end of "CPU time".
    pub fn cpu_time_per(&self) -> &'static str {
        match (self.session.analysis.metric.direction, self.is_cpu_time_per_request()) {
            (Direction::LowerIsBetter, false) => ", run for run",
            (Direction::LowerIsBetter, true) => " per request",
            (Direction::HigherIsBetter, _) => " per unit of work",
        }
    }

    /// Whether run queues are judged.
    pub fn is_about_run_queues(&self) -> bool {
        self.configurations.iter().any(|configuration| configuration.judged_run_queue().is_some())
    }

    /// Whether only waits are judged.
    pub fn is_about_waits(&self) -> bool {
        let only_waits = |configuration: &Configuration| {
            configuration.judged_plan().is_some_and(|plan| plan.locks.is_empty() && !plan.waits.is_empty())
        };
        self.has_judged() && self.configurations.iter().filter(|c| c.is_judged()).all(only_waits)
    }

    /// See docs/exit-codes.md.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }

    /// The exit code as a number.
    pub fn code(&self) -> u8 {
        if self.interrupted {
            return 130;
        }
        if let Some(error) = &self.session.aborted {
            return error.code();
        }
        match self.conclusion() {
            Conclusion::Faster => 0,
            Conclusion::Slower => 1,
            Conclusion::NothingProven => 3,
            Conclusion::Failed => 4,
            Conclusion::OverCpuLimit => 5,
        }
    }
}

/// Compares the engines by the session's runs: `global` as the control, `rcu` as the only candidate.
fn against_global(configurations: &[Configuration], session: &Session) -> Option<Comparison> {
    let index = |engine| configurations.iter().position(|c| c.judged_engine() == Some(engine));
    session.between(index(Engine::Global)?, index(Engine::Rcu)?, "", session.analysis.settings.alpha)
}

/// The means over the successful ones of these runs.
fn cpu_shares<'a>(trials: impl Iterator<Item = &'a Trial> + Clone, cpus: usize) -> StoredCpuShares {
    let ended_well = trials.filter(|t| t.value.is_ok());
    let runs = ended_well.clone().count() as f64;
    if runs == 0.0 {
        return StoredCpuShares::default();
    }
    let sum = |figure: &dyn Fn(&Trial) -> f64| ended_well.clone().map(figure).sum::<f64>();
    let wall = sum(&|t| t.elapsed_s);
    let percent = |part: f64| 100.0 * part / (wall * cpus as f64);
    let (user_percent, system_percent) = (percent(sum(&|t| t.user_s)), percent(sum(&|t| t.system_s)));
    StoredCpuShares {
        user_percent,
        system_percent,
        idle_percent: (100.0 - user_percent - system_percent).max(0.0),
        cpu_s: sum(&Trial::cpu_s) / runs,
        wall_s: wall / runs,
        voluntary_switches: sum(&|t| t.voluntary_switches as f64) / runs,
        involuntary_switches: sum(&|t| t.involuntary_switches as f64) / runs,
    }
}
