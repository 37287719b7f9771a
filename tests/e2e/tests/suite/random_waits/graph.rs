//! Descriptions of random programs.

use proptest::prelude::*;
use proptest::sample::select;
use std::fmt::Write;

/// What `c/waits/tokens.c` calls the kinds of inboxes.
const KINDS: [&str; 7] = ["pipe", "stream", "datagram", "eventfd", "semaphore", "condition", "futex"];
/// How threads wait for descriptors.
const CALLS: [&str; 5] = ["read", "poll", "select", "epoll", "ppoll"];
/// Limits of waits in microseconds; 0 is none. Some end within the time of a poll, some later.
const LIMITS_US: [u32; 7] = [0, 0, 0, 20, 60, 300, 5_000];

/// A thread.
#[derive(Clone, Debug)]
pub struct Node {
    call: &'static str,
    limit_us: u32,
    work_us: u32,
    /// Where it passes tokens in turn.
    routes: Vec<usize>,
}

/// Threads, and the inboxes between them. Node i takes from inbox i, modulo their number, so each is emptied.
#[derive(Clone, Debug)]
pub struct Graph {
    inboxes: Vec<&'static str>,
    nodes: Vec<Node>,
    /// How many tokens are put in which inbox.
    tokens: Vec<(usize, u32)>,
    hops: u32,
    /// How often a signal is sent, in microseconds; 0 is never.
    signals_us: u32,
    restart: u8,
}

fn node() -> impl Strategy<Value = Node> {
    let routes = prop::collection::vec(any::<prop::sample::Index>(), 1..4);
    let work = prop_oneof![3 => Just(0u32), 1 => 1..80u32];
    (select(&CALLS[..]), select(&LIMITS_US[..]), work, routes).prop_map(
        |(call, limit_us, work_us, routes)| {
            // Resolved once the number of inboxes is known.
            let routes = routes.into_iter().map(|index| index.index(1 << 16)).collect();
            Node { call, limit_us, work_us, routes }
        },
    )
}

/// Programs.
pub fn graph() -> impl Strategy<Value = Graph> {
    let inboxes = prop::collection::vec(select(&KINDS[..]), 1..6);
    let nodes = prop::collection::vec(node(), 6..10);
    let tokens = prop::collection::vec((0..6usize, 1..3u32), 1..4);
    let signals = prop_oneof![2 => Just(0u32), 1 => 50..3_000u32];
    (inboxes, nodes, tokens, 50..1_500u32, signals, 0..2u8).prop_map(
        |(inboxes, nodes, tokens, hops, signals_us, restart)| {
            let count = inboxes.len();
            let nodes = nodes
                .into_iter()
                .map(|node| Node { routes: node.routes.iter().map(|to| to % count).collect(), ..node })
                .collect();
            let tokens = tokens.into_iter().map(|(inbox, tokens)| (inbox % count, tokens)).collect();
            Graph { inboxes, nodes, tokens, hops, signals_us, restart }
        },
    )
}

/// The description that `c/waits/tokens.c` reads.
pub fn text(graph: &Graph) -> String {
    let mut text: String = graph.inboxes.iter().map(|kind| format!("inbox {kind}\n")).collect();
    for (i, node) in graph.nodes.iter().enumerate() {
        let inbox = i % graph.inboxes.len();
        let routes: String = node.routes.iter().map(|to| format!(" {to}")).collect();
        let Node { call, limit_us, work_us, .. } = node;
        let _ = writeln!(text, "node {inbox} {call} {limit_us} {work_us}{routes}");
    }
    for (inbox, count) in &graph.tokens {
        let _ = writeln!(text, "tokens {inbox} {count}");
    }
    let _ = writeln!(text, "hops {}\nsignals {} {}", graph.hops, graph.signals_us, graph.restart);
    text
}
