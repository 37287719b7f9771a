//! Apache's HTTP server, whose processes take turns to accept connections under a System V semaphore.

use crate::{Outcome, Process, Run, Running, Workspace, find_tool, is_root};
use std::fs::Permissions;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// What the server answers with: more than a socket's buffers take, so that a process can die half-way.
const PAGE: usize = 400_000;

/// The server, running.
#[derive(Debug)]
pub struct Apache {
    server: Running,
    ports: [u16; 2],
}

impl Apache {
    /// The server's program, if its modules are where Debian has them.
    pub fn program() -> Option<PathBuf> {
        let modules = PathBuf::from(MODULES).join("mod_mpm_prefork.so");
        find_tool("apache2").filter(|_| modules.exists())
    }

    /// Starts the server as `with` says, which can add to its surroundings.
    ///
    /// # Panics
    /// If it ends instead of serving.
    pub fn start(workspace: &Workspace, with: impl FnOnce(Run) -> Run) -> Apache {
        let program = Apache::program().expect("the caller has seen it");
        let pages = workspace.path().join("pages");
        std::fs::create_dir_all(&pages).expect("the workspace takes files");
        std::fs::write(pages.join("page"), page()).expect("the workspace takes files");
        std::fs::set_permissions(workspace.path(), Permissions::from_mode(0o755)).expect("it is ours");
        let ports = [(); 2].map(|()| crate::free_port());
        let configuration = workspace.path().join("apache.conf");
        std::fs::write(&configuration, configure(workspace, ports)).expect("the workspace takes files");
        let run = workspace.run(program).args(["-DFOREGROUND", "-f"]).args([&configuration]);
        let mut server = with(run).start();
        if !server.await_stderr("resuming normal operations") {
            panic!("{}", server.output());
        }
        Apache { server, ports }
    }

    /// The processes that serve.
    pub fn children(&self) -> Vec<Process> {
        Process::children_of(self.server.id())
    }

    /// The ports, which all processes listen at.
    pub fn ports(&self) -> [u16; 2] {
        self.ports
    }

    /// What the server has said so far.
    pub fn log(&self) -> String {
        self.server.stderr()
    }

    /// Restarts gracefully: each process finishes its current request, and new processes replace the old ones.
    ///
    /// # Panics
    /// If the server ends.
    pub fn restart(&mut self) {
        let resumed = |log: &str| log.matches("resuming normal operations").count();
        let before = resumed(&self.log());
        self.server.signal(libc::SIGUSR1);
        crate::eventually("Apache restarts", || {
            assert!(self.server.runs(), "Apache ends: {}", self.log());
            (resumed(&self.log()) > before).then_some(())
        });
    }

    /// Ends it.
    pub fn stop(self) -> Outcome {
        self.server.signal(libc::SIGTERM);
        self.server.output()
    }
}

/// Fetches the page.
///
/// # Errors
/// If the connection breaks before the page is there.
///
/// # Panics
/// If the server answers anything else.
pub fn fetch(port: u16) -> io::Result<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.write_all(b"GET /page HTTP/1.0\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let head =
        answer.windows(4).position(|window| window == b"\r\n\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
    let (head, body) = (String::from_utf8_lossy(&answer[..head]), &answer[head + 4..]);
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    if body.len() < PAGE {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    assert!(body == page(), "the page has other contents");
    Ok(())
}

fn page() -> Vec<u8> {
    (0..PAGE).map(|i| b'a' + (i / 7 % 26) as u8).collect()
}

const MODULES: &str = "/usr/lib/apache2/modules";

/// Two listeners, since with one the processes need not take turns.
fn configure(workspace: &Workspace, [first, second]: [u16; 2]) -> String {
    let root = workspace.path().display();
    // Only root can change its user.
    let user = if is_root() { "User nobody\nGroup nogroup" } else { "" };
    format!(
        "ServerRoot {root}
         ServerName localhost
         LoadModule mpm_prefork_module {MODULES}/mod_mpm_prefork.so
         LoadModule authz_core_module {MODULES}/mod_authz_core.so
         Listen 127.0.0.1:{first}
         Listen 127.0.0.1:{second}
         Mutex sysvsem default
         PidFile {root}/pid
         ErrorLog /dev/stderr
         LogLevel mpm_prefork:debug
         DocumentRoot {root}/pages
         {user}
         StartServers 6
         MinSpareServers 4
         MaxSpareServers 8
         MaxRequestWorkers 8
         ServerLimit 8
        "
    )
}
