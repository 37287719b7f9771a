use super::*;
use crate::counts::Counts;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Plain memory with a table in its second page. The first page contains the number of the next free page.
struct Memory {
    words: Vec<AtomicU64>,
}

impl Memory {
    fn new(pages: usize) -> Memory {
        let words: Vec<AtomicU64> = (0..pages * WORDS).map(|_| AtomicU64::new(0)).collect();
        // Relaxed: no other thread accesses it.
        words[0].store(2, Relaxed);
        Memory { words }
    }

    fn table(&self, stride: Stride) -> Table<'_> {
        Table::at(Pages::plain(&self.words), &self.words[0], 1, stride).unwrap()
    }

    fn rows(&self, stride: Stride) -> Vec<RawRow> {
        let pages = Pages::plain(&self.words);
        rows(pages, pages.page(1).unwrap(), stride).collect()
    }

    fn dropped_samples(&self) -> u64 {
        // Relaxed: the test has one thread.
        self.words[WORDS + OVERFLOWED].load(Relaxed)
    }
}

const MUTEX: u64 = 0x10 << 56;

fn sample() -> impl Strategy<Value = Sample> {
    (0usize..4, 0u64..1 << 40, 0u64..1 << 40, 0u64..1 << 40).prop_map(|(outcome, hold, spun, slept)| Sample {
        outcome: AttemptOutcome::ALL[outcome],
        hold,
        spun,
        slept,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Compares the table with a sequential model, in memory that may or may not suffice. Recorded samples are summed
    /// exactly, and dropped samples are counted exactly.
    #[test]
    fn recorded_samples_are_summed_and_dropped_samples_counted(
        samples in prop::collection::vec((1u64..600, 0u64..3, sample()), 0..2000),
        pages in prop_oneof![Just(4usize), Just(20), Just(400)],
    ) {
        let memory = Memory::new(pages);
        let table = memory.table(Stride::Whole);
        let mut model = BTreeMap::<Key, Counts>::new();
        for (lock, caller, sample) in &samples {
            let key = Key { lock: MUTEX | *lock, caller: *caller };
            table.record(key, sample);
            let mut counts = Counts::default();
            counts.add(sample);
            if sample.outcome == AttemptOutcome::Rejected {
                // A refused attempt has no hold.
                (counts.hold, counts.hold_max) = (0, 0);
            }
            model.entry(key).or_default().merge(&counts);
        }
        let mut recorded = 0;
        for row in memory.rows(Stride::Whole) {
            prop_assert_eq!(row.counts, model[&row.key]);
            prop_assert_eq!(row.holds.counts().iter().sum::<u64>(), row.counts.acquisitions());
            prop_assert_eq!(row.waits.counts().iter().sum::<u64>() >= row.counts.gave_up, true);
            recorded += row.counts.attempts();
        }
        prop_assert_eq!(recorded + memory.dropped_samples(), samples.len() as u64);
    }
}

#[test]
fn ten_thousand_locks_have_one_row_each() {
    for stride in [Stride::Counts, Stride::Whole] {
        let memory = Memory::new(16_384);
        let table = memory.table(stride);
        for round in 0..2 {
            for lock in 1..=10_000 {
                let key = Key { lock: MUTEX | lock << 4, caller: lock % 7 };
                assert_eq!(table.find(key).is_some(), round == 1);
                table.count_attempt(table.find(key).or_else(|| table.publish(key)).unwrap());
            }
        }
        let rows = memory.rows(stride);
        assert_eq!(rows.len(), 10_000);
        assert!(
            rows.iter()
                .all(|row| row.counts.nowait == 2 && row.key.caller == (row.key.lock & !MUTEX) / 16 % 7)
        );
    }
}

#[test]
fn full_table_sums_up_by_caller() {
    let memory = Memory::new(8_200);
    let table = memory.table(Stride::Counts);
    let more = 1000;
    for lock in 1..=(KEYS + more) as u64 {
        let key = Key { lock: MUTEX | lock << 4, caller: lock % 2 };
        table.count_attempt(table.find(key).or_else(|| table.publish(key)).unwrap());
    }
    let rows = memory.rows(Stride::Counts);
    let others: Vec<&RawRow> = rows.iter().filter(|row| row.key.address() == 0).collect();
    assert_eq!((rows.len(), others.len(), memory.dropped_samples()), (KEYS + 2, 2, 0));
    assert_eq!(others.iter().map(|row| row.counts.nowait).sum::<u64>(), more as u64);
}

/// A signal handler that interrupts the addition of a row adds none, and its sample is counted as dropped.
#[test]
fn signal_handler_within_publish_adds_no_row() {
    let memory = Memory::new(40);
    let table = memory.table(Stride::Whole);
    table.publishing.set(true);
    let key = Key { lock: MUTEX | 8, caller: 0 };
    assert_eq!(table.publish(key), None);
    table.record(key, &Sample { outcome: AttemptOutcome::Spun, hold: 3, spun: 2, slept: 0 });
    assert_eq!((memory.dropped_samples(), memory.rows(Stride::Whole).len()), (1, 0));
    table.publishing.set(false);
    assert!(table.publish(key).is_some());
}
