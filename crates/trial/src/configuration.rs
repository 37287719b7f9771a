//! Configurations: the program with different setups.

use super::booted::GuestKernel;
use super::scheduled::Scheduling;
use super::setup::{Prepared, Setup};
use unspin_launch::error::Error;
use unspin_launch::plan::{Plan, WaitPolicy};
use unspin_launch::program::Program;
use unspin_launch::replace::engine::Engine;
use unspin_launch::replace::run_queue::RunQueue;
use unspin_launch::scheduler::SchedulerCommand;
use unspin_locks::LockKind;
use unspin_stats::{Candidate, Role};
use unspin_wire::plan::LockFamily;

/// The name of the run queue that the program chooses.
pub const OWN_RUN_QUEUE: &str = "default";

/// The name of the kernel's own scheduler, where schedulers are compared.
pub const OWN_SCHEDULER: &str = "default scheduler";

/// One way to run the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// The configuration's name in tables and sentences, and its role.
    pub candidate: Candidate,
    /// Engine, plan, run queue, scheduler and kernel; none for the program without the preload library beside a control with it.
    pub setup: Option<Setup>,
}

impl Configuration {
    /// The control of engines: the kernel's System V IPC, and no plan.
    pub fn kernel() -> Configuration {
        Configuration { candidate: Candidate::control(Engine::Kernel.name()), setup: Some(Setup::default()) }
    }

    /// The control of no candidates: libc's locks and waits and the kernel's System V IPC, and no plan.
    pub fn as_it_is() -> Configuration {
        Configuration { candidate: Candidate::control(LockKind::System.name()), ..Configuration::kernel() }
    }

    /// The control of run queues: this one, or the one that the program chooses. [`Program::run_queue`] sets it.
    pub fn of_run_queue(run_queue: Option<RunQueue>) -> Configuration {
        let name = run_queue.map_or(OWN_RUN_QUEUE, RunQueue::name);
        Configuration { candidate: Candidate::control(name), setup: Some(Setup::default()) }
    }

    /// The control of schedulers: the kernel's own, while no other one is loaded. `kernel` is booted for each run, if there is one.
    pub fn of_own_scheduler(kernel: Option<&GuestKernel>) -> Configuration {
        let setup = Setup { scheduling: Some(Scheduling::Own), kernel: kernel.cloned(), ..Setup::default() };
        Configuration { candidate: Candidate::control(OWN_SCHEDULER), setup: Some(setup) }
    }

    /// The control of kernels: this one, booted for each run.
    pub fn of_kernel(kernel: &GuestKernel) -> Configuration {
        let setup = Setup { kernel: Some(kernel.clone()), ..Setup::default() };
        Configuration { candidate: Candidate::control(&kernel.name), setup: Some(setup) }
    }

    /// The control of plans: libc's locks, and waits that sleep at once, through the same hooks. Its plan is for those
    /// families of locks, and for waits, for which those of the candidates are.
    pub fn system<'p>(
        plans: impl IntoIterator<Item = &'p Plan> + Clone,
        program: &Program,
    ) -> Result<Configuration, Error> {
        let mut control = Plan::default();
        for family in LockFamily::ALL {
            if plans.clone().into_iter().any(|plan| plan.has(family)) {
                control = control.before(Plan::control(family));
            }
        }
        if plans.into_iter().any(|plan| !plan.waits.is_empty()) {
            control = control.before(Plan::all_waits(WaitPolicy::System));
        }
        let setup = Setup::of(Prepared::new(control, program)?);
        Ok(Configuration { candidate: Candidate::control(LockKind::System.name()), setup: Some(setup) })
    }

    /// The plan of a candidate beside this control. It has to replace something. The compiled plan leaves also those families of
    /// locks to libc that the control leaves to it, so they cost the same under both.
    pub fn prepare(&self, plan: Plan, program: &Program) -> Result<Prepared, Error> {
        let prepared = Prepared::new(plan, program)?;
        let own = self.setup.as_ref().and_then(|setup| setup.plan.as_ref());
        let is_missing =
            |family: &LockFamily| own.is_some_and(|own| own.plan.has(*family)) && !prepared.plan.has(*family);
        let missing = LockFamily::ALL.into_iter().filter(is_missing);
        let whole = missing.fold(prepared.plan.clone(), |plan, family| plan.before(Plan::control(family)));
        Ok(Prepared { compiled: whole.compile(program)?, ..prepared })
    }

    /// A candidate.
    pub fn judged(name: &str, setup: Setup) -> Configuration {
        Configuration { candidate: Candidate::new(name), setup: Some(setup) }
    }

    /// The configuration's name.
    pub fn name(&self) -> &str {
        &self.candidate.name
    }

    /// Whether it is a candidate to be judged.
    pub fn is_judged(&self) -> bool {
        self.candidate.role == Role::Candidate && self.setup.is_some()
    }

    /// Whether it is the second run of the control.
    pub fn is_aa(&self) -> bool {
        self.candidate.role == Role::AaControl
    }

    /// Whether the report has a lock table of it that is made after the rounds. Run queues are metered before them; under schedulers and
    /// on other kernels the program runs without the preload library.
    pub fn is_metered_after_rounds(&self) -> bool {
        self.judged_run_queue().is_none()
            && self.judged_scheduler().is_none()
            && self.guest_kernel().is_none()
    }

    /// What it changes, in words; none if it is no candidate.
    pub fn summary(&self) -> Option<String> {
        let setup = self.setup.as_ref().filter(|_| self.is_judged())?;
        if let Some(scheduler) = self.judged_scheduler() {
            let place = setup.kernel.as_ref();
            let place = place.map_or(String::new(), |kernel| {
                format!(" in a virtual machine with the kernel {}", kernel.name)
            });
            return Some(format!(
                "the sched_ext scheduler that `{}` loads{place}, in place of the kernel's own",
                scheduler.line
            ));
        }
        if let Some(kernel) = &setup.kernel {
            return Some(format!("the kernel {}, booted in a virtual machine for each run", kernel.name));
        }
        if let Some(run_queue) = setup.run_queue {
            return Some(run_queue.summary().to_owned());
        }
        if setup.engine != Engine::Kernel {
            return Some(format!(
                "unspin's System V IPC in place of the kernel's; {}",
                setup.engine.summary()
            ));
        }
        setup.plan.as_ref().map(|prepared| prepared.plan.summary())
    }

    /// The engine, if an engine is judged.
    pub fn judged_engine(&self) -> Option<Engine> {
        let engine = self.setup.as_ref()?.engine;
        (self.is_judged() && engine != Engine::Kernel).then_some(engine)
    }

    /// The run queue, if a run queue is judged.
    pub fn judged_run_queue(&self) -> Option<RunQueue> {
        self.setup.as_ref().filter(|_| self.is_judged())?.run_queue
    }

    /// The command of the scheduler, if a scheduler is judged.
    pub fn judged_scheduler(&self) -> Option<&SchedulerCommand> {
        self.setup.as_ref().filter(|_| self.is_judged())?.scheduling.as_ref()?.command()
    }

    /// The kernel that is booted for each run, if kernels are compared.
    pub fn guest_kernel(&self) -> Option<&GuestKernel> {
        self.setup.as_ref()?.kernel.as_ref()
    }

    /// The plan, if a plan is judged.
    pub fn judged_plan(&self) -> Option<&Plan> {
        let setup = self.setup.as_ref().filter(|setup| self.is_judged() && setup.engine == Engine::Kernel)?;
        setup.plan.as_ref().map(|prepared| &prepared.plan)
    }
}
