//! CPU time that idle servers use.

use super::children::Server;
use super::{Cluster, Figures, servers};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Time after which a server has finished its start.
const SETTLED: Duration = Duration::from_millis(500);

/// A redis-server, which looks around ten times a second by itself.
pub fn redis(ms: u64) -> Result<Figures, String> {
    let server = servers::redis_server(servers::free_port()?)?;
    percent(server.pid(), ms)
}

/// A PostgreSQL with its helpers.
pub fn postgres(cluster: &Cluster<'_>, ms: u64) -> Result<Figures, String> {
    cluster.serve_while(|| percent(cluster.pid().ok_or("PostgreSQL has no pid")?, ms))
}

/// A server of HTTP.
pub fn node(kit: &Path, ms: u64) -> Result<Figures, String> {
    let port = servers::free_port()?;
    let mut command = Command::new("node");
    command.arg(kit.join("idle.js")).arg(port.to_string()).stderr(Stdio::null());
    let server = Server::start(&mut command, || servers::listens(port))?;
    percent(server.pid(), ms)
}

/// CPU time of a process and its descendants over ten times the time, at least half a second, in percent of a CPU.
fn percent(pid: u32, ms: u64) -> Result<Figures, String> {
    let time = Duration::from_millis((10 * ms).max(500));
    sleep(SETTLED);
    let before = running_ns(pid);
    sleep(time);
    let used = running_ns(pid).saturating_sub(before) as f64;
    if before == 0 {
        return Err(format!("process {pid} tells nothing of its CPU time"));
    }
    Ok(Figures::One(100.0 * used / time.as_nanos() as f64))
}

/// Nanoseconds that the threads of a process and of its descendants have run. Those that have ended are missing.
fn running_ns(pid: u32) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    tasks
        .map(|task| {
            let read = |name: &str| fs::read_to_string(task.path().join(name)).unwrap_or_default();
            // The kernel's Documentation/scheduler/sched-stats.rst: time spent on the CPU is the first number.
            let own: u64 =
                read("schedstat").split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0);
            let children = read("children");
            own + children.split_whitespace().filter_map(|pid| pid.parse().ok()).map(running_ns).sum::<u64>()
        })
        .sum()
}

/// CPU seconds of a process and of the children that it has waited for.
pub fn cpu_with_children_s(pid: u32) -> Result<f64, String> {
    let path = format!("/proc/{pid}/stat");
    let stat = fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
    // proc_pid_stat(5): behind the name come state and ppid; utime, stime, cutime and cstime are fields 14 to 17, in
    // hundredths of a second.
    let fields = stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().skip(11).take(4));
    let ticks: Option<Vec<f64>> = fields.map(|fields| fields.filter_map(|n| n.parse().ok()).collect());
    ticks.filter(|t| t.len() == 4).map(|t| t.iter().sum::<f64>() / 100.0).ok_or(format!("{path} is strange"))
}
