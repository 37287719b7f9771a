//! A server and its client.

use super::children::{Server, number, run_with_output};
use super::{Cluster, Figures, idle, python};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

/// A port of this machine that is free now.
pub fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    listener.map(|address| address.port()).map_err(|e| format!("no free port: {e}"))
}

/// Whether something listens at the port.
pub fn listens(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// A redis-server that writes nothing to any file.
pub fn redis_server(port: u16) -> Result<Server, String> {
    let mut command = Command::new("redis-server");
    command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
    command.current_dir(std::env::temp_dir()).stderr(Stdio::null());
    Server::start(&mut command, || listens(port))
}

/// GETs of so many clients.
pub fn redis(clients: u32, requests: u64) -> Result<Figures, String> {
    let port = free_port()?;
    let server = redis_server(port)?;
    let mut command = Command::new("redis-benchmark");
    command.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-t", "get", "--csv"]);
    command.args(["-c", &clients.to_string(), "-n", &requests.to_string()]);
    let client = run_with_output(&mut command)?;
    let cpu_s = client.cpu_s + server.stop();
    let per_second = csv_rate(&client.text).ok_or_else(|| format!("redis-benchmark: {:?}", client.text))?;
    Ok(Figures::Rate { per_second, cpu_us: 1e6 * cpu_s / requests as f64 })
}

/// The rate in redis-benchmark's table: the second column of the row that begins with GET.
fn csv_rate(text: &str) -> Option<f64> {
    let row = text.lines().find_map(|line| line.strip_prefix("\"GET\",\""))?;
    row.split('"').next()?.parse().ok()
}

/// GETs of one synchronous client.
pub fn memcached(kit: &Path, ms: u64) -> Result<Figures, String> {
    let folder = tempfile::tempdir().map_err(|e| format!("no scratch folder: {e}"))?;
    let socket = folder.path().join("memcached");
    let mut command = Command::new("memcached");
    // Only root changes the user.
    command.args(["-u", "root", "-s"]).arg(&socket).stderr(Stdio::null());
    let server = Server::start(&mut command, || UnixStream::connect(&socket).is_ok())?;
    let mut client = Command::new(python());
    let client = run_with_output(client.arg(kit.join("memcached.py")).arg(&socket).arg(ms.to_string()))?;
    let cpu_s = client.cpu_s + server.stop();
    let per_second = number(&client.text)?;
    Ok(Figures::Rate { per_second, cpu_us: 1e6 * cpu_s / (per_second * ms as f64 / 1e3) })
}

/// Transactions of so many clients.
pub fn pgbench(cluster: &Cluster<'_>, clients: u32, ms: u64) -> Result<Figures, String> {
    let seconds = (5 * ms).div_ceil(1000);
    cluster.serve_while(|| {
        let pid = cluster.pid().ok_or("PostgreSQL has no pid")?;
        let before = idle::cpu_with_children_s(pid)? + idle::cpu_with_children_s(std::process::id())?;
        let per_second = cluster.rate(clients, seconds)?;
        // The server's processes that have served a client end after it.
        std::thread::sleep(std::time::Duration::from_millis(50));
        let after = idle::cpu_with_children_s(pid)? + idle::cpu_with_children_s(std::process::id())?;
        Ok(Figures::Rate { per_second, cpu_us: 1e6 * (after - before) / (per_second * seconds as f64) })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_is_the_second_column() {
        let text = "\"test\",\"rps\",\"avg_latency_ms\"\n\"GET\",\"6312.50\",\"0.151\"\n";
        assert_eq!(csv_rate(text), Some(6312.5));
        assert_eq!(csv_rate("\"test\",\"rps\"\n"), None);
    }
}
