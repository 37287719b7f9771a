//! `unspin plan compile`.

use super::{deployment, snippet};
use crate::options::PlanCompile;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::ExitCode;
use unspin_launch::error::Error;
use unspin_launch::library;
use unspin_launch::output::{outfile, shell, stderr};

/// Writes the library and the compiled plan into a folder, and says on standard error how a program runs under them.
pub fn compile(options: &PlanCompile) -> Result<ExitCode, Error> {
    let name = snippet::plan_name(&options.source.plan)?;
    let deployment = deployment(&options.source)?;
    let text = deployment.text()?;
    let folder = &options.output;
    let wrong = |why: std::io::Error| {
        Error::Usage(format!("--output {}: {why}; name another folder", folder.display()))
    };
    create_for_all(folder).map_err(wrong)?;
    let folder = fs::canonicalize(folder).map_err(wrong)?;
    let (library, plan) = (folder.join(library::FILE), folder.join(&name));
    library::write(&library)?;
    outfile::write_for_all(&plan, text.as_bytes(), 0o644)?;
    let programs: Vec<String> = deployment.programs.iter().map(|path| shell::quote(path)).collect();
    stderr::say(format_args!(
        "LD_PRELOAD={} UNSPIN_PLAN={} runs {} under the plan; `unspin plan env`, `systemd`, `dockerfile` and `kubernetes` print what \
         a service needs",
        shell::quote(&library),
        shell::quote(&plan),
        programs.join(" or ")
    ));
    Ok(ExitCode::SUCCESS)
}

/// Creates a folder, and those around it, that all users may enter, whatever the umask: a service may run as any user.
fn create_for_all(folder: &Path) -> io::Result<()> {
    let missing: Vec<&Path> =
        folder.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()).collect();
    fs::create_dir_all(folder)?;
    missing.iter().try_for_each(|folder| fs::set_permissions(folder, Permissions::from_mode(0o755)))
}
