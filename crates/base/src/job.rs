//! What `mpirun` tells a node process ([`Job`] and [`Handover`]), and what the node process reports ([`Report`]): one
//! JSON document in an inherited file, the same for all node processes of the job, and JSON lines on a socket.

use crate::site::Place;
use crate::waiting::Knowledge;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The variable that tells a process that holds threads what `LD_PRELOAD` is for its ranks. For the process itself it is what is
/// left without tools of MPI, which each rank loads for itself.
pub const PRELOAD: &str = "WEFT_NODE_PRELOAD";

/// The variable that tells a program that it is a node process of a job: a [`Handover`].
pub const HANDOVER: &str = "WEFT_NODE_PROCESS";

/// The number of a descriptor that was not passed.
pub const NO_FD: i32 = -1;

/// What differs between the node processes of a job: the descriptors they inherit, and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handover {
    /// The file with the [`Job`].
    pub job_fd: i32,
    /// The socket on which to send [`Report`]s and receive [`Request`]s.
    pub control_fd: i32,
    /// What a device of this host's node processes inherits, made before they start; [`NO_FD`] if there is nothing.
    pub shared_fd: i32,
    /// The number of the node process.
    pub node: u32,
}

impl fmt::Display for Handover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { job_fd, control_fd, shared_fd, node } = self;
        write!(f, "{job_fd},{control_fd},{shared_fd},{node}")
    }
}

impl FromStr for Handover {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not what mpirun hands over: three descriptors and a number");
        let numbers: Vec<i32> =
            text.split(',').map(str::parse).collect::<Result<_, _>>().map_err(|_| wrong())?;
        match numbers[..] {
            [job_fd, control_fd, shared_fd, node]
                if job_fd >= 0 && control_fd >= 0 && shared_fd >= NO_FD && node >= 0 =>
            {
                Ok(Self { job_fd, control_fd, shared_fd, node: node as u32 })
            }
            _ => Err(wrong()),
        }
    }
}

/// A job.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Job {
    /// The version of launcher and library; both must agree.
    pub version: String,
    /// The programs, in rank order.
    pub blocks: Vec<Block>,
    /// Settings that are not at their default, with their values; see [`crate::settings`].
    pub settings: Vec<(String, String)>,
    /// Whether workers are bound to processors.
    pub bind: bool,
    /// The node process of each rank; empty if there is one node process.
    #[serde(default)]
    pub node_of: Vec<u32>,
    /// The number of the host of each node process; empty if all are on one host.
    #[serde(default)]
    pub host_of: Vec<u32>,
    /// The names of the hosts; empty if there is one.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// What node processes of different hosts prove to each other that they are of the job.
    #[serde(default)]
    pub secret: Option<Secret>,
    /// Says what is being done on standard error.
    pub verbose: bool,
    /// Whether `mpirun` sees to published names, because not all node processes are on its host.
    #[serde(default)]
    pub has_names_afar: bool,
    /// The job's number, which no other job has.
    #[serde(default)]
    pub id: u64,
    /// The port where those wait who have spawned the job, if it was spawned.
    #[serde(default)]
    pub parent: Option<String>,
    /// How many ranks there may be in all, if that is known (`MPI_UNIVERSE_SIZE`).
    #[serde(default)]
    pub universe: Option<u32>,
    /// Standard output and error of ranks of this host that are threads and have their own, ascending by rank.
    #[serde(default)]
    pub outputs: Vec<RankOutput>,
}

/// Descriptors that a rank which is a thread inherits from `mpirun` for itself.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankOutput {
    /// The rank.
    pub rank: u32,
    /// Its standard output.
    pub out_fd: i32,
    /// Its standard error.
    pub error_fd: i32,
}

impl Job {
    /// Returns the number of ranks of all blocks.
    pub fn ranks(&self) -> u32 {
        self.blocks.iter().map(|block| block.ranks).sum()
    }

