//! The address at which a recording is served.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

/// From where the server can be reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServeFrom {
    /// Only from this machine: other addresses are refused.
    Loopback,
    /// From wherever the address can be reached.
    Anywhere,
}

/// An address of this machine, and a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServeAddress(pub SocketAddr);

impl ServeAddress {
    /// A sentence if the address is not permitted.
    pub fn refusal(&self, from: ServeFrom) -> Option<String> {
        let ServeAddress(address) = self;
        (from == ServeFrom::Loopback && !address.ip().is_loopback()).then(|| {
            format!(
                "--serve {address}: names of locks and callers, and the command line, could be read from other machines: use 127.0.0.1:{}, \
                 or permit it by --serve-non-loopback",
                address.port()
            )
        })
    }
}

impl fmt::Display for ServeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for ServeAddress {
    type Err = String;

    /// An address and a port, or `localhost` and a port. No other name: what it stands for may change.
    fn from_str(text: &str) -> Result<ServeAddress, String> {
        if let Some(port) = text.strip_prefix("localhost:").and_then(|port| port.parse().ok()) {
            return Ok(ServeAddress(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)));
        }
        text.parse()
            .map(ServeAddress)
            .map_err(|_| "give an address and a port, such as 127.0.0.1:6060".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_has_a_port_and_is_of_this_machine() {
        for (text, known) in [
            ("127.0.0.1:6060", "127.0.0.1:6060"),
            ("localhost:0", "127.0.0.1:0"),
            ("[::1]:80", "[::1]:80"),
            ("127.8.8.8:1", "127.8.8.8:1"),
        ] {
            let address: ServeAddress = text.parse().unwrap();
            assert_eq!((address.to_string(), address.refusal(ServeFrom::Loopback)), (known.into(), None));
        }
        for text in ["0.0.0.0:6060", "[::]:6060", "10.0.0.1:1"] {
            let address: ServeAddress = text.parse().unwrap();
            let refusal = address.refusal(ServeFrom::Loopback).unwrap();
            assert!(refusal.contains("--serve-non-loopback") && refusal.contains("127.0.0.1:"), "{refusal}");
            assert_eq!(address.refusal(ServeFrom::Anywhere), None);
        }
        for text in [
            "",
            "6060",
            ":6060",
            "127.0.0.1",
            "localhost",
            "localhost:x",
            "example.com:80",
            "127.0.0.1:70000",
        ] {
            assert!(text.parse::<ServeAddress>().is_err(), "{text}");
        }
    }
}
