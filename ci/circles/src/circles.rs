//! Finds circles in a graph.

use std::collections::{BTreeSet, VecDeque};

/// Vertices, each of which has an edge to the next; the last has an edge to the first. The smallest vertex comes first.
pub type Circle = Vec<usize>;

/// Returns the shortest circle through each edge that is on any circle. So a new edge that closes a circle always adds a circle
/// to the result.
pub fn shortest_circles(edges: &[BTreeSet<usize>]) -> BTreeSet<Circle> {
    let through = |(from, &to): (usize, &usize)| shortest_path(edges, to, from).map(turned);
    let all = edges.iter().enumerate().flat_map(|(from, ends)| ends.iter().map(move |to| (from, to)));
    all.filter_map(through).collect()
}

/// Returns the vertices of the path, including both ends.
fn shortest_path(edges: &[BTreeSet<usize>], from: usize, to: usize) -> Option<Vec<usize>> {
    let mut before = vec![None; edges.len()];
    let mut queue = VecDeque::from([from]);
    while let Some(at) = queue.pop_front() {
        if at == to {
            let mut path: Vec<usize> = std::iter::successors(Some(to), |&at| before[at]).collect();
            path.reverse();
            return Some(path);
        }
        for &next in &edges[at] {
            if next != from && before[next].is_none() {
                before[next] = Some(at);
                queue.push_back(next);
            }
        }
    }
    None
}

fn turned(mut circle: Circle) -> Circle {
    let smallest = (0..circle.len()).min_by_key(|&at| circle[at]).unwrap_or(0);
    circle.rotate_left(smallest);
    circle
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(edges: &[(usize, usize)]) -> Vec<Circle> {
        let count = edges.iter().map(|&(from, to)| from.max(to) + 1).max().unwrap_or(0);
        let mut ends = vec![BTreeSet::new(); count];
        for &(from, to) in edges {
            ends[from].insert(to);
        }
        shortest_circles(&ends).into_iter().collect()
    }

    #[test]
    fn tree_has_no_circle() {
        assert_eq!(circles(&[(0, 1), (0, 2), (1, 3), (2, 3)]), Vec::<Circle>::new());
    }

    #[test]
    fn circle_is_reported_once_and_from_its_smallest() {
        assert_eq!(circles(&[(3, 1), (1, 2), (2, 3), (0, 3)]), [[1, 2, 3]]);
    }

    #[test]
    fn edge_inside_a_circle_adds_a_shorter_one() {
        assert_eq!(circles(&[(0, 1), (1, 2), (2, 0), (1, 0)]), [vec![0, 1], vec![0, 1, 2]]);
    }
}