    /// Returns the ranks of a node process, ascending.
    pub fn ranks_of(&self, node: u32) -> Vec<u32> {
        let is_there = |&rank: &u32| self.node_of.get(rank as usize).map_or(node == 0, |&of| of == node);
        (0..self.ranks()).filter(is_there).collect()
    }

    /// Returns the number of node processes.
    pub fn nodes(&self) -> u32 {
        self.node_of.iter().max().map_or(1, |last| last + 1)
    }

    /// Returns the number of the host of a node process.
    pub fn host_of(&self, node: u32) -> u32 {
        self.host_of.get(node as usize).copied().unwrap_or(0)
    }

    /// Returns the node processes of a host, ascending.
    pub fn nodes_of(&self, host: u32) -> Vec<u32> {
        (0..self.nodes()).filter(|&node| self.host_of(node) == host).collect()
    }

    /// Tells whether the job has node processes on several hosts.
    pub fn is_spread(&self) -> bool {
        self.host_of.iter().any(|&host| host != self.host_of[0])
    }

    /// Returns the variables in which the MPI that a rank's program was built for tells where the rank is.
    pub fn told(&self, rank: u32) -> Vec<(OsString, OsString)> {
        let Some(abi) = self.blocks[self.block_of(rank)].abi else { return Vec::new() };
        let host = |rank: u32| self.host_of(self.node_of.get(rank as usize).copied().unwrap_or(0));
        let own = host(rank);
        let here = |ranks: u32| (0..ranks).filter(|&rank| host(rank) == own).count() as u32;
        let size = self.ranks();
        let (local_rank, local_size) = if self.is_spread() { (here(rank), here(size)) } else { (rank, size) };
        let all: &[(&str, u32)] = match abi {
            Abi::Mpich => &[
                ("PMI_RANK", rank),
                ("PMI_SIZE", size),
                ("MPI_LOCALRANKID", local_rank),
                ("MPI_LOCALNRANKS", local_size),
            ],
            Abi::OpenMpi => &[
                ("OMPI_COMM_WORLD_RANK", rank),
                ("OMPI_COMM_WORLD_SIZE", size),
                ("OMPI_COMM_WORLD_LOCAL_RANK", local_rank),
                ("OMPI_COMM_WORLD_LOCAL_SIZE", local_size),
                ("OMPI_COMM_WORLD_NODE_RANK", local_rank),
                ("OMPI_UNIVERSE_SIZE", self.universe.unwrap_or(size)),
            ],
        };
        all.iter().map(|(name, value)| ((*name).into(), value.to_string().into())).collect()
    }

    /// Returns the block of a rank, by its number.
    pub fn block_of(&self, rank: u32) -> usize {
        let mut first = 0;
        let holds = |block: &Block| {
            first += block.ranks;
            rank < first
        };
        self.blocks.iter().position(holds).unwrap_or(0)
    }
}

/// A number nobody outside the job can guess. It is passed in files without names and over sockets, never in arguments or
/// the environment, and does not show where a job is printed.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq)]
pub struct Secret(pub [u8; 32]);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// One program and the ranks that run it.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Block {
    /// How many ranks run it.
    pub ranks: u32,
    /// The program's file.
    pub program: PathBuf,
    /// The arguments, the program's name first.
    pub arguments: Vec<OsString>,
    /// Variables of this block only, over the environment of the node process.
    pub environment: Vec<(OsString, OsString)>,
    /// What else the command line says that `MPI_INFO_ENV` tells: keys and values.
    #[serde(default)]
    pub info: Vec<(String, String)>,
    /// Another MPI for which the program was built.
    #[serde(default)]
    pub abi: Option<Abi>,
}

/// Another MPI whose programs run with our libraries of its names.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abi {
    /// MPICH's interface, which Intel's MPI has, too.
    Mpich,
    /// Open MPI's.
    OpenMpi,
}

impl Abi {
    /// Returns whose interface a library has, by its name.
    pub fn of_library(name: &str) -> Option<Self> {
        match name.rsplit_once(".so.")?.1.split('.').next()? {
            "12" => Some(Self::Mpich),
            "40" => Some(Self::OpenMpi),
            _ => None,
        }
    }
}

