//! `unspin plan env`, `systemd`, `dockerfile` and `kubernetes`: what a service needs to run under a deployed plan.
//!
//! Each text names two files and two variables. The folder and the names consist of characters that no shell, unit, Dockerfile or
//! YAML reads otherwise, so nothing is quoted.

use crate::options::{PlanKubernetes, PlanPlace, PlanSystemd};
use std::path::Path;
use std::process::ExitCode;
use unspin_launch::error::Error;
use unspin_launch::library;
use unspin_launch::output::{shell, stdout};
use unspin_launch::plan::PlanFile;

/// The variables for a shell.
pub fn env(place: &PlanPlace) -> Result<ExitCode, Error> {
    let Files { library, plan, .. } = &Files::of(place)?;
    print(&format!(
        "{}export LD_PRELOAD={library}${{LD_PRELOAD:+:$LD_PRELOAD}}\nexport UNSPIN_PLAN={plan}\n",
        made_by(place, "#")
    ))
}

/// A drop-in for a unit. Settings that are not asked for are comments in it.
pub fn systemd(options: &PlanSystemd) -> Result<ExitCode, Error> {
    let place = &options.place;
    let Files { folder, library, plan, .. } = &Files::of(place)?;
    let setting = |is_wanted| if is_wanted { "" } else { "#" };
    let (status, locked_down) = (setting(options.status), setting(options.locked_down));
    print(&format!(
        "# `systemctl edit UNIT` takes these lines, and `systemctl restart UNIT` applies them.\n{}\
         [Service]\n\
         Environment=LD_PRELOAD={library}\n\
         Environment=UNSPIN_PLAN={plan}\n\
         # A line in the log when the service ends; a tally that `unspin plan status PID` reads meanwhile (--status):\n\
         {status}Environment=UNSPIN_SUMMARY=1 UNSPIN_STATUS=1\n\
         # A unit with NoExecPaths= loads libraries from its ExecPaths= alone (--locked-down):\n\
         {locked_down}ExecPaths={folder}\n\
         # Under SystemCallFilter= and other filters waits poll only with the variable UNSPIN_LOOKS. At each start these lines find\n\
         # its value under the unit's own filters. Copy the program unspin into the folder. Do not use them in a unit that has commands\n\
         # with + or reads RUNTIME_DIRECTORY:\n\
         {locked_down}RuntimeDirectory=%N-unspin\n\
         {locked_down}ExecStartPre=-{folder}/unspin plan looks --output %t/%N-unspin/looks\n\
         {locked_down}EnvironmentFile=-%t/%N-unspin/looks\n",
        made_by(place, "#"),
    ))
}

/// The lines of a Dockerfile.
pub fn dockerfile(place: &PlanPlace) -> Result<ExitCode, Error> {
    let Files { folder, library, plan, .. } = &Files::of(place)?;
    print(&format!(
        "# These lines stand last, so that no step of the build runs under the plan. The folder unspin lies beside the Dockerfile:\n\
         #   unspin plan compile {} --output unspin\n\
         COPY unspin {folder}\n\
         ENV LD_PRELOAD={library} \\\n    UNSPIN_PLAN={plan}\n\
         {}\
         #ENV UNSPIN_LOOKS=\n",
        shell::quote(&place.plan),
        looks("# ")
    ))
}

/// A Pod.
pub fn kubernetes(options: &PlanKubernetes) -> Result<ExitCode, Error> {
    let Files { folder, library, plan, service } = &Files::of(&options.place)?;
    let image = options.image.clone().unwrap_or_else(|| format!("registry.example/{service}:1"));
    let files = options.files_image.clone().unwrap_or_else(|| format!("registry.example/{service}-unspin:1"));
    for (option, image) in [("--image", &image), ("--files-image", &files)] {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
        if image.is_empty() || !image.chars().all(is_plain) {
            return Err(Error::Usage(format!("{option} {image}: is no name of an image")));
        }
    }
    print(&format!(
        "# The image {files} has the library and the plan in /unspin, and cp:\n\
         #   unspin plan compile {} --output unspin\n\
         #   printf 'FROM busybox\\nCOPY unspin /unspin\\n' | docker build -f - -t {files} .\n\
         apiVersion: v1\n\
         kind: Pod\n\
         metadata:\n\
         \x20 name: \"{service}\"\n\
         spec:\n\
         \x20 volumes:\n\
         \x20   - name: unspin\n\
         \x20     emptyDir: {{}}\n\
         \x20 initContainers:\n\
         \x20   - name: unspin\n\
         \x20     image: \"{files}\"\n\
         \x20     command: [\"cp\", \"-R\", \"/unspin/.\", \"{folder}\"]\n\
         \x20     volumeMounts:\n\
         \x20       - name: unspin\n\
         \x20         mountPath: {folder}\n\
         {RESTRICTED}\
         \x20 containers:\n\
         \x20   - name: \"{service}\"\n\
         \x20     image: \"{image}\"\n\
         \x20     env:\n\
         \x20       - name: LD_PRELOAD\n\
         \x20         value: {library}\n\
         \x20       - name: UNSPIN_PLAN\n\
         \x20         value: {plan}\n\
         {}\
         \x20       #- name: UNSPIN_LOOKS\n\
         \x20       #  value: \"\"\n\
         \x20     volumeMounts:\n\
         \x20       - name: unspin\n\
         \x20         mountPath: {folder}\n\
         \x20         readOnly: true\n",
        shell::quote(&options.place.plan),
        looks("        # ")
    ))
}

