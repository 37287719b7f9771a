//! Compares locks: throughput as a ratio to glibc's normal mutex, measured in turns within one run.
//!
//! ```text
//! cargo run --release -p unspin-locks --example timing -- [--threads 1,2,4,16,64] [--hold 0,100,...] [--think 0,...]
//!     [--locks adaptive,parking_lot,std,...] [--against glibc] [--place spread|free] [--rounds 5] [--ms 100]
//! ```
//!
//! Hold and think times are nanoseconds of work, not of clock time, so time lost by preemption is not part of them.
//! Each round measures every lock once, in an order that rotates. A cell is the median of the rounds' ratios, with the
//! minimum and the maximum beside it. `share` is the slowest thread's fraction of a fair share, as the median of the
//! rounds.

mod contender;
mod options;
mod workload;

use options::Options;
use workload::{Point, Work};

fn main() {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("timing: {error}");
            std::process::exit(2);
        }
    };
    let work = Work::calibrate();
    println!("{:>7} {:>8} {:>8}  {:>12}", "threads", "hold ns", "think ns", "reference");
    for point in options.points() {
        let measured = measure(&options, &work, point);
        print(&options, point, &measured);
    }
}

/// The results of one lock, one entry per round.
struct Rounds {
    /// Acquire-release pairs per nanosecond.
    throughput: Vec<f64>,
    share: Vec<f64>,
}

/// The results of every contender, the reference first.
fn measure(options: &Options, work: &Work, point: Point) -> Vec<Rounds> {
    let contenders = options.contenders();
    let mut all: Vec<_> =
        contenders.iter().map(|_| Rounds { throughput: Vec::new(), share: Vec::new() }).collect();
    for round in 0..options.rounds {
        for turn in 0..contenders.len() {
            let which = (turn + round) % contenders.len();
            let run = contenders[which].run(work, point, options.time);
            let counts = run.counts;
            let total: u64 = counts.iter().sum();
            let slowest = counts.iter().min().copied().unwrap_or(0);
            all[which].throughput.push(total as f64 / run.took.as_nanos() as f64);
            all[which].share.push(slowest as f64 * counts.len() as f64 / total.max(1) as f64);
        }
    }
    all
}

fn print(options: &Options, point: Point, measured: &[Rounds]) {
    let reference = &measured[0];
    let pair = 1.0 / median(reference.throughput.clone());
    print!("{:>7} {:>8} {:>8}  {:>9.1} ns", point.threads, point.hold_ns, point.think_ns, pair);
    print!("  share {:.2}", median(reference.share.clone()));
    for (contender, rounds) in options.contenders().iter().zip(measured).skip(1) {
        let mut ratios: Vec<f64> =
            rounds.throughput.iter().zip(&reference.throughput).map(|(ours, theirs)| ours / theirs).collect();
        ratios.sort_by(f64::total_cmp);
        let (least, most) = (ratios[0], ratios[ratios.len() - 1]);
        print!("  | {} {:.2} ({least:.2}..{most:.2})", contender.name(), median(ratios));
        if point.threads == 1 {
            print!(" {:+.1} ns", 1.0 / median(rounds.throughput.clone()) - pair);
        } else {
            print!(" share {:.2}", median(rounds.share.clone()));
        }
    }
    println!();
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