impl Block {
    /// Returns what `MPI_INFO_ENV` tells of how the program was started.
    pub fn info(&self) -> Vec<(String, String)> {
        let arguments: Vec<_> = self.arguments.iter().skip(1).map(|a| a.to_string_lossy()).collect();
        let command = self.arguments.first().map_or_else(Default::default, |name| name.to_string_lossy());
        let mut pairs = vec![
            ("command".to_owned(), command.into_owned()),
            ("argv".into(), arguments.join(" ")),
            ("maxprocs".into(), self.ranks.to_string()),
        ];
        pairs.extend(self.info.iter().cloned());
        pairs
    }
}

/// Programs that a rank wants to be started as a new job.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Spawn {
    /// The programs, in rank order.
    pub blocks: Vec<SpawnBlock>,
    /// Where the new job's ranks will connect.
    pub port: String,
}

/// What a rank wants of names for ports.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub enum Name {
    /// That others find a port by a name.
    Publish {
        /// The name.
        service: String,
        /// The port.
        port: String,
    },
    /// That they do no longer.
    Unpublish {
        /// The name.
        service: String,
    },
    /// What others have published.
    LookUp {
        /// The name.
        service: String,
    },
}

/// What came of a [`Name`].
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub enum Named {
    /// Whether it was done: a name may be taken, or not be published.
    Done(bool),
    /// The port, if there is one of that name.
    Found(Option<String>),
    /// What the system refuses.
    Failed(String),
}

/// The variable that tells an `mpirun` that it has been started to start a spawned job: the descriptor of a socket, from
/// which it reads a [`Commission`], a line of JSON, and to which it writes the [`Request::Spawned`] that answers it.
pub const SPAWNED: &str = "WEFT_SPAWNED";

/// What an `mpirun` that has been started to start a spawned job is told.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Commission {
    /// The new job's number.
    pub id: u64,
    /// The number of the wish.
    pub wish: u64,
    /// What to start.
    pub spawn: Spawn,
    /// What holds for it because of where it comes from.
    pub heritage: Heritage,
}

/// What a job leaves to those that its ranks start.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct Heritage {
    /// Options that hold for all programs, as on the command line.
    pub options: Vec<OsString>,
    /// Options that say on which hosts programs run that name none.
    pub hosts: Vec<OsString>,
    /// How many ranks there are on hosts already.
    pub taken: Vec<(String, u32)>,
}

/// One program of a [`Spawn`].
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct SpawnBlock {
    /// The program, as given.
    pub program: OsString,
    /// Its arguments, without its name.
    pub arguments: Vec<OsString>,
    /// How many ranks run it.
    pub ranks: u32,
    /// Info keys and values.
    pub info: Vec<(String, String)>,
}

/// What `mpirun` asks of a node process, or answers.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub enum Request {
    /// Answer with [`Report::Ranks`].
    DescribeRanks {
        /// Say all that is known of ranks that wait: they do for ever.
        in_full: bool,
    },
    /// Answer with [`Report::Census`].
    Census {
        /// Comes back in the answer.
        round: u32,
    },
    /// Write out what is buffered, and end.
    End {
        /// The exit code.
        code: i32,
    },
    /// How the node processes can be reached: the card that each has reported, by their numbers.
    Book {
        /// By node process.
        cards: Vec<String>,
    },
    /// What came of [`Report::Spawn`].
    Spawned {
        /// The number of the wish.
        wish: u64,
        /// How many processes run each program, or why nothing was started.
        outcome: Result<Vec<u32>, String>,
        /// How many there are on which host.
        #[serde(default)]
        hosts: Vec<(String, u32)>,
    },
    /// What came of [`Report::Name`].
    Named {
        /// The number of the wish.
        wish: u64,
        /// What came of it.
        outcome: Named,
    },
    /// A job that was started has ended before it connected to those who have started it.
    NotMet {
        /// The port where they wait.
        port: String,
        /// What is known of its end.
        reason: String,
    },
}

