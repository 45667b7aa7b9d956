// SPDX-License-Identifier: Apache-2.0
//! The statistics of one block.

/// One-way times in ns of one block of round trips.
pub struct Summary {
    pub n: usize,
    pub central: f64,
    pub median: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
}

/// Sorts the round trips (ticks) and summarises them as one-way ns; `None` for an empty block.
pub fn summarise(round_trips: &mut [u64], ticks_per_ns: f64) -> Option<Summary> {
    round_trips.sort_unstable();
    let n = round_trips.len();
    let max = *round_trips.last()?;
    let one_way = |ticks: f64| ticks / 2.0 / ticks_per_ns;
    // Nearest rank, in integers: the value that at least per_mille / 1000 of the samples do not exceed.
    let rank = |per_mille: usize| one_way(round_trips[(n * per_mille).div_ceil(1000).max(1) - 1] as f64);
    // The mean of the central half: finer than the counter's step, unlike a median, and blind to preemptions.
    let half = &round_trips[n / 4..(n - n / 4)];
    let central = half.iter().sum::<u64>() as f64 / half.len() as f64;
    Some(Summary {
        n,
        central: one_way(central),
        median: rank(500),
        p99: rank(990),
        p999: rank(999),
        max: one_way(max as f64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_to_a_thousand() {
        let mut trips: Vec<u64> = (1..=1000).rev().map(|t| 2 * t).collect();
        let s = summarise(&mut trips, 1.0).unwrap();
        assert_eq!((s.n, s.median, s.p99, s.p999, s.max), (1000, 500.0, 990.0, 999.0, 1000.0));
        assert_eq!(s.central, 500.5);
    }

    #[test]
    fn small_blocks() {
        assert!(summarise(&mut [], 1.0).is_none());
        let s = summarise(&mut [6], 3.0).unwrap();
        assert_eq!((s.n, s.central, s.median, s.max), (1, 1.0, 1.0, 1.0));
    }

    #[test]
    fn outliers_leave_the_central_mean_alone() {
        let s = summarise(&mut [20, 20, 20, 1_000_000, 20, 20, 20, 20], 1.0).unwrap();
        assert_eq!((s.central, s.max), (10.0, 500_000.0));
    }
}
