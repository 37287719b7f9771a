//! Tests of the policy against simulated machines with known costs.

use super::*;

/// The cost of a wake-up, in ticks. A check takes [`LOOK`].
const WAKE_UP: u64 = 100_000;
const LOOK: u64 = 500;
const PARAMETERS: PollParameters = PollParameters { wake_up: WAKE_UP, ready: 4_000 };

/// The total cost of the waits.
#[derive(Default, Debug)]
struct Bill {
    waits: u64,
    /// Ticks of polling.
    polled: u64,
    /// Number of wake-ups.
    slept: u64,
    /// Time at which the last wait ended.
    elapsed: u64,
}

impl Bill {
    /// The cost that competitive spinning minimises: the time of polling, and one wake-up for each sleep.
    fn cost(&self) -> u64 {
        self.polled + self.slept * WAKE_UP
    }
}

/// Simulates one wait that begins at `now`; its answer is ready `after` ticks later. Returns the time at which the wait
/// ends. Without a site the thread polls for `fixed` ticks, else as the site decides.
fn wait(site: Option<&SiteHistory>, fixed: u64, now: u64, after: u64, bill: &mut Bill) -> u64 {
    let decision = site.map_or(WaitDecision::Poll(fixed), |site| site.decide(&PARAMETERS));
    bill.waits += 1;
    let asleep = |from: u64| from.max(now + after) + WAKE_UP;
    let end = match decision {
        WaitDecision::Sleep | WaitDecision::TimedSleep | WaitDecision::Poll(0) => {
            bill.slept += 1;
            asleep(now)
        }
        WaitDecision::Poll(budget) if after <= budget => {
            bill.polled += after;
            now + after.max(LOOK)
        }
        WaitDecision::Poll(budget) => {
            bill.polled += budget;
            bill.slept += 1;
            asleep(now + budget)
        }
    };
    if let Some(site) = site {
        match decision {
            WaitDecision::Sleep => {}
            WaitDecision::TimedSleep => site.report_sleep(&PARAMETERS, end - now, end, Some(1)),
            WaitDecision::Poll(budget) if after <= budget => {
                site.report_poll(&PARAMETERS, end - now, end, Some(1))
            }
            WaitDecision::Poll(budget) => {
                site.report_failed_poll(&PARAMETERS, budget, end - now, end, Some(1))
            }
        }
    }
    bill.elapsed = end;
    end
}

/// Pseudo-random numbers (SplitMix: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

/// Simulates waits that are independent of what the thread does. `draw` returns how long after its beginning a wait's
/// answer is ready.
fn independent(
    waits: u64,
    site: Option<&SiteHistory>,
    fixed: u64,
    mut draw: impl FnMut(&mut Random) -> u64,
) -> Bill {
    let (mut bill, mut random, mut now) = (Bill::default(), Random(7), 1_000_000);
    for _ in 0..waits {
        now = wait(site, fixed, now + 2_000, draw(&mut random), &mut bill);
    }
    bill
}

/// Simulates two threads that answer each other, after `work` ticks. Each has its own site, and so its trials begin at
/// its own time.
fn ping_pong(rounds: u64, work: u64, sites: [Option<&SiteHistory>; 2], fixed: u64) -> [Bill; 2] {
    let mut bills = [Bill::default(), Bill::default()];
    // When each thread began to wait, and when the answer to it was given.
    let (mut began, mut answered) = ([1_000_000, 0], 1_000_000 + work);
    for round in 0..2 * rounds {
        let me = (round % 2) as usize;
        let end = wait(sites[me], fixed, began[me], answered - began[me].min(answered), &mut bills[me]);
        // The thread works, answers the other thread, and waits again.
        answered = end + work;
        began[me] = answered;
        if round == 0 {
            began[1] = 1_000_000;
        }
    }
    bills
}

#[test]
fn ping_pong_partners_learn_to_poll() {
    let sites = [SiteHistory::default(), SiteHistory::default()];
    let learnt = ping_pong(20_000, 1_500, [Some(&sites[0]), Some(&sites[1])], 0);
    let asleep = ping_pong(20_000, 1_500, [None, None], 0);
    let gain = asleep[0].elapsed as f64 / learnt[0].elapsed as f64;
    assert!(gain > 20.0, "{gain}: {learnt:?}");
}

/// The second thread has rested for a long time when the first begins to poll.
#[test]
fn ping_pong_partners_with_different_starts_learn_to_poll() {
    let sites = [SiteHistory::default(), SiteHistory::default()];
    independent(5_000, Some(&sites[1]), 0, |_| 50 * WAKE_UP);
    let learnt = ping_pong(50_000, 1_500, [Some(&sites[0]), Some(&sites[1])], 0);
    let asleep = ping_pong(50_000, 1_500, [None, None], 0);
    let gain = asleep[0].elapsed as f64 / learnt[0].elapsed as f64;
    assert!(gain > 10.0, "{gain}: {learnt:?}");
}

#[test]
fn polling_pays_or_stops_beside_a_partner_that_never_polls() {
    let site = SiteHistory::default();
    let learnt = ping_pong(20_000, 1_500, [Some(&site), None], 0);
    let asleep = ping_pong(20_000, 1_500, [None, None], 0);
    assert!(learnt[0].elapsed <= asleep[0].elapsed, "{learnt:?}");
    assert!(learnt[0].cost() <= 2 * asleep[0].cost(), "{learnt:?}");
}

#[test]
fn long_waits_have_little_overhead() {
    let site = SiteHistory::default();
    let bill = independent(10_000, Some(&site), 0, |_| 100 * WAKE_UP);
    assert!(bill.polled * 10_000 < bill.elapsed, "{bill:?}");
}

