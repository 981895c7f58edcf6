//! How connections avoid congestion: which of the kernel's ways they take.
//!
//! A way that paces, as BBR does, sends each piece when a timer says so, at the rate that it believes the network has. Between
//! hosts of a cluster there is no queue to spare, and the timers cost more than the data. Measured over a virtual link with
//! raw sockets, cubic and reno alike: 64 KiB take 18 us a message, with BBR 31; 256 KiB 45 and 113, 1 MiB 156 and 450, 4 MiB
//! 630 and 1780. So where the system's own way is BBR, connections between hosts take another; any other is the choice of who
//! looks after the system, and stays.
//!
//! The way is set before a connection is made: one that begins with BBR goes on pacing when it has another.

use rustix::io::Errno;
use rustix::net::sockopt::{set_tcp_congestion, tcp_congestion};
use std::io;
use std::os::fd::AsFd;

/// What is taken in place of a way that paces: the first one may be reserved to privileged processes, the last one is not.
const INSTEAD: [&str; 2] = ["cubic", "reno"];

/// Sets how a socket that is not connected yet avoids congestion: the wanted way, or else one that does not pace. Those that
/// are accepted from it do alike. Returns what it is if that is not the system's own way.
///
/// # Errors
/// Says that the kernel does not know the wanted way or does not permit it, and which ones it does.
pub fn choose(socket: impl AsFd, wanted: Option<&str>) -> io::Result<Option<String>> {
    let socket = socket.as_fd();
    let Some(wanted) = wanted else {
        let paces = tcp_congestion(socket).is_ok_and(|own| own.starts_with("bbr"));
        let mut others = INSTEAD.iter().filter(|_| paces);
        return Ok(others.find(|name| set_tcp_congestion(socket, name).is_ok()).map(ToString::to_string));
    };
    match set_tcp_congestion(socket, wanted) {
        Ok(()) => Ok(Some(wanted.to_owned())),
        Err(error) => Err(io::Error::other(explain(wanted, error))),
    }
}

#[cold]
fn explain(wanted: &str, error: Errno) -> String {
    let known = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/net/ipv4/tcp_{name}_congestion_control"));
        text.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    format!(
        "net-congestion={wanted}: the kernel does not take it ({error}); it knows {}, and permits {} to everybody",
        known("available"),
        known("allowed")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    fn listener() -> TcpListener {
        TcpListener::bind("127.0.0.1:0").unwrap()
    }

    #[test]
    fn what_is_wanted_is_taken_and_inherited() {
        let listener = listener();
        assert_eq!(choose(&listener, Some("reno")).unwrap(), Some("reno".into()));
        let _dialled = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        assert_eq!(tcp_congestion(&accepted).unwrap(), "reno");
    }

    #[test]
    fn no_connection_paces_unless_that_is_wanted() {
        let listener = listener();
        let own = tcp_congestion(&listener).unwrap();
        let chosen = choose(&listener, None).unwrap();
        let now = tcp_congestion(&listener).unwrap();
        assert!(!now.starts_with("bbr"), "{now}");
        assert_eq!(chosen, (now != own).then_some(now), "{own}");
    }

    #[test]
    fn what_the_kernel_does_not_know_is_refused_with_what_it_knows() {
        let error = choose(listener(), Some("carrier-pigeon")).unwrap_err().to_string();
        assert!(error.contains("net-congestion=carrier-pigeon") && error.contains("reno"), "{error}");
    }
}
