//! The client: what a rank asks of the launcher, whichever version of the protocol it speaks.

use crate::connection::{Connection, Limits, Watch};
use crate::environment::{Facts, Way};
use crate::mapping;
use crate::text::{Reply, Request};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Version {
    One,
    Two,
}

/// A rank's connection to the launcher. Any thread may ask.
pub struct Client {
    connection: Mutex<Connection>,
    version: Version,
    limits: Limits,
    rank: u32,
    size: u32,
    is_spawned: bool,
    application: i64,
    universe: Option<u32>,
    /// The name of the job's key-value space.
    space: String,
    /// The longest value, in bytes.
    longest_value: usize,
}

impl Client {
    /// Connects to the launcher that the environment names, and learns who this rank is.
    ///
    /// # Errors
    /// Says what the launcher did not say, or not in time.
    pub fn connect(facts: &Facts, limits: Limits) -> Result<Self, String> {
        let (connection, rank, size) = match &facts.way {
            Way::Descriptor(fd) => (Connection::inherited(*fd)?, facts.rank, facts.size),
            Way::Port(place, id) => introduce(Connection::to(place, limits.answer)?, *id, limits)?,
        };
        let mut client = Self {
            connection: Mutex::new(connection),
            version: Version::One,
            limits,
            rank: rank.unwrap_or(0),
            size: size.unwrap_or(0),
            is_spawned: facts.is_spawned,
            application: -1,
            universe: None,
            space: String::new(),
            longest_value: 0,
        };
        match &facts.job {
            Some(job) if client.begin(2)? => client.learn_by_messages(job, rank)?,
            _ if client.begin(1)? => {
                rank.ok_or(
                    "the environment has no PMI_RANK, and so cannot be of a launcher that speaks PMI-1",
                )?;
                client.learn_by_lines()?;
            }
            _ => return Err("the launcher speaks neither PMI-1 nor PMI-2".into()),
        }
        if client.rank >= client.size {
            return Err(format!("the launcher says that this is rank {} of {}", client.rank, client.size));
        }
        Ok(client)
    }

    /// Agrees on a version; returns whether the launcher speaks it.
    fn begin(&mut self, version: u32) -> Result<bool, String> {
        let minor = u32::from(version == 1);
        let request = Request::new("init").with("pmi_version", version).with("pmi_subversion", minor);
        let reply = self.connection().ask_line(&request, self.limits.answer)?;
        Ok(reply.is_success() && reply.number("pmi_version")? == i64::from(version))
    }

    fn learn_by_lines(&mut self) -> Result<(), String> {
        let maxima = self.ask(&Request::new("get_maxes"))?;
        self.longest_value = maxima.number("vallen_max")?.clamp(1, 1 << 20) as usize - 1;
        self.space = self.ask(&Request::new("get_my_kvsname"))?.need("kvsname")?.to_owned();
        self.application = self.ask(&Request::new("get_appnum"))?.number("appnum")?;
        let universe = self.ask(&Request::new("get_universe_size"))?;
        self.universe = universe.number("size").ok().and_then(|size| u32::try_from(size).ok());
        Ok(())
    }

    fn learn_by_messages(&mut self, job: &str, rank: Option<u32>) -> Result<(), String> {
        self.version = Version::Two;
        let hello = Request::new("fullinit").with("pmijobid", job);
        let hello = match rank {
            Some(rank) => hello.with("pmirank", rank),
            None => hello,
        };
        let reply = self.ask(&hello.with("threaded", "FALSE"))?;
        let count = |name| {
            reply
                .number(name)
                .and_then(|n| u32::try_from(n).map_err(|_| format!("the launcher says {name}={n}")))
        };
        (self.rank, self.size) = (count("rank")?, count("size")?);
        self.application = reply.number("appnum").unwrap_or(-1);
        // The specification's maximum, which no command tells.
        self.longest_value = 1023;
        self.space = self.ask(&Request::new("job-getid"))?.need("jobid")?.to_owned();
        self.universe = self.job_fact("universeSize")?.and_then(|text| text.parse().ok());
        Ok(())
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request and waits for the answer, whatever it says.
    fn exchange(&self, request: &Request, others: bool) -> Result<Reply, String> {
        let limit = if others { self.limits.others } else { self.limits.answer };
        let mut connection = self.connection();
        match self.version {
            Version::One => connection.ask_line(request, limit),
            Version::Two => {
                connection.send(&request.message()?, self.limits.answer)?;
                connection.message(request.command(), limit)
            }
        }
    }

    fn ask(&self, request: &Request) -> Result<Reply, String> {
        self.exchange(request, false)?.succeed()
    }

    /// Returns the rank.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Returns the number of ranks of the job.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Tells whether the job was started by another job.
    pub fn is_spawned(&self) -> bool {
        self.is_spawned
    }

    /// Returns the number of the program on the command line, if the launcher numbers programs.
    pub fn application_number(&self) -> Option<u32> {
        u32::try_from(self.application).ok()
    }

    /// Returns how many ranks there may be in all, if the launcher says so.
    pub fn universe_size(&self) -> Option<u32> {
        self.universe.filter(|size| *size > 0)
    }

    /// Returns the protocol, for reports.
    pub fn protocol(&self) -> &'static str {
        match self.version {
            Version::One => "PMI-1",
            Version::Two => "PMI-2",
        }
    }

