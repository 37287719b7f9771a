//! Debian's archive, asked by apt with a root of its own: lists, status and cache lie in a folder of ours, and the packages of this
//! machine have no part in it.

use super::release::Release;
use nix::fcntl::{AT_FDCWD, AtFlags};
use sha2::{Digest, Sha256};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use unspin_launch::error::Error;
use unspin_sys::child;
use unspin_sys::regular::{self, Links};

/// Where Debian's archive is if nothing else is known.
const MIRROR: &str = "http://deb.debian.org/debian";
/// The suite with kernels for the stable release that are newer than its own.
const SUITE: &str = "trixie-backports";
/// The keys by which apt checks the archive's signatures.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// The packages of a kernel: its file, the files of its folder, its modules.
const PARTS: [&str; 3] = ["linux-binary-", "linux-base-", "linux-modules-"];

/// Bytes of a package, at most: the largest has some 130 MB.
const PACKAGE_MAX: u64 = 4 << 30;

/// What one may do about an archive that cannot be had.
const REMEDY: &str = "connect the machine to Debian's archive, name another mirror by --mirror, or name the file of a kernel by --kernel FILE";

/// apt with its root.
pub struct Packages {
    configuration: PathBuf,
}

impl Packages {
    /// Fetches the lists of the archive.
    pub fn update(root: &Path, mirror: Option<&str>) -> Result<Packages, Error> {
        if !Path::new(KEYRING).is_file() {
            return Err(Error::Environment(format!(
                "{KEYRING}: missing, and without it Debian's signatures cannot be checked: apt-get install debian-archive-keyring"
            )));
        }
        let mirror = mirror.map_or_else(mirror_of_machine, |named| Ok(named.to_owned()))?;
        let configuration =
            configure(root, &mirror).map_err(|error| Error::at(root, "apt's folder", error))?;
        let packages = Packages { configuration };
        packages.ask("apt-get", &["--quiet", "update"], root).map_err(|why| {
            Error::Environment(format!("the kernels of {mirror} {SUITE} cannot be listed: {why}; {REMEDY}"))
        })?;
        Ok(packages)
    }

    /// The kernels of the archive.
    pub fn releases(&self) -> Result<Vec<Release>, Error> {
        let names = self.ask("apt-cache", &["pkgnames", PARTS[0]], Path::new("/"));
        let names = names.map_err(|why| Error::Environment(format!("apt-cache pkgnames: {why}")))?;
        Ok(names.lines().filter_map(|name| Release::new(name.strip_prefix(PARTS[0])?)).collect())
    }

    /// Downloads the packages of a kernel into a folder, verifies them, and unpacks them into `root` there. Returns the kernel's
    /// own folder.
    pub fn unpack(&self, release: &Release, folder: &Path) -> Result<PathBuf, Error> {
        let names = PARTS.map(|part| format!("{part}{release}"));
        let (folder, above) = (&folder.join("packages"), folder);
        fs::create_dir(folder)
            .and_then(|()| open_to_sandbox(above, folder))
            .map_err(|error| Error::at(folder, "packages cannot be downloaded", error))?;
        let arguments: Vec<&str> =
            ["--quiet", "download"].into_iter().chain(names.iter().map(String::as_str)).collect();
        self.ask("apt-get", &arguments, folder)
            .map_err(|why| Error::Environment(format!("kernel {release}: {why}; {REMEDY}")))?;
        close_to_sandbox(folder).map_err(|error| Error::at(folder, "the packages", error))?;
        let root = above.join("root");
        for name in &names {
            let file = self.verified(name, folder)?;
            let (file, root) = (file.to_string_lossy(), root.to_string_lossy());
            self.ask("dpkg-deb", &["--extract", &file, &root], folder)
                .map_err(|why| Error::Environment(format!("{file}: {why}")))?;
        }
        Ok(root.join("usr/lib/modules").join(release.as_str()))
    }

