//! The command line.

use crate::contender::{Contender, Glibc, GlibcPi, ParkingLot, Std, by_kind};
use crate::workload::{Place, Point};
use core::str::FromStr;
use core::time::Duration;

pub struct Options {
    threads: Vec<usize>,
    hold_ns: Vec<u64>,
    think_ns: Vec<u64>,
    locks: Vec<String>,
    against: String,
    place: Place,
    pub rounds: usize,
    pub time: Duration,
}

impl Options {
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
        let mut options = Options {
            threads: vec![1, 2, 4, 16, 64],
            hold_ns: vec![0, 100, 1_000, 10_000, 100_000],
            think_ns: vec![0, 100, 1_000, 10_000],
            locks: list("adaptive,parking_lot,std")?,
            against: "glibc".to_owned(),
            place: Place::Spread,
            rounds: 5,
            time: Duration::from_millis(100),
        };
        while let Some(option) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{option} needs a value"))?;
            match option.as_str() {
                "--threads" => options.threads = list(&value)?,
                "--hold" => options.hold_ns = list(&value)?,
                "--think" => options.think_ns = list(&value)?,
                "--locks" => options.locks = list(&value)?,
                "--against" => options.against = value,
                "--place" => options.place = place(&value)?,
                "--rounds" => options.rounds = number(&value)?,
                "--ms" => options.time = Duration::from_millis(number(&value)?),
                _ => {
                    return Err(format!(
                        "{option} is no option; there are --threads, --hold, --think, --locks, --against, --place, --rounds and --ms"
                    ));
                }
            }
        }
        if let Some(unknown) =
            options.locks.iter().chain([&options.against]).find(|name| contender(name).is_none())
        {
            return Err(format!(
                "{unknown} is no lock; there are glibc, parking_lot, std, and the kinds of `unspin run --mutex`"
            ));
        }
        if options.rounds == 0 || options.time.is_zero() || options.threads.contains(&0) {
            return Err("at least one round, one millisecond and one thread".to_owned());
        }
        Ok(options)
    }

    /// All combinations of the options' values.
    pub fn points(&self) -> impl Iterator<Item = Point> {
        let per_thread = move |&threads: &usize| {
            self.hold_ns.iter().flat_map(move |&hold_ns| {
                self.think_ns.iter().map(move |&think_ns| Point {
                    threads,
                    hold_ns,
                    think_ns,
                    place: self.place,
                })
            })
        };
        self.threads.iter().flat_map(per_thread)
    }

    /// The reference, then the requested locks.
    pub fn contenders(&self) -> Vec<Box<dyn Contender>> {
        [&self.against].into_iter().chain(&self.locks).filter_map(|name| contender(name)).collect()
    }
}

fn contender(name: &str) -> Option<Box<dyn Contender>> {
    match name {
        "parking_lot" => Some(Box::new(ParkingLot)),
        "std" => Some(Box::new(Std)),
        "glibc" => Some(Box::new(Glibc)),
        "pi" => Some(Box::new(GlibcPi)),
        _ => by_kind(name.parse().ok()?),
    }
}

fn place(name: &str) -> Result<Place, String> {
    match name {
        "spread" => Ok(Place::Spread),
        "free" => Ok(Place::Free),
        _ => Err(format!("{name} is no place: spread or free")),
    }
}

fn list<T: FromStr>(text: &str) -> Result<Vec<T>, String> {
    text.split(',').map(number).collect()
}

fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text} is not what it should be"))
}
