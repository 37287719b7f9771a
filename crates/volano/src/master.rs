//! The master: starts server and clients, watches their progress, and judges each run by the accounts.

use crate::accounts::{Accounts, Faults};
use crate::options::Options;
use crate::process::{Ended, Process};
use crate::runner::Runner;
use crate::{Error, Figures, RunFigures, client, server};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use unspin_workloads::libc_limits;

/// How often the master checks whether messages move.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// How long the master waits for the end of the server after a client has failed: if the server was killed, the client
/// may notice that before the master does.
const GRACE: Duration = Duration::from_millis(500);

/// What a run gave: its time; or why it failed, and what was delivered.
type Outcome = Result<Duration, String>;

/// Runs the benchmark. `each` gets the figures of each run when it has ended. The calling process must have only one
/// thread.
pub fn run(options: &Options, mut each: impl FnMut(&RunFigures)) -> Result<Figures, Error> {
    options.check()?;
    libc_limits::raise_open_files(options.descriptors()).map_err(|e| {
        Error::System(format!("cannot raise the limit on descriptors to {}", options.descriptors()), e)
    })?;
    let (listener, address) = listen(options.port)?;
    let accounts = Accounts::new(options)
        .map_err(|e| Error::System("cannot map the memory for the accounts".into(), e.into()))?;
    let mut server = Process::fork("server", || serve(options, &listener, &accounts))?;
    // From now on only the server has it. So connections are refused when the server has ended.
    drop(listener);
    let mut runs = Vec::with_capacity(options.runs);
    for number in 1..=options.runs {
        accounts.clear();
        let failed = |cause: String| Error::Run(format!("run {number}: {cause}"));
        let mut client = Process::fork("client", || chat(number, options, address, &accounts))?;
        let time = watch(options, &accounts, &mut server, &mut client)?.map_err(failed)?;
        let figures = RunFigures::new(number, options, time);
        each(&figures);
        runs.push(figures);
    }
    finish(options, &mut server)?;
    Ok(Figures { runs })
}

/// The server's socket, and its address.
fn listen(port: u16) -> Result<(TcpListener, SocketAddr), Error> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    bound.and_then(|listener| listener.local_addr().map(|address| (listener, address))).map_err(|e| {
        Error::System(
            format!("--port {port}: cannot listen there (choose another port, or 0 for a free one)"),
            e,
        )
    })
}

/// The server's process.
fn serve(options: &Options, listener: &TcpListener, accounts: &Arc<Accounts>) -> Result<String, String> {
    server::serve(options, listener, accounts, &mut Runner::new(options)?).map(|()| String::new())
}

/// The client's process: tells the time in nanoseconds.
fn chat(
    number: usize,
    options: &Options,
    server: SocketAddr,
    accounts: &Arc<Accounts>,
) -> Result<String, String> {
    let time = client::chat(number as u32 - 1, options, server, accounts, &mut Runner::new(options)?)?;
    Ok(time.as_nanos().to_string())
}

/// Waits for the client's end, or until the run fails.
fn watch(
    options: &Options,
    accounts: &Accounts,
    server: &mut Process,
    client: &mut Process,
) -> Result<Outcome, Error> {
    let mut progress = (accounts.progress(), Duration::ZERO);
    loop {
        if let Some(ended) = client.ended_within(CHECK_INTERVAL)? {
            return judge(accounts, server, ended);
        }
        // After its last run the server may end while the client still reads.
        if let Some(ended) = server.ended_within(Duration::ZERO)?
            && !ended.is_success
        {
            return Ok(Err(format!("{ended}: {accounts}")));
        }
        // The checks are counted instead of the time: while all processes are stopped, no message can move.
        progress = match accounts.progress() {
            now if now == progress.0 => (now, progress.1 + CHECK_INTERVAL),
            now => (now, Duration::ZERO),
        };
        if progress.1 >= options.timeout {
            let seconds = options.timeout.as_secs_f64();
            return Ok(Err(format!("no message moved for {seconds} s (--timeout): {accounts}")));
        }
    }
}

/// The result of a run whose client has ended.
fn judge(accounts: &Accounts, server: &mut Process, client: &Ended) -> Result<Outcome, Error> {
    if !client.is_success {
        return Ok(Err(match server.ended_within(GRACE)? {
            Some(server) if !server.is_success => format!("{server}: {accounts}"),
            _ => format!("{client}: {accounts}"),
        }));
    }
    if !accounts.is_complete() {
        return Ok(Err(format!("messages were not delivered as sent: {}", Faults(accounts))));
    }
    Ok(match client.told.parse() {
        Ok(nanoseconds) => Ok(Duration::from_nanos(nanoseconds)),
        Err(_) => Err(format!("the client did not tell its time: {accounts}")),
    })
}

/// Waits until the server has ended after the last run.
fn finish(options: &Options, server: &mut Process) -> Result<(), Error> {
    let mut waited = Duration::ZERO;
    while waited < options.timeout {
        match server.ended_within(CHECK_INTERVAL)? {
            Some(ended) if ended.is_success => return Ok(()),
            Some(ended) => return Err(Error::Run(format!("after the last run: {ended}"))),
            None => waited += CHECK_INTERVAL,
        }
    }
    Err(Error::Run("after the last run: the server did not end within --timeout".into()))
}