    /// Returns the longest value that [`Client::put`] takes, in bytes.
    pub fn longest_value(&self) -> usize {
        self.longest_value
    }

    /// Returns what shows when the launcher is gone.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn watch(&self) -> std::io::Result<Watch> {
        self.connection().watch()
    }

    /// Puts a value under a key. The other ranks find it after the next [`Client::fence`].
    ///
    /// # Errors
    /// Says what was refused.
    pub fn put(&self, key: &str, value: &str) -> Result<(), String> {
        if value.len() > self.longest_value {
            let (length, most) = (value.len(), self.longest_value);
            return Err(format!(
                "the value of {key} has {length} bytes, and the launcher takes no more than {most}"
            ));
        }
        let request = match self.version {
            Version::One => {
                Request::new("put").with("kvsname", &self.space).with("key", key).with("value", value)
            }
            Version::Two => Request::new("kvs-put").with("key", key).with("value", value),
        };
        self.ask(&request).map(drop)
    }

    /// Waits until all ranks have come here; what they have put before can be got afterwards.
    ///
    /// # Errors
    /// Says that not all came in time.
    pub fn fence(&self) -> Result<(), String> {
        let command = if self.version == Version::One { "barrier_in" } else { "kvs-fence" };
        self.exchange(&Request::new(command), true)?.succeed().map(drop)
    }

    /// Returns the value under a key, if there is one.
    ///
    /// # Errors
    /// Says what the launcher did not answer.
    pub fn get(&self, key: &str) -> Result<Option<String>, String> {
        match self.version {
            Version::One => {
                let request = Request::new("get").with("kvsname", &self.space).with("key", key);
                let reply = self.exchange(&request, false)?;
                Ok(if reply.is_success() { Some(reply.need("value")?.to_owned()) } else { None })
            }
            Version::Two => {
                let request =
                    Request::new("kvs-get").with("jobid", &self.space).with("srcid", -1).with("key", key);
                found(&self.ask(&request)?)
            }
        }
    }

    /// Returns what the launcher says of the job under a name, if anything.
    fn job_fact(&self, name: &str) -> Result<Option<String>, String> {
        match self.version {
            Version::One => self.get(name),
            Version::Two => {
                found(&self.ask(&Request::new("info-getjobattr").with("key", name).with("wait", "FALSE"))?)
            }
        }
    }

    /// Returns the host of each rank, numbered in the order of their first ranks; none if the launcher does not say.
    ///
    /// # Errors
    /// Says what makes no sense.
    pub fn hosts(&self) -> Result<Option<Vec<u32>>, String> {
        self.job_fact(mapping::KEY)?.map(|text| mapping::parse(&text, self.size)).transpose()
    }

    /// Asks the launcher to end the job. It sends no answer.
    pub fn abort(&self, code: i32, message: &str) {
        // The message goes into a report at most, so what has no place in the protocol is left out.
        let words: String = message
            .chars()
            .map(|c| if c.is_ascii_graphic() && c != ';' { c } else { '_' })
            .take(200)
            .collect();
        let request = match self.version {
            Version::One => Request::new("abort").with("exitcode", code).line(),
            Version::Two => Request::new("abort").with("isworld", "TRUE").with("msg", words).message(),
        };
        if let Ok(bytes) = request {
            // Nothing helps if this fails: the process ends anyway, which the launcher sees.
            let _ = self.connection().send(&bytes, self.limits.answer);
        }
    }

    /// Says that this rank needs the launcher no more. Its end, with whatever code, is in order from now on.
    ///
    /// # Errors
    /// Says what the launcher did not answer.
    pub fn finish(&self) -> Result<(), String> {
        self.ask(&Request::new("finalize")).map(drop)
    }
}

/// Says to a launcher to which this process has connected who it is; returns rank and size as well.
fn introduce(
    mut connection: Connection,
    id: u32,
    limits: Limits,
) -> Result<(Connection, Option<u32>, Option<u32>), String> {
    connection.ask_line(&Request::new("initack").with("pmiid", id), limits.answer)?.succeed()?;
    let (mut rank, mut size) = (None, None);
    // Size, rank and whether to print more, a line each.
    for _ in 0..3 {
        let reply = connection.line("initack", limits.answer)?;
        let count = |name| reply.get(name).and_then(|text| text.parse().ok());
        (rank, size) = (count("rank").or(rank), count("size").or(size));
    }
    Ok((connection, rank, size))
}

/// Returns the value of an answer that may have none.
fn found(reply: &Reply) -> Result<Option<String>, String> {
    let is_found = reply.get("found").is_some_and(|found| found.eq_ignore_ascii_case("true"));
    if is_found { Ok(Some(reply.need("value")?.to_owned())) } else { Ok(None) }
}