/// What a node process reports. `Crash` and `StackFrame` are written by a signal handler (`weft-diagnose`), which formats
/// them by hand.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub enum Report {
    /// A rank got a fatal signal. Frames follow, then `CrashEnd`.
    Crash {
        /// World rank; `None` if the thread belonged to none.
        rank: Option<u32>,
        /// Signal number.
        signal: i32,
        /// `si_code`.
        code: i32,
        /// `si_addr`.
        address: u64,
        /// Lowest address and size of the stack whose guard page was hit, if that was it.
        stack: Option<(u64, u64)>,
    },
    /// One frame of the crash, innermost first.
    StackFrame(StackFrame),
    /// The crash is complete.
    CrashEnd,
    /// A rank called `MPI_Abort`, or an error handler ended the job.
    Abort {
        /// World rank.
        rank: Option<u32>,
        /// Exit code.
        code: i32,
        /// The reason, if there is more to say than the code.
        message: String,
        /// The calls in the program that led to an error, innermost first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        stack: Vec<StackFrame>,
    },
    /// A rank ended in a way that ends the job.
    RankFailed {
        /// World rank.
        rank: u32,
        /// The job's exit code.
        code: i32,
        /// What the rank did.
        message: String,
    },
    /// No rank can ever run again, or some cannot.
    Deadlock {
        /// What each rank is doing.
        ranks: Vec<RankState>,
        /// Those that cannot; nothing if none can.
        stuck: Vec<u32>,
    },
    /// What each rank is doing (answer to [`Request::DescribeRanks`]).
    Ranks {
        /// One entry per rank.
        ranks: Vec<RankState>,
    },
    /// No rank of the node process can go on before something comes from another one. Sent once for each such state.
    Rests,
    /// Whether the node process rests (answer to [`Request::Census`]).
    Census {
        /// The number in the request.
        round: u32,
        /// If it does: a number that differs after anything has happened there, what it has sent to other node processes,
        /// and what it has received from them.
        rest: Option<(u64, u64, u64)>,
    },
    /// Checking mode has found a mistake of the program.
    Finding {
        /// The rank that noticed it.
        rank: u32,
        /// What is wrong.
        message: String,
        /// The calls it concerns.
        calls: Vec<(String, Place)>,
        /// How often such a mistake was made since it was reported last.
        times: u64,
        /// What a call says of a buffer: it is a mistake only if the program declares the buffer otherwise.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        claim: Option<Box<Claim>>,
    },
    /// A rank wants programs to be started; [`Request::Spawned`] answers.
    Spawn {
        /// The number of the wish.
        wish: u64,
        /// What to start.
        spawn: Spawn,
    },
    /// A rank wants something of names, in a job that has node processes on other hosts than its `mpirun`; [`Request::Named`]
    /// answers.
    Name {
        /// The number of the wish.
        wish: u64,
        /// What it wants.
        name: Name,
    },
    /// The node process is, or is no more, connected to processes of another job.
    Met {
        /// The job's number.
        job: u64,
        /// Whether it is.
        is_connected: bool,
    },
    /// The program of a node process has found the job and takes part in it: it will report its end.
    Attached,
    /// How others can reach this node process, which waits for [`Request::Book`].
    Offers {
        /// The text of its card.
        card: String,
    },
    /// The job could not be started or held.
    Failed {
        /// What, where, which value, what to do.
        message: String,
    },
    /// What the node process has sent to other hosts; with setting `net-counts`, before [`Report::Ended`].
    Sent {
        /// How many messages of ranks, and how many of collectives.
        messages: [u64; 2],
        /// How many bytes of payload.
        bytes: u64,
    },
    /// All ranks have ended.
    Ended {
        /// The exit code of the first failing rank, or 0.
        code: i32,
    },
}

