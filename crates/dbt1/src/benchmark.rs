//! The benchmark on the database that the options name.

use crate::Error;
use crate::database::{Database, Failure};
use crate::figures::Figures;
use crate::options::{DatabaseChoice, Options};
use crate::postgres::Postgres;
use crate::runs::{self, Event};
use crate::server::Cluster;
use crate::sqlite::Sqlite;
use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use tokio_postgres::Config;

/// The name of an SQLite database in its folder.
const SQLITE_FILE: &str = "dbt1.sqlite";

/// A populated database, for several benchmarks.
#[derive(Debug)]
pub enum Prepared {
    /// The file of SQLite.
    Sqlite(PathBuf),
    /// A PostgreSQL cluster, on which no server runs.
    Postgres(Cluster),
}

/// Makes and populates the database that the options name, in `folder` unless they name a file. A running server cannot be
/// prepared. Returns when nothing runs any more. When `stop` is set, it ends soon.
pub fn prepare(options: &Options, folder: &Path, stop: &AtomicBool) -> Result<Prepared, Error> {
    options.check().map_err(Error::Option)?;
    match &options.database {
        DatabaseChoice::Sqlite(file) => {
            let file = file.clone().unwrap_or_else(|| folder.join(SQLITE_FILE));
            runs::ensure_populated(options, &Sqlite::new(&file, options.durability), stop, &mut |_| ())?;
            Ok(Prepared::Sqlite(file))
        }
        DatabaseChoice::PrivatePostgres => {
            let cluster = Cluster::make(folder)?;
            let server = cluster.start(options, stop)?;
            let database =
                Postgres::reach(server.config(), options.durability, stop).map_err(Error::database);
            let populated = database.and_then(|database| {
                runs::ensure_populated(options, &database, stop, &mut |_| ())?;
                // The server would do it during the first runs.
                let mut session = database.connect().map_err(Error::database)?;
                session.run_script("CHECKPOINT").map_err(Error::database)
            });
            populated.map_err(|error| server.explain(error))?;
            Ok(Prepared::Postgres(cluster))
        }
        DatabaseChoice::Postgres(url) => {
            Err(Error::Option(format!("--db {url}: a server that runs already cannot be prepared")))
        }
    }
}

/// Runs the benchmark. A database of its own is made in `folder`, which is empty. When `stop` is set, it ends soon.
pub fn benchmark(
    options: &Options,
    folder: &Path,
    stop: &AtomicBool,
    observer: &mut dyn FnMut(Event<'_>),
) -> Result<Figures, Error> {
    options.check().map_err(Error::Option)?;
    let mut run = |database: &dyn Database| runs::run(options, database, stop, observer);
    match &options.database {
        DatabaseChoice::Sqlite(file) => {
            let file = file.clone().unwrap_or_else(|| folder.join(SQLITE_FILE));
            run(&Sqlite::new(&file, options.durability))
        }
        DatabaseChoice::Postgres(url) => {
            let config: Config = url.parse().map_err(|error: tokio_postgres::Error| {
                let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                Error::Option(format!("--db {url}: {cause}: give postgres://USER@HOST/DATABASE"))
            })?;
            let database =
                Postgres::reach(config, options.durability, stop).map_err(|failure| match failure {
                    Failure::Interrupted => Error::Interrupted,
                    Failure::Lost(text) => Error::Run(format!("--db {url}: no server answers: {text}")),
                    other => Error::Run(format!("--db {url}: {other}")),
                })?;
            run(&database)
        }
        DatabaseChoice::PrivatePostgres => {
            let server = Cluster::make(folder)?.start(options, stop)?;
            let database =
                Postgres::reach(server.config(), options.durability, stop).map_err(Error::database);
            let figures = database.and_then(|database| run(&database));
            figures.map_err(|error| server.explain(error))
        }
    }
}
