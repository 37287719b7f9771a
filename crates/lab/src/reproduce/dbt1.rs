//! OSDL 2002: DBT-1 on 2.5.42-mm2, without and with the patch "RCU IPC lock".

use super::experiment::{Experiment, Pair, Size, words};
use super::figure::Figure;
use super::historical_report::HistoricalReport;
use super::published::{Published, Side};
use crate::dbt1;
use crate::options::ReportChoice;
use unspin_launch::error::Error;
use unspin_locks::LockKind;
use unspin_stats::{Direction, Moments};
use unspin_trial::{Candidates, ProveCommand};

/// The report.
pub struct Dbt1;

const STOCK: Moments = Moments { count: 5, mean: 85.0, standard_deviation: 7.5 };
const RCU: Moments = Moments { count: 5, mean: 89.8, standard_deviation: 1.0 };
/// The best four of the five runs.
const STOCK_BEST: Moments = Moments { count: 4, mean: 88.15, standard_deviation: 2.8 };
const RCU_BEST: Moments = Moments { count: 4, mean: 90.2, standard_deviation: 0.5 };

impl HistoricalReport for Dbt1 {
    fn choice(&self) -> ReportChoice {
        ReportChoice::Dbt1
    }

    fn name(&self) -> &'static str {
        "dbt1"
    }

    fn title(&self) -> &'static str {
        "OSDL 2002: a database whose processes use System V semaphores, without and with RCU"
    }

    fn published(&self) -> Vec<Published> {
        let published = |what, source, [before, after]: [Moments; 2]| Published {
            what,
            source,
            cpus: 2,
            unit: "BT/s",
            direction: Direction::HigherIsBetter,
            before: Side::new("2.5.42-mm2", Figure::Moments(before)),
            after: Side::new("2.5.42-mm2-ipclock", Figure::Moments(after)),
        };
        vec![
            published("five runs", "P. McKenney 2003, table 4; A. Morton, bb468c02", [STOCK, RCU]),
            published("the best four", "A. Morton, bb468c02, table", [STOCK_BEST, RCU_BEST]),
        ]
    }

    fn remarks(&self) -> &'static [&'static str] {
        &[
            "The five raw runs stand only in a picture (McKenney 2003, figure 17). Their means and standard deviations are \
             tested. The two tables differ in one digit: 7.4 in Morton's, 7.5 in McKenney's.",
            "The worst run follows from the two means, of all runs and of the best four: 72.4 without the patch, 88.2 with it. \
             The patch made the bad run rare. The test of the spreads proves that.",
            "The report says that ipc-rcu's average is \"three standard deviations above that of the stock kernel\". It is 0.6 of \
             the stock kernel's standard deviations above it. By Welch's test five runs do not prove that the means differ.",
            "The report says \"ipc-rcu's smallest value of 90.4 TPS\". No smallest value can be above the mean, 89.8.",
            "The best four leave out the worst run, and the patch removed the worst run. So the tests of the best four only show \
             what the tables state.",
        ]
    }

    fn obstacle(&self, database: &str) -> Option<Error> {
        match database {
            "postgres" => dbt1::find_server().err(),
            _ => None,
        }
    }

    fn experiments(&self, size: Size, database: &str) -> Vec<Experiment> {
        let (load, time_budget_s) = match size {
            Size::Quick => ("--items 1000 --scale 1 --browsers 16 --warm-up 100ms --duration 300ms", 34),
            Size::Full => ("--warm-up 2s --duration 10s", 1200),
        };
        let mut command = words(&format!("dbt1 --runs 1 {load} --db"));
        command.push(database.to_owned());
        vec![Experiment {
            what: "the shop's mutexes: libc's, and adaptive ones",
            in_brief: "the shop",
            command: ProveCommand {
                time_budget_s,
                candidates: Candidates::Mutexes(&[LockKind::Adaptive]),
                metric: None,
                command,
            },
            unit: "BT/s",
            pairs: vec![Pair {
                what: "libc's mutexes (the control) → adaptive",
                before: "system",
                after: "adaptive",
            }],
        }]
    }

    fn same(&self) -> &'static str {
        "the web shop of TPC-W under emulated browsers, bogotransactions a second, a database whose clients meet in a lock; the \
         means, the spreads, and the means without the worst run are printed, as in the report"
    }

    fn not_the_same(&self) -> &'static str {
        "another lock is replaced. DBT-1 of 2002 ran SAP DB, whose processes slept on System V semaphores; the report compared their \
         one lock with RCU. SQLite and the pool of connections use pthread mutexes, so libc's are compared with adaptive ones. \
         PostgreSQL of today uses POSIX unnamed semaphores and locks of its own, no System V semaphores; with --db postgres \
         the server runs under the candidate, but its locks are no pthread mutexes. Browsers do not think here, and the shop is a \
         thread, not an HTTP server"
    }

    fn next(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("see which locks the shop waits for:", "unspin meter dbt1 --runs 1"),
            ("let unspin choose candidates:", "unspin prove --time-budget 20m dbt1 --runs 1"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::evidence;
    use super::*;

    /// The worst run and the moments of the other four give those of all five, to the printed digits.
    #[test]
    fn best_four_agree_with_all_five() {
        for (all, best, worst) in [(STOCK, STOCK_BEST, 72.4), (RCU, RCU_BEST, 88.2)] {
            let left = 5.0 * all.mean - 4.0 * best.mean;
            assert!((left - worst).abs() < 1e-9, "{left}");
            let squares = 3.0 * best.standard_deviation.powi(2) + 0.8 * (worst - best.mean).powi(2);
            let deviation = (squares / 4.0).sqrt();
            assert!((deviation - all.standard_deviation).abs() < 0.1, "{deviation}");
        }
    }

    /// Morton: "about 2-6% improvement".
    #[test]
    fn improvement_is_that_of_the_report() {
        let percent = |p: &Published| 100.0 * (p.improvement().unwrap().value - 1.0);
        let published = Dbt1.published();
        assert_eq!(format!("{:.1}", percent(&published[0])), "5.6");
        assert_eq!(format!("{:.1}", percent(&published[1])), "2.3");
    }

    #[test]
    fn spreads_are_proven_and_means_are_not() {
        let published = Dbt1.published();
        let evidence = evidence::of_all(&published);
        assert_eq!((evidence[0].proves_means(), evidence[0].proves_spread()), (Some(false), Some(true)));
        assert_eq!(evidence[0].in_brief(), "spread only");
        let sentence = evidence[0].sentences(&published[0]);
        assert!(sentence.contains("t = 1.42, 4.1 degrees of freedom"), "{sentence}");
    }

    #[test]
    fn claims_of_the_text_are_refuted_by_the_table() {
        let distance = (RCU.mean - STOCK.mean) / STOCK.standard_deviation;
        assert_eq!(format!("{distance:.1}"), "0.6");
        let smallest = 90.4;
        assert!(smallest - RCU.mean > 0.5, "no run is smaller, so that the mean cannot be");
    }
}