/// What a call says of its buffer, and where the buffer is.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    /// The datatype of its elements: `MPI_INT`.
    pub datatype: String,
    /// Whether they are floating-point numbers; else they are integers.
    pub is_floating: bool,
    /// The bytes of one, or of one part of a complex number.
    pub size: u64,
    /// The file of the object that holds the buffer, and the address there; empty and 0 if none does.
    pub file: String,
    /// As the file counts it.
    pub offset: u64,
    /// The buffer, relative to the canonical frame address of the function that called, if it is in that function's frame.
    pub frame: Option<i64>,
    /// The words of that function's frame that hold the buffer's address, relative to the same.
    pub words: Vec<i64>,
}

/// One call of a stack.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct StackFrame {
    /// The address in the process.
    pub address: u64,
    /// The address in the file's own numbering.
    pub offset: u64,
    /// The object's file; empty if unknown.
    pub file: String,
}

/// What one rank is doing.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct RankState {
    /// World rank.
    pub rank: u32,
    /// The state in words: `waits in MPI_Recv`.
    pub state: String,
    /// Where the rank called what it is in, in checking mode.
    pub place: Option<Place>,
    /// What it waits for, if it waits and somebody wants to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Box<Knowledge>>,
}

impl RankState {
    /// Says what a rank is doing, and no more.
    pub fn plain(rank: u32, state: &str) -> Self {
        Self { rank, state: state.into(), place: None, waits: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_show_and_survives_its_text() {
        let secret = Secret(core::array::from_fn(|i| i as u8 * 7));
        assert_eq!(format!("{secret:?}"), "Secret(…)");
        let text = serde_json::to_string(&secret).unwrap();
        assert_eq!(serde_json::from_str::<Secret>(&text).unwrap(), secret);
    }

    #[test]
    fn a_handover_survives_its_text_and_nonsense_is_refused() {
        let handover = Handover { job_fd: 7, control_fd: 12, shared_fd: NO_FD, node: 3 };
        assert_eq!(handover.to_string().parse(), Ok(handover));
        for text in ["", "1,2,3", "1,2,3,4,5", "1,2,-2,0", "-1,2,3,0", "1,2,3,x", "1,2,3,99999999999"] {
            assert!(text.parse::<Handover>().is_err(), "{text}");
        }
    }

    #[test]
    fn each_rank_is_told_where_it_is_in_the_words_of_its_mpi() {
        let block = |ranks, abi| Block {
            ranks,
            program: "program".into(),
            arguments: vec!["program".into()],
            environment: Vec::new(),
            info: Vec::new(),
            abi,
        };
        let job = Job {
            blocks: vec![block(3, Some(Abi::Mpich)), block(2, Some(Abi::OpenMpi)), block(1, None)],
            node_of: vec![0, 1, 1, 0, 2, 2],
            host_of: vec![0, 1, 0],
            universe: Some(8),
            version: String::new(),
            settings: Vec::new(),
            bind: false,
            hosts: Vec::new(),
            secret: None,
            verbose: false,
            has_names_afar: false,
            id: 0,
            parent: None,
            outputs: Vec::new(),
        };
        let told = |rank| {
            let all = job.told(rank).into_iter();
            all.map(|(name, value)| format!("{}={}", name.display(), value.display())).collect::<Vec<_>>()
        };
        assert_eq!(told(2), ["PMI_RANK=2", "PMI_SIZE=6", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2"]);
        let open = told(4);
        assert_eq!(
            open[..4],
            [
                "OMPI_COMM_WORLD_RANK=4",
                "OMPI_COMM_WORLD_SIZE=6",
                "OMPI_COMM_WORLD_LOCAL_RANK=2",
                "OMPI_COMM_WORLD_LOCAL_SIZE=4"
            ]
        );
        assert_eq!(open[5], "OMPI_UNIVERSE_SIZE=8");
        assert!(told(5).is_empty());
        assert_eq!(Abi::of_library("libmpich.so.12"), Some(Abi::Mpich));
        assert_eq!(Abi::of_library("libmpi_mpifh.so.40"), Some(Abi::OpenMpi));
        assert_eq!(Abi::of_library("libmpi_abi.so.1"), None);
    }
}