    /// The file of a downloaded package, whose contents are those that the signed lists name.
    fn verified(&self, name: &str, folder: &Path) -> Result<PathBuf, Error> {
        let refuse = |why: String| Error::Environment(format!("package {name}: {why}; {REMEDY}"));
        let about = self.ask("apt-cache", &["show", "--no-all-versions", name], folder).map_err(refuse)?;
        let expected = about.lines().find_map(|line| line.strip_prefix("SHA256: ")).unwrap_or_default();
        let prefix = format!("{name}_");
        let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let file = files
            .into_iter()
            .find(|file| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix)))
            .ok_or_else(|| refuse("apt-get has not downloaded it".into()))?;
        let bytes = regular::read(&file, Links::Refused, PACKAGE_MAX)
            .map_err(|error| Error::at(&file, "a package", error))?;
        if sha256(&bytes) != expected {
            return Err(refuse("its SHA256 is not that of the archive's list".into()));
        }
        Ok(file)
    }

    /// Runs a program of apt's, and returns its standard output. An error is its last line.
    fn ask(&self, program: &str, arguments: &[&str], folder: &Path) -> Result<String, String> {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder).env("APT_CONFIG", &self.configuration);
        run(program, &mut command)
    }
}

/// The user as which apt downloads if root starts it.
const SANDBOX_USER: &str = "_apt";

/// Lets apt's user write into this folder, which lies in a private one: otherwise apt downloads as root. Only root has to, and can.
fn open_to_sandbox(private: &Path, folder: &Path) -> std::io::Result<()> {
    match nix::unistd::User::from_name(SANDBOX_USER)? {
        Some(user) if nix::unistd::geteuid().is_root() => {
            fs::set_permissions(private, fs::Permissions::from_mode(0o711))?;
            Ok(nix::unistd::chown(folder, Some(user.uid), None)?)
        }
        _ => Ok(()),
    }
}

/// From now on the packages are those that are verified: only this process's user can change what is in the folder.
fn close_to_sandbox(folder: &Path) -> std::io::Result<()> {
    let user = Some(nix::unistd::geteuid());
    nix::unistd::chown(folder, user, None)?;
    for entry in fs::read_dir(folder)? {
        nix::unistd::fchownat(AT_FDCWD, &entry?.path(), user, None, AtFlags::AT_SYMLINK_NOFOLLOW)?;
    }
    Ok(())
}

