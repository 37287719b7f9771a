//! `unspin vm`: a command on another kernel.

use crate::options::{VmAccelerator, VmOptions};
use std::process::ExitCode;
use unspin_launch::error::Error;
use unspin_launch::output::document::write_json;
use unspin_launch::output::{outfile, stderr};
use unspin_results::{GuestRun, ScheduledBy, VM_SCHEMA};
use unspin_vm::initramfs::{GuestCommand, GuestFile};
use unspin_vm::kernel::{Archive, Kernel, KernelName};
use unspin_vm::machine::{Accelerator, AcceleratorChoice, Ended, HypervisorBit, MIB, Machine};

/// Boots, passes on the command's output, and ends with its exit code.
pub fn run(options: &VmOptions) -> Result<ExitCode, Error> {
    outfile::try_files(&[("--json", options.json.as_deref())])?;
    let name: KernelName = options.kernel.parse()?;
    let files = options.files.iter().map(|file| file.parse()).collect::<Result<Vec<GuestFile>, Error>>()?;
    // Before a kernel is fetched.
    GuestCommand::new(&options.command, options.scheduler.as_ref())?;
    unspin_vm::machine::require_qemu()?;
    let notice: Option<fn(&str)> = (!options.quiet).then_some(|line| stderr::say(format_args!("{line}")));
    let kernel = Kernel::find(&name, &Archive { mirror: options.mirror.clone(), notice })?;
    let release = kernel.release.clone();
    let machine = machine(options, kernel, files, notice);
    let ended = machine.run_here(&options.command, options.time_limit)?;
    let guest_run = guest_run(release, options.cpus, &ended);
    if !options.quiet {
        stderr::say(format_args!("{}", summary(&guest_run)));
    }
    if let Some(file) = &options.json {
        write_json(&guest_run, file)?;
    }
    Ok(ExitCode::from(u8::try_from(ended.code).unwrap_or(u8::MAX)))
}

fn machine(options: &VmOptions, kernel: Kernel, files: Vec<GuestFile>, notice: Option<fn(&str)>) -> Machine {
    let accelerator = match options.accel {
        VmAccelerator::Auto => AcceleratorChoice::Auto,
        VmAccelerator::Kvm => AcceleratorChoice::Only(Accelerator::Kvm),
        VmAccelerator::Tcg => AcceleratorChoice::Only(Accelerator::Tcg),
    };
    let bit = if options.hide_hypervisor { HypervisorBit::Hidden } else { HypervisorBit::Shown };
    let machine = Machine::new(kernel).cpus(options.cpus.into()).accelerator(accelerator).hypervisor_bit(bit);
    let machine = files.into_iter().fold(machine, Machine::file);
    let machine = options.memory.into_iter().fold(machine, Machine::memory);
    let machine = options.scheduler.iter().cloned().fold(machine, Machine::scheduler);
    let machine = notice.into_iter().fold(machine, Machine::notice);
    let parameters = options.kernel_parameters.iter();
    parameters.fold(machine, |machine, parameter| machine.kernel_parameter(parameter))
}

/// What is known of the run.
fn guest_run(kernel: String, cpus: u16, ended: &Ended) -> GuestRun {
    let &Ended { code, boot_s, run_s, user_s, system_s, accelerator, memory, .. } = ended;
    GuestRun {
        schema: VM_SCHEMA.into(),
        kernel,
        accelerator: accelerator.name().into(),
        cpus,
        memory_bytes: memory,
        code,
        boot_s,
        run_s,
        user_s,
        system_s,
        scheduler: ended.scheduler.as_ref().map(|scheduler| ScheduledBy {
            ops: scheduler.ops.clone(),
            reach: scheduler.reach.name().into(),
            cpu_s: scheduler.cpu.as_secs_f64(),
        }),
    }
}

/// One line on the machine and its times.
fn summary(run: &GuestRun) -> String {
    let GuestRun { kernel, accelerator, cpus, boot_s, run_s, .. } = run;
    let caveat =
        if run.is_translated() { "; translated, so only ratios of one run mean anything" } else { "" };
    let (memory, cpu_s) = (run.memory_bytes / MIB, run.user_s + run.system_s);
    let under = run.scheduler.as_ref().map_or(String::new(), |scheduler| format!(" under {}", scheduler.ops));
    format!(
        "vm: kernel {kernel}, {accelerator}, {cpus} CPUs, {memory} MiB: booted in {boot_s:.1} s, ran {run_s:.2} s{under} \
         ({cpu_s:.2} s CPU){caveat}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_of_a_translated_run_says_that_its_times_mean_little() {
        let mut ended = Ended {
            code: 0,
            stdout: Vec::new(),
            stderr: Vec::new(),
            console: String::new(),
            boot_s: 4.25,
            run_s: 1.5,
            user_s: 0.375,
            system_s: 0.125,
            accelerator: Accelerator::Tcg,
            memory: 1024 * MIB,
            scheduler: None,
        };
        let line = summary(&guest_run("7.3.4+deb13-cloud-amd64".into(), 2, &ended));
        let expected = "vm: kernel 7.3.4+deb13-cloud-amd64, tcg, 2 CPUs, 1024 MiB: booted in 4.2 s, ran 1.50 s (0.50 s CPU); \
                        translated, so only ratios of one run mean anything";
        assert_eq!(line, expected);
        ended.accelerator = Accelerator::Kvm;
        assert!(summary(&guest_run("7.3.4".into(), 2, &ended)).ends_with("(0.50 s CPU)"));
    }
}