/// What the Pod security standard "restricted" wants of the init container, except a user: the cluster or the image names one.
const RESTRICTED: &str = "      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [\"ALL\"]
        seccompProfile:
          type: RuntimeDefault
";

fn print(text: &str) -> Result<ExitCode, Error> {
    stdout::print(text)?;
    Ok(ExitCode::SUCCESS)
}

/// A comment on the variable that a plan of polls needs where a seccomp filter is in force: nothing is tried in the service itself.
fn looks(comment: &str) -> String {
    format!(
        "{comment}Where a seccomp filter is in force, waits poll only with this variable. In such a container it is printed by\n\
         {comment}  unspin plan looks\n"
    )
}

/// A comment that says how the files are made.
fn made_by(place: &PlanPlace, comment: &str) -> String {
    let (plan, folder) = (shell::quote(&place.plan), shell::quote(&place.dir));
    format!("{comment} The two files: unspin plan compile {plan} --output {folder}\n")
}

/// The files where the service runs.
struct Files {
    folder: String,
    library: String,
    plan: String,
    /// A name for the service: that of the program, in the characters that Kubernetes permits (RFC 1123).
    service: String,
}

impl Files {
    fn of(place: &PlanPlace) -> Result<Files, Error> {
        let file = PlanFile::read_argument(&place.plan)?;
        let folder = place.dir.to_str().filter(|folder| is_plain(folder) && folder.starts_with('/'));
        let folder = folder.map(|folder| folder.trim_end_matches('/')).filter(|folder| !folder.is_empty());
        let folder = folder.ok_or_else(|| {
            Error::Usage(format!(
                "--dir {}: LD_PRELOAD, units and YAML cannot hold every path: name an absolute one of letters, digits, and / . _ + -",
                place.dir.display()
            ))
        })?;
        let program = file.program().and_then(|program| Path::new(program).file_name()?.to_str());
        Ok(Files {
            folder: folder.to_owned(),
            library: format!("{folder}/{}", library::FILE),
            plan: format!("{folder}/{}", plan_name(&place.plan)?),
            service: service_name(program.unwrap_or("service")),
        })
    }
}

fn is_plain(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || "/._+-".contains(c))
}

/// The name of the compiled plan: `server.plan` for `server.toml`.
pub fn plan_name(plan: &Path) -> Result<String, Error> {
    let stem = plan.file_stem().and_then(|stem| stem.to_str()).filter(|stem| is_plain(stem));
    stem.map(|stem| format!("{stem}.plan")).ok_or_else(|| {
        Error::Usage(format!(
            "{}: the compiled plan is named after it, and LD_PRELOAD, units and YAML cannot hold every name: rename it to letters, \
             digits, and . _ + -",
            plan.display()
        ))
    })
}

fn service_name(program: &str) -> String {
    let lower = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = program.chars().map(lower).take(50).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "service".into() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_only_characters_that_nothing_reads_otherwise() {
        assert_eq!(plan_name(Path::new("a/server.toml")).unwrap(), "server.plan");
        for plan in ["a b.toml", "$x.toml", "a:b.toml", "a\n.toml"] {
            assert!(matches!(plan_name(Path::new(plan)), Err(Error::Usage(_))), "{plan}");
        }
        let name = |program: &str| service_name(program);
        assert_eq!(
            [name("Maria_DB.d"), name("x"), name("--"), name("é-1")],
            ["maria-db-d", "x", "service", "1"]
        );
    }
}
