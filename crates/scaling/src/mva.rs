//! Mean value analysis of closed networks with one class of customers.
//!
//! Customers circulate between stations; outside them they spend a *think* time. [`exact`] is exact for stations with
//! product form (exponential service in order of arrival, or processor sharing). [`schweitzer`] replaces the recursion
//! over the number of customers by a fixed point. [`multi_server`] splits a station of m servers into a single server
//! that is m times as fast and a delay (Seidmann et al. 1987).

/// Demand of one customer at each station, in seconds, and its think time.
#[derive(Clone, PartialEq, Debug)]
pub struct ClosedNetwork {
    /// Time outside the stations, in seconds.
    pub think_s: f64,
    /// Service demand at each single-server station, in seconds.
    pub demands_s: Vec<f64>,
}

/// The solution for one number of customers.
#[derive(Clone, PartialEq, Debug)]
pub struct NetworkState {
    /// Customers that complete a cycle a second.
    pub throughput: f64,
    /// Mean number of customers at each station, including the one in service.
    pub at_station: Vec<f64>,
}

/// Relative change at which Schweitzer's fixed point ends.
const TOLERANCE: f64 = 1e-12;
/// Bound on its iterations.
const ITERATIONS: usize = 100_000;

/// The exact solution.
///
/// ```
/// use unspin_scaling::mva::{ClosedNetwork, exact};
/// // Two CPUs that think 1 us and hold a lock for 1 us: M/M/1//2.
/// let network = ClosedNetwork { think_s: 1e-6, demands_s: vec![1e-6] };
/// assert!((exact(&network, 2).throughput - 0.8e6).abs() < 1e-3);
/// ```
pub fn exact(network: &ClosedNetwork, customers: u32) -> NetworkState {
    let mut state = NetworkState { throughput: 0.0, at_station: vec![0.0; network.demands_s.len()] };
    for n in 1..=customers {
        // The arrival theorem: a customer finds what a network with one customer fewer shows on average.
        state = network.step(f64::from(n), &state.at_station);
    }
    state
}

/// Schweitzer's approximation: with one customer fewer each queue is shorter in proportion.
pub fn schweitzer(network: &ClosedNetwork, customers: u32) -> NetworkState {
    let n = f64::from(customers);
    let stations = network.demands_s.len();
    let mut state = NetworkState { throughput: 0.0, at_station: vec![n / stations.max(1) as f64; stations] };
    for _ in 0..ITERATIONS {
        let found: Vec<f64> = state.at_station.iter().map(|q| q * (n - 1.0) / n).collect();
        let next = network.step(n, &found);
        let change = (next.throughput - state.throughput).abs();
        state = next;
        if change <= TOLERANCE * state.throughput {
            break;
        }
    }
    state
}

/// Seidmann's replacement of a station of `servers` servers: a demand and an additional think time.
pub fn multi_server(demand_s: f64, servers: u32) -> (f64, f64) {
    let servers = f64::from(servers);
    (demand_s / servers, demand_s * (servers - 1.0) / servers)
}

impl ClosedNetwork {
    /// One step of the recursion: `customers` customers that find `found` others at the stations.
    fn step(&self, customers: f64, found: &[f64]) -> NetworkState {
        let residence: Vec<f64> =
            self.demands_s.iter().zip(found).map(|(demand, found)| demand * (1.0 + found)).collect();
        let throughput = customers / (self.think_s + residence.iter().sum::<f64>());
        NetworkState { throughput, at_station: residence.iter().map(|time| throughput * time).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_customer_never_queues() {
        let network = ClosedNetwork { think_s: 3.0, demands_s: vec![1.0, 2.0] };
        assert!((exact(&network, 1).throughput - 1.0 / 6.0).abs() < 1e-12);
        assert!((schweitzer(&network, 1).throughput - 1.0 / 6.0).abs() < 1e-9);
    }

    #[test]
    fn bottleneck_bounds_the_throughput() {
        let network = ClosedNetwork { think_s: 1.0, demands_s: vec![0.5, 0.1] };
        let many = exact(&network, 200);
        assert!((many.throughput - 2.0).abs() < 1e-6 && many.at_station[0] > 190.0, "{many:?}");
        let total: f64 = many.at_station.iter().sum::<f64>() + many.throughput * network.think_s;
        assert!((total - 200.0).abs() < 1e-9, "all customers are somewhere");
    }

    #[test]
    fn schweitzer_is_within_some_percent() {
        for customers in [2, 4, 8, 16, 64] {
            let network = ClosedNetwork { think_s: 4.0, demands_s: vec![1.0, 0.5] };
            let ratio = schweitzer(&network, customers).throughput / exact(&network, customers).throughput;
            assert!((0.93..=1.001).contains(&ratio), "{customers}: {ratio}");
        }
    }

    #[test]
    fn two_servers_serve_two_customers_at_once() {
        let (demand, delay) = multi_server(1.0, 2);
        let network = ClosedNetwork { think_s: delay, demands_s: vec![demand] };
        assert!((exact(&network, 1).throughput - 1.0).abs() < 1e-12);
        assert!((exact(&network, 50).throughput - 2.0).abs() < 1e-3);
    }
}
