//! PostgreSQL with its shared memory in System V's, and pgbench.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Rows of pgbench's tables, in hundreds of thousands.
const SCALE: &str = "5";
const DATABASE: &str = "postgres";

/// A database cluster below a folder that its user owns.
#[derive(Debug)]
pub struct Cluster<'a> {
    folder: &'a Path,
}

/// Where PostgreSQL's programs are: Debian keeps all but a few out of the search path. `None` if they are not installed.
pub fn commands() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let debian = versions.map(|version| version.path().join("bin"));
    let whole = |folder: &PathBuf| {
        ["initdb", "pg_ctl", "postgres", "pgbench"].iter().all(|name| folder.join(name).is_file())
    };
    debian.chain(std::env::split_paths(&path)).filter(whole).max()
}

impl<'a> Cluster<'a> {
    /// The cluster below `folder`, whether it is there yet or not.
    pub fn at(folder: &'a Path) -> Cluster<'a> {
        Cluster { folder }
    }

    /// Makes it, and fills pgbench's tables.
    pub fn make(&self, as_user: impl Fn(&mut Command) -> &mut Command) -> Result<(), String> {
        let mut initdb = command("initdb")?;
        initdb.args([
            "--auth=trust",
            "--username=bench",
            "--encoding=UTF8",
            "--no-locale",
            "--no-sync",
            "-D",
        ]);
        run(as_user(initdb.arg(self.data())))?;
        run(as_user(&mut self.start()?))?;
        let filled = self.pgbench().and_then(|mut pgbench| {
            run(as_user(pgbench.args(["--initialize", "--quiet", "--scale", SCALE, DATABASE])))
        });
        run(as_user(&mut self.stop()?)).and(filled.map(drop))
    }

    /// Starts it, and measures transactions a second of `pgbench -S -c 4`.
    pub fn measure(&self, seconds: u64) -> Result<f64, String> {
        self.serve_while(|| self.rate(4, seconds))
    }

    /// Starts it, does something, and stops it.
    pub fn serve_while<T>(&self, body: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
        run(&mut self.start()?)?;
        let done = body();
        run(&mut self.stop()?)?;
        done
    }

    /// Transactions a second of `pgbench -S` with so many clients. The server runs.
    pub fn rate(&self, clients: u32, seconds: u64) -> Result<f64, String> {
        let mut pgbench = self.pgbench()?;
        let threads = clients.min(2);
        pgbench.args(["-S", "-n", "-c", &clients.to_string(), "-j", &threads.to_string()]);
        let text = run(pgbench.args(["-T", &seconds.to_string(), DATABASE]))?;
        figure(&text).ok_or_else(|| format!("pgbench printed no rate: {text}"))
    }

    /// The server's process, while one runs.
    pub fn pid(&self) -> Option<u32> {
        let text = std::fs::read_to_string(self.pid_file()).ok()?;
        text.lines().next()?.trim().parse().ok()
    }

    /// The file whose first line is the server's pid, while one runs.
    pub fn pid_file(&self) -> PathBuf {
        self.data().join("postmaster.pid")
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn start(&self) -> Result<Command, String> {
        let settings = format!(
            "-c shared_memory_type=sysv -c dynamic_shared_memory_type=sysv -c listen_addresses= -c fsync=off -k {}",
            self.folder.display()
        );
        let mut command = command("pg_ctl")?;
        command.args(["start", "--wait", "--silent", "-o", &settings, "-l"]).arg(self.folder.join("log"));
        command.arg("-D").arg(self.data());
        Ok(command)
    }

    fn stop(&self) -> Result<Command, String> {
        let mut command = command("pg_ctl")?;
        command.args(["stop", "--wait", "--silent", "--mode=fast", "-D"]).arg(self.data());
        Ok(command)
    }

    fn pgbench(&self) -> Result<Command, String> {
        let mut command = command("pgbench")?;
        command.arg("-h").arg(self.folder).args(["-U", "bench"]);
        Ok(command)
    }
}

fn command(name: &str) -> Result<Command, String> {
    let folder = commands().ok_or("PostgreSQL is not installed")?;
    Ok(Command::new(folder.join(name)))
}

/// What it prints. It goes through a file: a server that is started keeps a pipe open for as long as it runs.
fn run(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let said = tempfile::tempfile().map_err(|e| format!("no scratch file: {e}"))?;
    let clone = || said.try_clone().map_err(|e| format!("a scratch file: {e}"));
    let status = command.stdin(Stdio::null()).stdout(clone()?).stderr(clone()?).status();
    let status = status.map_err(|e| format!("{name}: {e}"))?;
    let mut text = Vec::new();
    let mut said = said;
    let read =
        std::io::Seek::rewind(&mut said).and_then(|()| std::io::Read::read_to_end(&mut said, &mut text));
    read.map_err(|e| format!("a scratch file: {e}"))?;
    let text = String::from_utf8_lossy(&text).into_owned();
    match status.success() {
        true => Ok(text),
        false => Err(format!("{name} ({status}): {}", text.trim())),
    }
}

/// The rate in what pgbench prints.
fn figure(text: &str) -> Option<f64> {
    let rate = text.lines().find_map(|line| line.strip_prefix("tps = "))?;
    rate.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_found() {
        let text = "latency average = 0.2 ms\ntps = 18231.5 (without initial connection time)\n";
        assert_eq!(figure(text), Some(18231.5));
        assert_eq!(figure("pgbench: error"), None);
    }
}
