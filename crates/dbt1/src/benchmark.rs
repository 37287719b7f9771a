//! The benchmark on the database that the options name.

use crate::Error;
use crate::database::{Database, Failure};
use crate::figures::Figures;
use crate::options::{DatabaseChoice, Options};
use crate::postgres::Postgres;
use crate::runs::{self, Event};
use crate::server::Server;
use crate::sqlite::Sqlite;
use postgres::Config;
use std::error::Error as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;

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
            let file = file.clone().unwrap_or_else(|| folder.join("dbt1.sqlite"));
            run(&Sqlite::new(&file, options.durability))
        }
        DatabaseChoice::Postgres(url) => {
            let config: Config = url.parse().map_err(|error: postgres::Error| {
                let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                Error::Option(format!("--db {url}: {cause}: give postgres://USER@HOST/DATABASE"))
            })?;
            let database = Postgres::reach(config, options.durability).map_err(|failure| match failure {
                Failure::Lost(text) => Error::Run(format!("--db {url}: no server answers: {text}")),
                other => Error::Run(format!("--db {url}: {other}")),
            })?;
            run(&database)
        }
        DatabaseChoice::PrivatePostgres => {
            let server = Server::start(folder, options, stop)?;
            let database = Postgres::reach(server.config(), options.durability).map_err(Error::database);
            let figures = database.and_then(|database| run(&database));
            figures.map_err(|error| server.explain(error))
        }
    }
}
