//! rcu
