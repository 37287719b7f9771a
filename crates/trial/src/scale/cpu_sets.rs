//! The numbers of CPUs: those to measure on, and those to predict.

use unspin_launch::error::Error;
use unspin_sys::sched;

/// The numbers of CPUs of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuSets {
    /// The CPUs that unspin may use, by their numbers in the system.
    pub allowed: Vec<usize>,
    /// Numbers of CPUs to measure on, in ascending order; the first is 1.
    pub measured: Vec<u32>,
    /// Numbers of CPUs to predict.
    pub predicted: Vec<u32>,
}

impl CpuSets {
    /// Those that the command line names, on this machine.
    pub fn of(measured: &[u32], predicted: &[u32]) -> Result<CpuSets, Error> {
        CpuSets::on(sched::allowed_cpus(), measured, predicted)
    }

    fn on(allowed: Vec<usize>, measured: &[u32], predicted: &[u32]) -> Result<CpuSets, Error> {
        let here = allowed.len().max(1) as u32;
        let sorted = |list: &[u32]| {
            let mut sorted = list.to_vec();
            sorted.sort_unstable();
            sorted.dedup();
            sorted
        };
        let measured = match measured {
            [] => {
                let mut doubled: Vec<u32> =
                    (0..32).map(|n| 1 << n).take_while(|cpus| *cpus <= here).collect();
                if !doubled.contains(&here) {
                    doubled.push(here);
                }
                doubled
            }
            named => sorted(named),
        };
        if let Some(too_many) = measured.iter().find(|cpus| **cpus > here) {
            return Err(Error::Usage(format!(
                "--cpus {too_many}: this process may use {here} CPUs: measure on up to {here}, and give {too_many} to --predict"
            )));
        }
        if measured.first() != Some(&1) {
            return Err(Error::Usage(
                "--cpus: the model begins with one CPU: put 1 into the list, such as --cpus 1,2".into(),
            ));
        }
        let predicted = sorted(predicted).into_iter().filter(|cpus| !measured.contains(cpus)).collect();
        Ok(CpuSets { allowed, measured, predicted })
    }

    /// The first `cpus` of the CPUs that may be used.
    pub fn first(&self, cpus: u32) -> &[usize] {
        &self.allowed[..(cpus as usize).min(self.allowed.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_powers_of_two_and_the_whole_machine_are_measured() {
        let measured = |cpus: usize| CpuSets::on((0..cpus).collect(), &[], &[4, 8, 16]).unwrap().measured;
        assert_eq!([measured(1), measured(2), measured(6)], [vec![1], vec![1, 2], vec![1, 2, 4, 6]]);
    }

    #[test]
    fn measured_numbers_are_not_predicted() {
        let sets = CpuSets::on((0..4).collect(), &[4, 1, 4], &[16, 4, 2]).unwrap();
        assert_eq!((sets.measured, sets.predicted), (vec![1, 4], vec![2, 16]));
    }

    #[test]
    fn impossible_numbers_name_the_remedy() {
        let error = |measured: &[u32]| CpuSets::on(vec![3, 5], measured, &[]).unwrap_err().to_string();
        assert!(error(&[1, 4]).contains("give 4 to --predict"));
        assert!(error(&[2]).contains("such as --cpus 1,2"));
    }
}
