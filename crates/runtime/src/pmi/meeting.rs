//! How the ranks of a job meet that another launcher started: what each tells all, and what they make of it.

use std::time::Duration;
use weft_base::Error;
use weft_base::constants::MPI_ERR_INTERN;
use weft_base::job::Secret;
use weft_fabric::{Card, Meeting, Member};
use weft_mpi::process::host::{Alone, Host, number_of_job};
use weft_pmi::Client;
use weft_transport::{Node, Nodes, Places};

/// The key under which a rank says how it can be reached.
fn card_key(rank: u32) -> String {
    format!("weft-card-{rank}")
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

/// Connects this rank to all others.
///
/// # Errors
/// Says what the launcher or another rank did not do.
pub fn connect(client: &Client, limit: Duration) -> Result<Met, String> {
    let hosts = match client.hosts()? {
        Some(hosts) => hosts,
        None => hosts_by_name(client, limit)?,
    };
    let failed = |error: Error| error.message.to_string();
    let members = hosts.iter().map(|&host| Member { host: host.into(), ranks: 1 }).collect();
    let meeting = Meeting::of_job(client.rank(), members);
    let needs_secret = meeting.needs_secret();
    let mut offer = meeting.offer(None).map_err(failed)?;
    let mut card = offer.card();
    card.shorten(client.longest_value());
    client.put(&card_key(client.rank()), &card.to_string())?;
    if client.rank() == 0 {
        client.put(JOB_KEY, &number_of_job().to_string())?;
        if needs_secret {
            let secret = weft_handshake::draw().map_err(|error| format!("no random numbers: {error}"))?;
            let digits: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
            client.put(SECRET_KEY, &digits)?;
        }
    }
    fence(client, limit)?;
    let secret = if needs_secret { Some(secret(client)?) } else { None };
    let mut card_of = |rank: Node| {
        let wrong = |what: String| Error::new(MPI_ERR_INTERN, what);
        let text = told(client, &card_key(rank)).map_err(wrong)?;
        Card::read(&text).map_err(|what| wrong(format!("rank {rank}: {what}")))
    };
    let joined = offer.join(&mut card_of, secret.as_ref().map(|secret| &secret.0)).map_err(failed)?;
    if let Some(routes) = joined.into_routes() {
        let numbers: Vec<Node> = (0..client.size()).collect();
        let nodes: &'static Nodes = Box::leak(Box::new(Nodes::new(routes, Places::new(&numbers))));
        weft_mpi::jobs::nodes::install(nodes, |node| hosts[node as usize]);
    }
    let number = told(client, JOB_KEY)?;
    let job = number.parse().map_err(|_| format!("rank 0 says that the job's number is {number:?}"))?;
    // Nobody may leave before all have come, and have what was offered.
    fence(client, limit)?;
    drop(offer);
    Ok(Met { hosts, job, secret })
}

fn told(client: &Client, key: &str) -> Result<String, String> {
    let value = client.get(key)?;
    value.ok_or_else(|| format!("the launcher does not know {key}, which another rank has told it"))
}

/// Returns what only the job's ranks know.
fn secret(client: &Client) -> Result<Secret, String> {
    bytes(&told(client, SECRET_KEY)?)
        .map(Secret)
        .ok_or_else(|| "the launcher does not know the job's secret any more".to_owned())
}

/// Waits for all ranks.
fn fence(client: &Client, limit: Duration) -> Result<(), String> {
    let (ranks, seconds) = (client.size(), limit.as_secs());
    client.fence().map_err(|error| {
        format!("{error}; all {ranks} ranks must call MPI_Init within {seconds} s (WEFT_START_TIMEOUT)")
    })
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
