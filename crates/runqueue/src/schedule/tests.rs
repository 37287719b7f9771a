//! The formulas of the kernel.

use super::{Goodness, Nice, Priority, SLICE_MAX, Schedule, WorkerId};

const HERE: WorkerId = WorkerId::new(3);
const ELSEWHERE: WorkerId = WorkerId::new(4);

#[test]
fn slices_are_those_of_nice_to_ticks_at_100_hertz() {
    let ticks = [-20, -19, -16, -4, 0, 1, 4, 16, 17, 19].map(|nice| Nice::new(nice).ticks());
    assert_eq!(ticks, [11, 10, 10, 7, 6, 5, 5, 2, 1, 1]);
    assert_eq!((Nice::new(-99), Nice::new(99)), (Nice::LOWEST, Nice::HIGHEST));
}

#[test]
fn goodness_has_the_terms_of_the_kernel() {
    let task = Schedule::normal(Nice::new(-5)).start_on(HERE, 0);
    assert_eq!(task.goodness(ELSEWHERE), Goodness(7 + 25));
    assert_eq!(task.goodness(HERE), Goodness(7 + 25 + 15));
    assert_eq!(task.charge(6).goodness(HERE), Goodness(1 + 25 + 15));
    assert_eq!(task.charge(7).goodness(HERE), Goodness::SPENT);
    let urgent = Schedule::new(Priority::RealTime(1), Nice::HIGHEST).start_on(HERE, 0).charge(1_000);
    assert_eq!((urgent.goodness(HERE), urgent.goodness(ELSEWHERE)), (Goodness(1001), Goodness(1001)));
    assert!(Schedule::new(Priority::RealTime(255), Nice::DEFAULT).goodness(HERE) == Goodness(1099));
}

#[test]
fn task_that_has_not_run_has_the_bonus_everywhere() {
    let task = Schedule::normal(Nice::DEFAULT);
    assert_eq!(task.goodness(HERE), task.goodness(ELSEWHERE));
    assert_eq!(task.goodness(HERE), task.plain_goodness().with_affinity());
}

#[test]
fn sleepers_slice_grows_to_almost_two_slices() {
    for nice in -20..=19 {
        let task = Schedule::normal(Nice::new(nice)).charge(100);
        let mut one_by_one = task;
        for times in 0..20 {
            assert_eq!(task.recalculate(times).slice(), one_by_one.slice(), "{nice} {times}");
            one_by_one = one_by_one.recalculate(1);
        }
        assert!(one_by_one.slice() < 2 * Nice::new(nice).ticks() && one_by_one.slice() <= SLICE_MAX);
    }
    assert_eq!(Schedule::normal(Nice::LOWEST).recalculate(u32::MAX).slice(), SLICE_MAX);
}

#[test]
fn recalculations_are_counted_across_the_wrap_of_the_epoch() {
    let task = Schedule::normal(Nice::DEFAULT).charge(6).start_on(HERE, u32::MAX);
    assert_eq!(task.recalculate_to(u32::MAX).slice(), 0);
    assert_eq!(task.recalculate_to(u32::MAX.wrapping_add(1)).slice(), 6);
    assert_eq!(task.recalculate_to(u32::MAX.wrapping_add(2)).slice(), 9);
}

#[test]
fn word_keeps_every_field() {
    for nice in [-20, 0, 19] {
        for priority in [Priority::Normal, Priority::RealTime(99)] {
            let task = Schedule::new(priority, Nice::new(nice));
            let ran = task.charge(1).start_on(WorkerId::new(WorkerId::MAX - 1), u32::MAX);
            assert_eq!(Schedule::from_word(task.to_word()), task);
            assert_eq!(Schedule::from_word(ran.to_word()), ran);
        }
    }
}
