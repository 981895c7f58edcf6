//! How the ranks of a job meet that another launcher started: what each tells all, and what they make of it.

use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::time::Duration;
use weft_base::job::Secret;
use weft_door::Ticket;
use weft_local::{Segment, SegmentDevice};
use weft_mpi::process::host::{Alone, Host, number_of_job};
use weft_net_tcp::{Card, Listener, NetConfig, TcpDevice};
use weft_pmi::Client;
use weft_transport::{Device, Node, Nodes, Places, Routes};

/// The key under which a rank says where it listens.
fn place_key(rank: u32) -> String {
    format!("weft-net-{rank}")
}

/// The key under which the first rank of a host says how to get the memory its ranks share.
fn ticket_key(host: u32) -> String {
    format!("weft-host-{host}")
}

/// The key of the job's number.
const JOB_KEY: &str = "weft-job";
/// The key of what only the job's ranks know.
const SECRET_KEY: &str = "weft-secret";

/// What ranks that have met agree on.
pub struct Met {
    /// The host of each rank.
    pub hosts: Vec<u32>,
    /// The job's number, which no other job has.
    pub job: u64,
    /// What only its ranks know, if they are on several hosts.
    pub secret: Option<Secret>,
}

impl Met {
    /// Describes a job of one rank.
    pub fn alone() -> Self {
        Self { hosts: vec![0], job: number_of_job(), secret: None }
    }
}

struct Meeting<'a> {
    client: &'a Client,
    /// By rank.
    hosts: Vec<u32>,
    /// The ranks of this host, ascending.
    neighbors: Vec<u32>,
}

/// Connects this rank to all others.
///
/// # Errors
/// Says what the launcher or another rank did not do.
pub fn connect(client: &Client, limit: Duration) -> Result<Met, String> {
    let hosts = match client.hosts()? {
        Some(hosts) => hosts,
        None => hosts_by_name(client, limit)?,
    };
    let own = hosts[client.rank() as usize];
    let neighbors = (0..client.size()).filter(|&rank| hosts[rank as usize] == own).collect();
    let meeting = Meeting { client, hosts, neighbors };
    let (segment, ticket) = meeting.offer_memory()?.unzip();
    let listener = meeting.listen()?;
    if client.rank() == 0 {
        client.put(JOB_KEY, &number_of_job().to_string())?;
    }
    fence(client, limit)?;
    let secret = if listener.is_some() { Some(meeting.secret()?) } else { None };
    let mut devices: Vec<(Box<dyn Device>, Vec<Node>)> = Vec::new();
    if meeting.neighbors.len() > 1 {
        devices.push((Box::new(meeting.memory(segment)?), meeting.neighbors.clone()));
    }
    if let (Some(listener), Some(secret)) = (listener, secret) {
        devices.push((Box::new(meeting.network(listener, secret)?), (0..client.size()).collect()));
    }
    let numbers: Vec<Node> = (0..client.size()).collect();
    let routes = match devices.pop() {
        // The only device's numbers are the job's.
        Some((device, nodes)) if devices.is_empty() && nodes == numbers => Routes::from(device),
        last => Routes::join(client.rank(), devices.into_iter().chain(last).collect()),
    };
    let nodes: &'static Nodes = Box::leak(Box::new(Nodes::new(routes, Places::new(&numbers))));
    let hosts = meeting.hosts.clone();
    weft_mpi::jobs::nodes::install(nodes, |node| hosts[node as usize]);
    let number = meeting.told(JOB_KEY)?;
    let job = number.parse().map_err(|_| format!("rank 0 says that the job's number is {number:?}"))?;
    // Nobody may leave before all have come, and have the memory.
    fence(client, limit)?;
    drop(ticket);
    Ok(Met { hosts: meeting.hosts, job, secret })
}

/// Waits for all ranks.
fn fence(client: &Client, limit: Duration) -> Result<(), String> {
    let (ranks, seconds) = (client.size(), limit.as_secs());
    client.fence().map_err(|error| {
        format!("{error}; all {ranks} ranks must call MPI_Init within {seconds} s (WEFT_START_TIMEOUT)")
    })
}