/// Runs a program that ends when this one does, and returns its standard output.
fn run(program: &str, command: &mut Command) -> Result<String, String> {
    command.env("LC_ALL", "C").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Output { status, stdout, stderr } =
        child::kill_on_parent_death(command).output().map_err(|error| match error.kind() {
            ErrorKind::NotFound => format!("there is no program {program} here (Debian has it)"),
            _ => format!("{program}: {error}"),
        })?;
    if status.success() {
        return Ok(String::from_utf8_lossy(&stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&stderr);
    let mut errors = said.lines().filter(|line| line.starts_with("E: ") || line.starts_with("dpkg-deb: "));
    Err(errors.next_back().map_or_else(|| format!("{program} ended with {status}"), str::to_owned))
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The mirror of Debian from which this machine gets its packages; Debian's own if it gets them elsewhere.
fn mirror_of_machine() -> Result<String, Error> {
    let mut command = Command::new("apt-get");
    command.args(["indextargets", "--format", "$(REPO_URI) $(LABEL)", "Created-By: Packages"]);
    let targets = run("apt-get", &mut command).map_err(|why| {
        Error::Environment(format!("kernels are taken from Debian's archive: {why}; {REMEDY}"))
    })?;
    Ok(mirror_of(&targets).unwrap_or(MIRROR).to_owned())
}

fn mirror_of(targets: &str) -> Option<&str> {
    let mut repositories = targets.lines().filter_map(|line| line.split_once(' '));
    repositories.find(|(_, label)| *label == "Debian").map(|(uri, _)| uri.trim_end_matches('/'))
}

/// Writes the configuration and the sources of apt's root. Returns the path of the configuration.
fn configure(root: &Path, mirror: &str) -> std::io::Result<PathBuf> {
    for folder in ["lists/partial", "archives/partial"] {
        fs::create_dir_all(root.join(folder))?;
    }
    fs::write(root.join("sources.list"), format!("deb [signed-by={KEYRING}] {mirror} {SUITE} main\n"))?;
    let mut dump = Command::new("apt-config");
    dump.arg("dump");
    let of_machine = run("apt-config", &mut dump).unwrap_or_default();
    let path = root.join("apt.conf");
    fs::write(&path, configuration(root, &of_machine))?;
    Ok(path)
}

/// The text of apt's configuration: how this machine reaches servers, and nothing else of its own.
fn configuration(root: &Path, of_machine: &str) -> String {
    let reaches = ["Acquire::http::", "Acquire::https::", "Acquire::Retries", "Acquire::Force"];
    let kept = of_machine.lines().filter(|line| reaches.iter().any(|start| line.starts_with(start)));
    let mut text: String = kept.flat_map(|line| [line, "\n"]).collect();
    let root = root.display();
    // The folders of the machine's configuration are not read: its hooks are about its own packages.
    text += &format!(
        "Dir::Etc::main \"/dev/null\";\nDir::Etc::parts \"/dev/null\";\n\
         Dir::Etc::sourcelist \"{root}/sources.list\";\nDir::Etc::sourceparts \"/dev/null\";\n\
         Dir::State \"{root}\";\nDir::State::lists \"{root}/lists\";\nDir::State::status \"/dev/null\";\n\
         Dir::Cache \"{root}\";\nDir::Cache::archives \"{root}/archives\";\n\
         APT::Architecture \"amd64\";\nAPT::Architectures {{ \"amd64\"; }};\n"
    );
    // apt's downloads run as the user of its own sandbox, where root starts apt and that user can reach the cache.
    text += "APT::Update::Error-Mode \"any\";\n\
             Acquire::AllowInsecureRepositories \"false\";\nAcquire::AllowWeakRepositories \"false\";\n\
             APT::Get::AllowUnauthenticated \"false\";\nAcquire::Languages \"none\";\n";
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirror_is_the_one_of_debians_own_packages() {
        let targets = "http://security.example/debian-security/ Debian-Security\n\
                       http://mirror.example/debian/ Debian\nhttp://other.example/debian Debian\n";
        assert_eq!(mirror_of(targets), Some("http://mirror.example/debian"));
        assert_eq!(mirror_of("http://vendor.example/apt Vendor\n"), None);
    }

    #[test]
    fn configuration_keeps_proxies_and_no_hooks() {
        let of_machine = "Acquire::http::Proxy \"http://proxy.example:3128\";\nAPT::Update::Post-Invoke:: \"rm -f x\";\n\
                          Acquire::AllowInsecureRepositories \"1\";\nDir::State \"var/lib/apt\";\n";
        let text = configuration(Path::new("/cache/apt"), of_machine);
        assert!(text.starts_with("Acquire::http::Proxy \"http://proxy.example:3128\";\n"), "{text}");
        assert!(!text.contains("Post-Invoke") && !text.contains("\"1\"") && !text.contains("var/lib/apt"));
        assert!(text.contains("Dir::State::lists \"/cache/apt/lists\";"));
        assert!(text.contains("Acquire::AllowInsecureRepositories \"false\";"));
    }

    #[test]
    fn missing_program_is_named() {
        let why = run("no-such-apt", &mut Command::new("no-such-apt")).unwrap_err();
        assert_eq!(why, "there is no program no-such-apt here (Debian has it)");
        let why = run("false", &mut Command::new("false")).unwrap_err();
        assert_eq!(why, "false ended with exit status: 1");
    }

    #[test]
    fn checksum_is_that_of_sha256sum() {
        assert_eq!(sha256(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }

    #[test]
    fn altered_package_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("linux-base-x_1_amd64.deb"), "altered").unwrap();
        let packages = Packages { configuration: "/dev/null".into() };
        let refused = packages.verified("linux-base-x", folder.path()).unwrap_err().to_string();
        assert!(refused.starts_with("package linux-base-x: "), "{refused}");
    }
}
