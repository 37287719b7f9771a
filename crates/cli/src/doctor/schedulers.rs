//! Whether schedulers of sched_ext can be loaded.

use super::check::Check;
use unspin_launch::scheduler::SchedExt;
use unspin_launch::scheduler::sched_ext::State;
use unspin_sys::creds::Creds;

/// The kernel's sched_ext.
pub fn sched_ext() -> Check {
    const NAME: &str = "sched_ext";
    const COSTS: &str = "`--scheduler` of prove and run cannot load a scheduler";
    match SchedExt::of_kernel().state() {
        State::Missing => Check::limited(
            NAME,
            "this kernel has none",
            COSTS,
            Some(
                "Linux 6.12 or later with CONFIG_SCHED_CLASS_EXT=y; `unspin prove --kernel cloud` and `unspin vm` boot one",
            ),
        ),
        State::Enabled(enabled) => Check::limited(
            NAME,
            format!("a scheduler is loaded already: {enabled}"),
            COSTS,
            Some("end the process that has loaded it"),
        ),
        State::Changing(state) => {
            Check::limited(NAME, format!("a scheduler is being loaded or unloaded ({state})"), COSTS, None)
        }
        State::Disabled if Creds::current().uid != 0 => Check::limited(
            NAME,
            "the kernel has it, and no scheduler is loaded; only root may load one (CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN)",
            COSTS,
            Some("run unspin as root"),
        ),
        State::Disabled => Check::ok(NAME, "the kernel has it, and no scheduler is loaded"),
    }
}