impl Meeting<'_> {
    fn told(&self, key: &str) -> Result<String, String> {
        self.client
            .get(key)?
            .ok_or_else(|| format!("the launcher does not know {key}, which another rank has told it"))
    }

    fn shared(&self, error: &dyn std::fmt::Display) -> String {
        format!("the memory that ranks {:?} of this host share: {error}", self.neighbors)
    }

    /// On the first of several ranks of a host: makes the memory they share, and says how to get it.
    fn offer_memory(&self) -> Result<Option<(OwnedFd, Ticket)>, String> {
        let rank = self.client.rank();
        if self.neighbors.len() == 1 || rank != self.neighbors[0] {
            return Ok(None);
        }
        // All ranks of a host mostly have the launcher's agent as their parent, and so may read each other's memory.
        let ancestor = std::os::unix::process::parent_id();
        let (segment, _) = Segment::create_under(self.neighbors.len() as u32, ancestor)
            .map_err(|error| self.shared(&error))?;
        let door = weft_door::door().map_err(|error| self.shared(&error))?;
        let ticket =
            segment.try_clone().and_then(|copy| door.offer(copy)).map_err(|error| self.shared(&error))?;
        self.client
            .put(&ticket_key(self.hosts[rank as usize]), &format!("{}:{}", door.name(), ticket.token()))?;
        Ok(Some((segment, ticket)))
    }

    /// Gets the memory of this host's ranks from the first of them, unless this is it, and takes part in it.
    fn memory(&self, own: Option<OwnedFd>) -> Result<SegmentDevice, String> {
        let segment = match own {
            Some(segment) => segment,
            None => {
                let place = self.told(&ticket_key(self.hosts[self.client.rank() as usize]))?;
                let (door, token) = place
                    .split_once(':')
                    .ok_or_else(|| self.shared(&format_args!("{place:?} is no ticket")))?;
                weft_door::fetch(door, token).map_err(|error| match error.kind() {
                    ErrorKind::ConnectionRefused => self.shared(
                        &"its first rank is not to be found: do the processes share a network name space?",
                    ),
                    _ => self.shared(&error),
                })?
            }
        };
        let index = self.neighbors.partition_point(|&rank| rank < self.client.rank());
        SegmentDevice::attach(segment, index as u32).map_err(|error| self.shared(&error))
    }

    /// In a job of several hosts: listens for the ranks of the others, and says where.
    fn listen(&self) -> Result<Option<Listener>, String> {
        if self.neighbors.len() == self.hosts.len() {
            return Ok(None);
        }
        let wrong = |error| format!("cannot listen for the ranks of other hosts: {error}");
        let listener = Listener::bind(&NetConfig::from_settings()).map_err(wrong)?;
        let mut places = String::new();
        for word in listener.card().words() {
            let more = format!("{}{word}", if places.is_empty() { "" } else { "," });
            // Who has very many addresses is found by the first ones.
            if places.len() + more.len() <= self.client.longest_value() {
                places += &more;
            }
        }
        self.client.put(&place_key(self.client.rank()), &places)?;
        if self.client.rank() == 0 {
            let halves = [weft_sys::local_socket::random(), weft_sys::local_socket::random()];
            let mut secret = String::new();
            for half in halves {
                let half = half.map_err(|error| format!("no random numbers: {error}"))?;
                secret.extend(half.iter().map(|byte| format!("{byte:02x}")));
            }
            self.client.put(SECRET_KEY, &secret)?;
        }
        Ok(Some(listener))
    }

    /// Returns what only the job's ranks know.
    fn secret(&self) -> Result<Secret, String> {
        bytes(&self.told(SECRET_KEY)?)
            .map(Secret)
            .ok_or_else(|| "the launcher does not know the job's secret any more".to_owned())
    }

    /// Makes the device to the ranks of other hosts.
    fn network(&self, listener: Listener, secret: Secret) -> Result<TcpDevice, String> {
        let own = self.hosts[self.client.rank() as usize];
        let place = |(rank, &host): (usize, &u32)| {
            if host == own {
                return Ok(Card::default());
            }
            let text = self.told(&place_key(rank as u32))?;
            Card::read(text.split(','))
                .map_err(|what| format!("rank {rank} says it listens at {text:?}: {what}"))
        };
        let book = self.hosts.iter().enumerate().map(place).collect::<Result<Vec<_>, String>>()?;
        let rank = self.client.rank();
        listener
            .join(rank, book, secret.0)
            .map_err(|error| format!("the network to the other hosts: {error}"))
    }
}

/// Reads 32 bytes in hexadecimal digits.
fn bytes(text: &str) -> Option<[u8; 32]> {
    let digits: Vec<u8> =
        text.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect::<Option<_>>()?;
    let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    (text.len() == 64).then_some(())?;
    bytes.try_into().ok()
}

/// Finds out which ranks share a host where the launcher does not say.
fn hosts_by_name(client: &Client, limit: Duration) -> Result<Vec<u32>, String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let key = |rank: u32| format!("weft-rank-{rank}");
    client.put(&key(client.rank()), &plain(&format!("{}-{}", Alone.name(), boot.trim())))?;
    fence(client, limit)?;
    let mut known: Vec<String> = Vec::new();
    let mut host_of = |rank| {
        let name = client
            .get(&key(rank))?
            .ok_or_else(|| format!("the launcher does not know what rank {rank} has told it"))?;
        let found = known.iter().position(|host| *host == name);
        Ok(found.unwrap_or_else(|| {
            known.push(name);
            known.len() - 1
        }) as u32)
    };
    (0..client.size()).map(&mut host_of).collect()
}

/// Returns a name with nothing in it that PMI has no place for.
fn plain(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '_' })
        .take(200)
        .collect()
}