/// A server that was busy is idle now.
#[test]
fn site_stops_polling_within_a_few_long_waits() {
    let site = SiteHistory::default();
    independent(2_000, Some(&site), 0, |_| 2_000);
    assert_eq!(site.phase.get(), Phase::Polling);
    let bill = independent(40, Some(&site), 0, |_| 1_000 * WAKE_UP);
    assert!(bill.polled <= 10 * WAKE_UP, "{bill:?}");
}

#[test]
fn no_distribution_costs_more_than_twice_the_best_fixed_budget() {
    type Draw = fn(&mut Random) -> u64;
    let distributions: [(&str, Draw); 8] = [
        ("always short", |_| WAKE_UP / 20),
        ("half a wake-up", |_| WAKE_UP / 2),
        ("one wake-up", |_| WAKE_UP),
        ("two wake-ups", |_| 2 * WAKE_UP),
        ("uniform to two", |random| random.below(2 * WAKE_UP)),
        ("uniform to eight", |random| random.below(8 * WAKE_UP)),
        ("short or long, one to one", |random| if random.below(2) == 0 { 3_000 } else { 50 * WAKE_UP }),
        ("short or long, one to nine", |random| if random.below(10) == 0 { 3_000 } else { 50 * WAKE_UP }),
    ];
    for (name, draw) in distributions {
        let site = SiteHistory::default();
        let learnt = independent(20_000, Some(&site), 0, draw).cost();
        let budgets = (0..=40).map(|tenth| tenth * WAKE_UP / 10);
        let best = budgets.map(|budget| independent(20_000, None, budget, draw).cost()).min().unwrap();
        assert!(learnt <= 2 * best, "{name}: {learnt} instead of {best}");
    }
}

/// A server under load. If it sleeps it collects ten requests, which take less time together. If it polls it serves
/// them one by one.
#[test]
fn batching_server_keeps_sleeping() {
    let site = SiteHistory::default();
    let (mut now, mut polls, mut waits) = (1_000_000, 0u64, 0u64);
    for _ in 0..20_000 {
        waits += 1;
        match site.decide(&PARAMETERS) {
            WaitDecision::Poll(_) => {
                polls += 1;
                // One request after a short wait; serving it costs a call of its own.
                now += 8_000;
                site.report_poll(&PARAMETERS, 6_000, now, Some(1));
                now += 12_000;
            }
            decision => {
                now += WAKE_UP;
                if decision == WaitDecision::TimedSleep {
                    site.report_sleep(&PARAMETERS, WAKE_UP, now, Some(10));
                }
                now += 10 * 6_000;
            }
        }
    }
    assert!(polls * 20 < waits, "{polls} of {waits}");
}

/// A known-bad policy: one that always polls fails the check that the real policy passes.
#[test]
fn planted_blind_polling_costs_more_than_twice_the_best_fixed_budget() {
    let long = |_: &mut Random| 50 * WAKE_UP;
    let blind = independent(1_000, None, 3 * WAKE_UP, long).cost();
    let best = independent(1_000, None, 0, long).cost();
    assert!(blind > 2 * best);
}

/// The hypervisor took the CPU for a while during the poll.
#[test]
fn single_gap_during_a_poll_does_not_end_polling() {
    let site = SiteHistory::default();
    independent(2_000, Some(&site), 0, |_| 2_000);
    site.report_poll(&PARAMETERS, 1_000 * WAKE_UP, 1 << 40, None);
    assert_ne!(site.phase.get(), Phase::Resting);
}

/// Both partners poll: a thread that sleeps for a trial gets its answer before it is asleep.
#[test]
fn trial_without_difference_leaves_a_site_polling() {
    let site = SiteHistory::default();
    independent(2_000, Some(&site), 0, |_| 2_000);
    let (mut now, mut rested) = (1 << 40, 0);
    for _ in 0..100_000 {
        now += 1_500;
        match site.decide(&PARAMETERS) {
            WaitDecision::Poll(_) => site.report_poll(&PARAMETERS, 1_000, now, None),
            WaitDecision::TimedSleep => site.report_sleep(&PARAMETERS, 900, now, None),
            WaitDecision::Sleep => rested += 1,
        }
    }
    assert_eq!(rested, 0);
}

/// As above, but the trial shows harm: the partner holds a mutex for longer because it has no CPU to run on. Polling
/// ends.
#[test]
fn harmful_trial_ends_polling() {
    let site = SiteHistory::default();
    independent(2_000, Some(&site), 0, |_| 2_000);
    let (mut now, mut slept) = (1 << 40, 0);
    for _ in 0..100_000 {
        now += WAKE_UP;
        match site.decide(&PARAMETERS) {
            WaitDecision::Poll(_) => site.report_poll(&PARAMETERS, WAKE_UP / 2, now, None),
            WaitDecision::TimedSleep => site.report_sleep(&PARAMETERS, WAKE_UP / 4, now, None),
            WaitDecision::Sleep => slept += 1,
        }
    }
    assert!(slept > 90_000, "{slept}");
}

#[test]
fn ready_calls_end_a_trial() {
    let site = SiteHistory::default();
    (0..=READY_MAX).for_each(|_| site.report_ready(1));
    assert_eq!(site.decide(&PARAMETERS), WaitDecision::Sleep);
}

#[test]
fn cpu_pressure_ends_a_trial_and_drains_the_credit() {
    let site = SiteHistory::default();
    independent(2_000, Some(&site), 0, |_| 2_000);
    assert_eq!(site.phase.get(), Phase::Polling);
    (0..40).for_each(|_| site.report_cpu_needed(&PARAMETERS));
    assert_eq!(site.phase.get(), Phase::Resting);
}
