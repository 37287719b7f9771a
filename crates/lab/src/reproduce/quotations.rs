//! Tests that each quotation in the output occurs in a published report.

use super::figure::Figure;
use super::{ALL, ON_KERNELS};

/// The sentences of the reports that are quoted, as published; line breaks are blanks.
const SENTENCES: [&str; 11] = [
    // B. Hartner, lkml, 31 October 2002
    "With Mingming's patch, the test completes 10X faster.",
    "2.4.44-mm2 readprofile shows 70 % of 8 CPUs spinning on .text.lock.sem :",
    "2.5.44-mm2 + Mingming's patch shows that the spin on .text.lock.sem is gone :",
    // A. Morton, bb468c02
    "Results shows about 2-6% improvement on the average number of transactions per second.",
    // P. McKenney 2003
    "As shown in Table 4, the difference is statistically significant: not only is ipc-rcu's average three standard deviations \
     above that of the stock kernel, but ipc-rcu's smallest value of 90.4 TPS exceeds the stock kernel's median of 87.6 TPS.",
    // B. Hartner 2001
    "VolanoMark 2.1.2 - SGI Lockmeter Data for 2.4.4 and 2.4.4+MQ Scheduler Kernel",
    "The (1) runqueue_lock was utilized 76.3 % and spun for 47.4 % for a total of 4.56 of the 8 CPUs.",
    // S. Rostedt, lkml, 19 May 2008
    "On my 4way box running \"hackbench 50\" went from 18 seconds down to just under 5 seconds (4.8).",
    "Vanilla on this same box runs at 3.9 secs.",
    "This alone brought the times down by almost 60%",
    "No real performance benefits here.",
];

/// The parts of a text between quotation marks.
fn quotations(text: &str) -> impl Iterator<Item = &str> {
    text.split('"').skip(1).step_by(2)
}

/// Whether each part of a quotation stands in one of the sentences; `[…]` stands for what is left out.
fn is_exact(quotation: &str) -> bool {
    SENTENCES.iter().any(|sentence| {
        let mut rest = Some(*sentence);
        for part in quotation.split("[…]") {
            rest = rest.and_then(|rest| rest.split_once(part.trim())).map(|(_, after)| after);
        }
        rest.is_some()
    })
}

#[test]
fn quotations_of_the_output_are_exact() {
    let mut count = 0;
    for report in ALL.into_iter().chain(ON_KERNELS) {
        let mut texts: Vec<&str> = report.remarks().to_vec();
        let published = report.published();
        texts.extend(published.iter().map(|published| published.source));
        texts.extend([report.title(), report.same(), report.not_the_same()]);
        for published in &published {
            for side in [&published.before, &published.after] {
                if let Figure::Words(words) = side.figure {
                    texts.push(words);
                }
            }
        }
        for quotation in texts.into_iter().flat_map(quotations) {
            assert!(is_exact(quotation), "{}: \"{quotation}\" stands in no report", report.name());
            count += 1;
        }
    }
    assert!(count >= 9, "{count} quotations");
}

#[test]
fn shortened_quotation_needs_a_mark() {
    assert!(is_exact("the spin on .text.lock.sem is gone") && is_exact("the spin […] is gone"));
    assert!(!is_exact("the spin is gone") && !is_exact("is gone […] the spin"));
}
