//! The options of `unspin prove` for a server.

use clap::Args;
use std::time::Duration;
use unspin_launch::command::line::parse_duration;
use unspin_trial::ServerSettings;

/// A server, and the commands that wait for it, load it and stop it.
#[derive(Args, Default, Debug)]
#[command(next_help_heading = "Servers")]
pub struct ServerOptions {
    /// Judge a server: each run starts it, waits until --ready succeeds, times --load, and stops it. The server must stay in the
    /// foreground. Its locks are metered and replaced, not those of the other commands
    #[arg(long, value_name = "CMD", requires_all = ["ready", "load"], conflicts_with = "command")]
    pub server: Option<String>,

    /// A shell command that succeeds once the server answers. It must fail before the server is started
    #[arg(long, value_name = "CMD", requires = "server")]
    pub ready: Option<String>,

    /// The shell command that loads the server and ends by itself. It alone is timed; --metric is searched for in its output
    #[arg(long, value_name = "CMD", requires = "server")]
    pub load: Option<String>,

    /// The shell command that stops the server [default: SIGTERM to the server]
    #[arg(long, value_name = "CMD", requires = "server")]
    pub stop: Option<String>,

    /// Time that the server has until it is ready
    #[arg(long, value_name = "DURATION", default_value = "30s", requires = "server", value_parser = parse_duration)]
    pub ready_limit: Duration,

    /// Time that the server has to end after SIGTERM or --stop. Then it is killed, and the run has failed
    #[arg(long, value_name = "DURATION", default_value = "30s", requires = "server", value_parser = parse_duration)]
    pub stop_limit: Duration,

    /// The user that the server runs as, for servers that refuse to run as root, such as postgres; only for root
    #[arg(long, value_name = "USER", requires = "server")]
    pub server_user: Option<String>,
}

impl From<&ServerOptions> for ServerSettings {
    fn from(options: &ServerOptions) -> ServerSettings {
        let ServerOptions { server, ready, load, stop, ready_limit, stop_limit, server_user } = options;
        ServerSettings {
            server: server.clone(),
            ready: ready.clone(),
            load: load.clone(),
            stop: stop.clone(),
            ready_limit: *ready_limit,
            stop_limit: *stop_limit,
            server_user: server_user.clone(),
        }
    }
}
