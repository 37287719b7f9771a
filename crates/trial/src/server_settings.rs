//! What is judged of a server.

use std::time::Duration;

/// A server, and the commands that wait for it, load it and stop it.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// The command line of the server; none for a program that ends by itself.
    pub server: Option<String>,
    /// The shell command that succeeds once the server answers.
    pub ready: Option<String>,
    /// The shell command that loads the server, and is timed.
    pub load: Option<String>,
    /// The shell command that stops the server; none for SIGTERM.
    pub stop: Option<String>,
    /// The time that the server has until it is ready.
    pub ready_limit: Duration,
    /// The time that the server has to end.
    pub stop_limit: Duration,
    /// The user that the server runs as.
    pub server_user: Option<String>,
}

impl ServerSettings {
    /// The command lines, with the options that name them.
    pub fn lines(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let named = [
            ("--server", &self.server),
            ("--ready", &self.ready),
            ("--load", &self.load),
            ("--stop", &self.stop),
        ];
        named.into_iter().filter_map(|(option, line)| Some((option, line.as_deref()?)))
    }
}

impl Default for ServerSettings {
    /// No server. One that is set later has half a minute until it is ready, and half a minute to end.
    fn default() -> ServerSettings {
        let limit = Duration::from_secs(30);
        ServerSettings {
            server: None,
            ready: None,
            load: None,
            stop: None,
            ready_limit: limit,
            stop_limit: limit,
            server_user: None,
        }
    }
}
