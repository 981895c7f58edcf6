//! From the command line to what will be started: programs found and judged, environments settled.

use crate::agents::errand::{Binding, Errand, Kind, NodeProcess, Site, processors};
use crate::agents::rsh::Launcher;
use crate::command_line::foreign;
use crate::command_line::limits;
use crate::command_line::line::{Block, CommandLine, ForeignAbi, HostsFrom, Inherit, Output, RanksAs};
use crate::command_line::resolve;
use crate::command_line::resolve::Ranks;
use crate::command_line::settings;
use crate::command_line::stop::Stop;
use crate::hosts::allocation::{self, Allocation};
use crate::hosts::placement::{Dealer, all_slots};
use crate::hosts::rank_file::Seat;
use crate::hosts::{Host, file, list, rank_file};
use crate::reports::ranks::intervals;
use crate::reports::report;
use crate::tools::check;
use crate::tools::install::Installation;
use crate::tools::watchers;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;
use weft_base::job;
use weft_base::say;
use weft_base::settings::{BIND, CHECK, CHECK_SENDS, HEARTBEAT, LAUNCH_WIDTH, TIMEOUT, WORKERS};

/// A job ready to be started.
#[derive(Debug)]
pub struct Plan {
    /// The job, its hosts and their node processes.
    pub errand: Errand,
    /// The number of this host, if the job has node processes here.
    pub own_host: Option<u32>,
    /// What becomes of their output, if they are programs and it is not just passed on.
    pub output: Option<Output>,
    /// When to give up.
    pub timeout: Option<Duration>,
    /// Whether findings of checking mode fail the job.
    pub findings_fail: bool,
    /// Whether checking mode lets all standard sends wait.
    pub sends_wait: bool,
    /// The parts of the installation.
    pub installation: Installation,
    /// Options that say on which hosts jobs run that ranks start.
    pub hosts: Vec<OsString>,
    /// How many ranks the job has on which host.
    pub own_ranks: Vec<(String, u32)>,
    /// Likewise, those of other jobs included that were there before.
    pub taken: Vec<(String, u32)>,
}

type Environment = BTreeMap<OsString, OsString>;

/// Makes the environment all ranks have in common.
fn common_environment(line: &CommandLine) -> Environment {
    let passes = |name: &OsString| match &line.inherit {
        Inherit::All => true,
        Inherit::Only(names) => {
            let text = name.to_string_lossy();
            names.contains(name)
                || text.starts_with("WEFT_")
                || ["PATH", "HOME", "LD_LIBRARY_PATH"].contains(&&*text)
        }
    };
    let inherited = std::env::vars_os().filter(|(name, _)| passes(name));
    inherited.chain(line.environment.iter().cloned()).collect()
}

/// Returns what a block's variables are, leaving out what `mpirun` itself does not have.
fn block_environment(block: &Block) -> Result<Vec<(OsString, OsString)>, Stop> {
    let mut result = Vec::new();
    for (name, value) in &block.environment {
        match value.clone().or_else(|| std::env::var_os(name)) {
            Some(value) => result.push((name.clone(), value)),
            None => {
                let name = name.to_string_lossy();
                say!(
                    "mpirun: -x {name}: not set here, so ranks do not get it; write -x {name}=VALUE to set it"
                );
            }
        }
    }
    Ok(result)
}

/// Finds the programs and judges them; returns the blocks, and why ranks are to be processes if they are. Says what they
/// share if they are threads all the same.
fn find_programs(
    line: &CommandLine,
    ranks_as: RanksAs,
    environment: &Environment,
    default_ranks: u32,
    folder: &Path,
) -> Result<(Vec<job::Block>, Vec<String>), Stop> {
    let search = environment.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    let (mut blocks, mut reasons) = (Vec::new(), Vec::new());
    let mut judged: Vec<(PathBuf, Vec<PathBuf>)> = Vec::new();
    let mut all_could_be_threads = true;
    for block in &line.blocks {
        let directory = block.directory.as_deref();
        if let Some(directory) = directory.filter(|directory| !directory.is_dir()) {
            return Err(Stop::new(crate::USAGE, format!("-wdir {}: no such directory", directory.display())));
        }
        let search = match &block.search {
            Some(first) => [first.as_os_str(), &search].join(OsStr::new(":")),
            None => search.clone(),
        };
        let program = resolve::find(&block.program, directory, &search)?;
        let own = block_environment(block)?;
        let name = OsStr::new("LD_PRELOAD");
        let preload = own.iter().rfind(|(known, _)| known == name).map(|(_, value)| value);
        let preload = preload.or_else(|| environment.get(name)).filter(|value| !value.is_empty());
        let tools = preload.map_or_else(Vec::new, |value| resolve::preload(value, directory).tools);
        let to_judge = (program.clone(), tools);
        if !judged.contains(&to_judge) {
            match resolve::judge(&program, &to_judge.1, ranks_as)? {
                Ranks::Threads(shared) => shared.iter().for_each(|what| {
                    say!("mpirun: --ranks-as threads: all ranks share what these act on: {what}");
                }),
                Ranks::Processes { why, could_be_threads } => {
                    all_could_be_threads &= could_be_threads;
                    for line in why {
                        if !reasons.contains(&line) {
                            reasons.push(line);
                        }
                    }
                }
            }
            if line.verbose {
                check::say_what_is_not_done(&program);
            }
            judged.push(to_judge);
        }
        let arguments = [block.program.clone()].into_iter().chain(block.arguments.iter().cloned()).collect();
        let ranks = block.ranks.unwrap_or(default_ranks);
        let info = block.info.clone();
        let abi = foreign::abi(&program, line.abi);
        blocks.push(job::Block { ranks, program, arguments, environment: own, info, abi });
    }
    // Where ranks are threads, the loader takes our libraries by itself.
    if !reasons.is_empty() {
        for block in &mut blocks {
            let own = &block.environment;
            let own = |name: &OsStr| own.iter().rfind(|(known, _)| known == name).map(|(_, value)| value);
            let known = |name: &OsStr| own(name).or_else(|| environment.get(name)).cloned();
            let added = foreign::environment(&block.program, line.abi, folder, known);
            block.environment.extend(added);
        }
    }
    if let (Some(per_process @ 2..), false) = (line.ranks_per_process, reasons.is_empty()) {
        let text = format!("--ranks-per-process {per_process}: ranks cannot be threads, because");
        let remedy = if all_could_be_threads {
            "remedy: leave --ranks-per-process out, or add --ranks-as threads if no rank is disturbed by that"
        } else {
            "remedy: leave --ranks-per-process out"
        };
        let lines = [text].into_iter().chain(reasons).chain([remedy.into()]);
        return Err(Stop::new(crate::USAGE, lines.collect::<Vec<_>>().join("\n  ")));
    }
    let total: u64 = blocks.iter().map(|block| u64::from(block.ranks)).sum();
    if total > i32::MAX as u64 {
        return Err(Stop::new(
            crate::USAGE,
            format!("{total} ranks: more than MPI can number ({})", i32::MAX),
        ));
    }
    Ok((blocks, reasons))
}

/// The hosts of a job, and where its ranks are.
struct Placed {
    hosts: Vec<Host>,
    /// The place in `hosts` of each rank.
    seats: Vec<Seat>,
}

/// Finds the hosts that options or a scheduler name: those of every program, the same list for those that share one.
fn find_hosts(line: &CommandLine) -> Result<(Vec<Vec<Host>>, Option<Allocation>), Stop> {
    let read = |name: &str| std::fs::read_to_string(name).map_err(|error| error.to_string());
    let mut allocated = None;
    let mut found = Vec::new();
    for block in &line.blocks {
        found.push(match &block.hosts {
            Some(HostsFrom::List(text)) => {
                list::parse(text).map_err(|why| Stop::usage(format!("-hosts {text}: {why}")))?
            }
            Some(HostsFrom::File(name)) => {
                let shown = name.display().to_string();
                let text =
                    read(&shown).map_err(|error| Stop::usage(format!("-hostfile {shown}: {error}")))?;
                file::parse(&text).map_err(|(line, why)| Stop::usage(allocation::at(&shown, line, &why)))?
            }
            None => {
                if allocated.is_none() {
                    let variable = |name: &str| std::env::var(name).ok();
                    allocated = allocation::find(variable, read).map_err(Stop::usage)?;
                }
                allocated.as_ref().map(|allocation| allocation.hosts.clone()).unwrap_or_default()
            }
        });
    }
    Ok((found, allocated))
}

/// Tells whether a name is this host's.
fn is_own(name: &str, own: &str) -> bool {
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let is_address = name.contains(':') || name.split('.').all(|part| part.parse::<u8>().is_ok());
    ["localhost", "127.0.0.1", "::1", own].contains(&name) || !is_address && short(name) == short(own)
}

/// Places the ranks of all programs on their hosts, where others have some slots already.
fn place(
    line: &CommandLine,
    lists: &[Vec<Host>],
    blocks: &[job::Block],
    taken: &[(String, u32)],
) -> Result<Placed, Stop> {
    let policy = line.placing.policy;
    let mut hosts: Vec<Host> = lists.first().cloned().unwrap_or_default();
    let total = blocks.iter().map(|block| block.ranks).sum::<u32>();
    if let Some(name) = &line.placing.rank_file {
        let shown = name.display().to_string();
        let text = std::fs::read_to_string(name)
            .map_err(|error| Stop::usage(format!("-rankfile {shown}: {error}")))?;
        let mut seats = rank_file::parse(&text, &mut hosts)
            .map_err(|(line, why)| Stop::usage(allocation::at(&shown, line, &why)))?;
        if (seats.len() as u64) < u64::from(total) {
            let why = format!("has lines for {} ranks; the job has {total}", seats.len());
            return Err(Stop::usage(format!("-rankfile {shown}: {why}")));
        }
        seats.truncate(total as usize);
        return Ok(Placed { hosts, seats });
    }
    let mut seats = Vec::new();
    let mut dealer: Option<(usize, Dealer<'_>)> = None;
    for (index, block) in blocks.iter().enumerate() {
        // Programs that share a list go on where the one before ended.
        if dealer.as_ref().is_none_or(|(of, _)| lists[*of] != lists[index]) {
            dealer = Some((index, Dealer::new(&lists[index], policy, taken)));
        }
        let Some((_, dealer)) = &mut dealer else { continue };
        let dealt = dealer.deal(block.ranks).map_err(Stop::usage)?;
        for place in dealt {
            let host = &lists[index][place as usize];
            let number = hosts.iter().position(|known| known.name == host.name).unwrap_or_else(|| {
                hosts.push(host.clone());
                hosts.len() - 1
            });
            seats.push(Seat { host: number as u32, processors: Vec::new() });
        }
    }
    Ok(Placed { hosts, seats })
}

/// Plans a process for each rank. The number of a node process is its rank.
fn programs(
    line: &CommandLine,
    job: &mut job::Job,
    environments: &mut Vec<Environment>,
    placed: &Placed,
    installation: &Installation,
) -> Vec<(u32, NodeProcess)> {
    let common = environments.remove(0);
    let mut nodes = Vec::new();
    for (block, (held, given)) in job.blocks.iter_mut().zip(&line.blocks).enumerate() {
        let mut environment = common.clone();
        environment.extend(std::mem::take(&mut held.environment));
        watchers::instruct(installation, &held.program, &mut environment);
        environments.push(environment);
        for _ in 0..held.ranks {
            let rank = nodes.len() as u32;
            let seat = &placed.seats[rank as usize];
            nodes.push((
                seat.host,
                NodeProcess {
                    number: rank,
                    kind: Kind::Program { rank, block },
                    environment: block,
                    directory: given.directory.clone(),
                    processors: seat.processors.clone(),
                    has_input: rank == 0,
                },
            ));
        }
    }
    job.node_of = (0..nodes.len() as u32).collect();
    nodes
}

/// Plans processes that hold `per_process` ranks each as threads; `None` for one on each host that holds all ranks there. The
/// ranks of a process share its working directory, so programs with other directories are in other processes.
fn holders(
    line: &CommandLine,
    job: &mut job::Job,
    environments: &mut [Environment],
    placed: &Placed,
) -> Vec<(u32, NodeProcess)> {
    // What all blocks agree on is the process's environment; what they differ in is each rank's.
    if job.blocks.iter().all(|block| block.environment == job.blocks[0].environment) {
        for block in &mut job.blocks {
            environments[0].extend(std::mem::take(&mut block.environment));
        }
    }
    let per_process = line.ranks_per_process.unwrap_or(u32::MAX);
    let mut nodes: Vec<(u32, NodeProcess)> = Vec::new();
    let mut node_of = vec![0; placed.seats.len()];
    for host in 0..placed.hosts.len() as u32 {
        let here = (0..).zip(&placed.seats).filter(|(_, seat)| seat.host == host);
        // By directory: the process that has room, and how many ranks it holds.
        let mut open: BTreeMap<Option<&Path>, (u32, u32)> = BTreeMap::new();
        for (rank, _) in here {
            let directory = line.blocks[job.block_of(rank)].directory.as_deref();
            let (number, held) = open.entry(directory).or_insert((0, per_process));
            if *held == per_process {
                (*number, *held) = (nodes.len() as u32, 0);
                nodes.push((
                    host,
                    NodeProcess {
                        number: nodes.len() as u32,
                        kind: Kind::Threads,
                        environment: 0,
                        directory: directory.map(Path::to_owned),
                        processors: Vec::new(),
                        has_input: false,
                    },
                ));
            }
            *held += 1;
            node_of[rank as usize] = *number;
        }
    }
    if let Some((_, node)) = nodes.get_mut(node_of.first().copied().unwrap_or(0) as usize) {
        node.has_input = true;
    }
    if nodes.len() > 1 {
        job.node_of = node_of;
    }
    nodes
}

/// Tells whether programs have different working directories.
fn have_several_directories(line: &CommandLine) -> bool {
    line.blocks.windows(2).any(|pair| pair[0].directory != pair[1].directory)
}

/// Returns how many ranks the hosts of all programs are meant for (`MPI_UNIVERSE_SIZE`), if somebody has said it: their slots,
/// one where nobody has, or the job's ranks if those are more.
fn universe(lists: &[Vec<Host>], ranks: u32) -> Option<u32> {
    let mut slots: BTreeMap<&str, Option<u32>> = BTreeMap::new();
    for host in lists.iter().flatten() {
        let known = slots.entry(&host.name).or_default();
        *known = (*known).max(host.slots);
    }
    if slots.values().all(Option::is_none) {
        return None;
    }
    let all = slots.values().fold(0u32, |sum, count| sum.saturating_add(count.unwrap_or(1)));
    Some(all.clamp(ranks, i32::MAX as u32))
}

/// Divides node processes by their hosts; hosts without any are left out. Returns the sites and this host's number.
fn divide(job: &mut job::Job, nodes: Vec<(u32, NodeProcess)>, placed: &Placed) -> (Vec<Site>, Option<u32>) {
    let own_name = report::host();
    let mut sites: Vec<Site> = Vec::new();
    let mut number_of: BTreeMap<u32, usize> = BTreeMap::new();
    let mut own_host = None;
    let mut host_of = vec![0; nodes.len()];
    for (place, node) in nodes {
        let host = *number_of.entry(place).or_insert_with(|| {
            let host = placed.hosts.get(place as usize);
            let is_here = host.is_none_or(|host| is_own(host.short(), &own_name));
            let name = host.map_or_else(|| own_name.clone(), |host| host.name.clone());
            if let (true, Some(number)) = (is_here, own_host) {
                return number as usize;
            }
            let number = sites.len() as u32;
            own_host = own_host.or(is_here.then_some(number));
            sites.push(Site { host: number, name, nodes: Vec::new() });
            number as usize
        });
        host_of[node.number as usize] = host as u32;
        sites[host].nodes.push(node);
    }
    if sites.len() > 1 {
        job.host_of = host_of;
        job.hosts = sites.iter().map(|site| site.name.clone()).collect();
    }
    (sites, own_host)
}

/// Makes a number nobody can guess.
fn secret() -> Result<job::Secret, Stop> {
    let drawn = weft_handshake::draw();
    drawn
        .map(job::Secret)
        .map_err(|error| Stop::new(1, format!("no random numbers for the job's secret: {error}")))
}

/// Returns a number that no other job has.
pub fn number_of_job() -> u64 {
    u128::from_ne_bytes(weft_sys::local_socket::random().unwrap_or_default()) as u64
}

/// Returns the options that name a job's hosts for those that its ranks start; none where the environment does.
fn options_of_hosts(line: &CommandLine, placed: &Placed) -> Vec<OsString> {
    let mut given: Vec<&HostsFrom> = line.blocks.iter().filter_map(|block| block.hosts.as_ref()).collect();
    given.dedup();
    let is_used = |number: usize| placed.seats.iter().any(|seat| seat.host as usize == number);
    let listed = |is_in: &dyn Fn(usize) -> bool| {
        let hosts = placed.hosts.iter().enumerate().filter(|(number, _)| is_in(*number));
        let names: Vec<String> = hosts.map(|(_, host)| host.written()).collect();
        vec!["-hosts".into(), names.join(",").into()]
    };
    match given.as_slice() {
        [] if line.placing.rank_file.is_some() => listed(&is_used),
        [] => Vec::new(),
        [HostsFrom::List(text)] => vec!["-hosts".into(), text.into()],
        [HostsFrom::File(name)] => vec!["-hostfile".into(), name.into()],
        _ => listed(&|_| true),
    }
}

/// Counts the ranks on each host.
fn count_ranks(job: &job::Job, sites: &[Site]) -> Vec<(String, u32)> {
    let ranks = |site: &Site| site.nodes.iter().map(|node| job.ranks_of(node.number).len() as u32).sum();
    sites.iter().map(|site| (site.name.clone(), ranks(site))).collect()
}

/// Settles everything that needs no process yet; so many ranks are on hosts already.
///
/// # Errors
/// Says what stands in the way, and the remedy.
pub fn plan(line: CommandLine, taken: &[(String, u32)]) -> Result<Plan, Stop> {
    let installation = Installation::find().map_err(|error| Stop::new(1, error))?;
    if line.abi != ForeignAbi::None {
        foreign::supply(&installation);
    }
    let settings = settings::settle(&installation, line.settings.clone())?;
    let environment = common_environment(&line);
    // Several ranks in a process are threads, whatever else is said.
    let ranks_as = match line.ranks_per_process {
        Some(2..) if line.ranks_as != RanksAs::Auto => RanksAs::Threads,
        _ => line.ranks_as,
    };
    let (mut lists, allocation) = find_hosts(&line)?;
    let default_ranks = match lists.first() {
        Some(hosts) if !hosts.is_empty() => all_slots(hosts, line.placing.policy),
        _ => processors().len() as u32,
    };
    let own_name = report::host();
    lists.iter_mut().filter(|hosts| hosts.is_empty()).for_each(|hosts| hosts.push(Host::named(&own_name)));
    let (blocks, reasons) =
        find_programs(&line, ranks_as, &environment, default_ranks, &installation.foreign)?;
    let names: BTreeSet<&str> = lists.iter().flatten().map(|host| host.name.as_str()).collect();
    let is_here = names.iter().any(|name| is_own(name, &own_name));
    let total = blocks.iter().map(|block| u64::from(block.ranks)).sum();
    // A file of ranks may name further hosts.
    if line.placing.rank_file.is_none() {
        let others = names.len() as u64 - u64::from(is_here);
        limits::check_ranks(total, is_here, others, reasons.is_empty()).map_err(|why| Stop::new(1, why))?;
    }
    let placed = place(&line, &lists, &blocks, taken)?;
    let universe = universe(&lists, blocks.iter().map(|block| block.ranks).sum());
    let hosts = options_of_hosts(&line, &placed);
    let mut job = job::Job {
        version: env!("CARGO_PKG_VERSION").into(),
        blocks,
        // Every host settles this for itself.
        bind: false,
        settings: settings.changed()?,
        node_of: Vec::new(),
        host_of: Vec::new(),
        hosts: Vec::new(),
        secret: None,
        verbose: line.verbose,
        has_names_afar: false,
        id: number_of_job(),
        parent: None,
        universe,
        outputs: Vec::new(),
    };
    let mut environments = vec![environment];
    let nodes = if reasons.is_empty() {
        holders(&line, &mut job, &mut environments, &placed)
    } else {
        programs(&line, &mut job, &mut environments, &placed, &installation)
    };
    let (mut sites, own_host) = divide(&mut job, nodes, &placed);
    if sites.len() > 1 {
        job.secret = Some(secret()?);
    }
    let is_distant = sites.iter().any(|site| Some(site.host) != own_host);
    job.has_names_afar = is_distant;
    if is_distant {
        take_along_directory(&mut sites, own_host)?;
    }
    let is_slurm = allocation.is_some_and(|allocation| allocation.is_of_slurm());
    let (launcher, exec) = (line.placing.launcher.as_deref(), line.placing.launcher_exec.as_deref());
    let launcher = Launcher::choose(launcher, exec, is_slurm, |name| std::env::var_os(name))?;
    let seconds = settings.number(&TIMEOUT);
    let timeout = line.timeout.or((seconds > 0).then(|| Duration::from_secs(seconds)));
    let findings_fail = settings.number(&CHECK) == 2;
    let sends_wait = settings.number(&CHECK) != 0 && settings.number(&CHECK_SENDS) == 0;
    if line.verbose {
        settings.show_changed();
        if !reasons.is_empty() {
            say!("mpirun: ranks are processes, because\n  {}", reasons.join("\n  "));
        } else if have_several_directories(&line) {
            say!(
                "mpirun: ranks are in {} processes, because the ranks of one share its working directory",
                job.nodes()
            );
        }
        if is_distant {
            show(&sites, &job);
        }
    }
    let output = Some(line.output).filter(|output| *output != Output::default());
    let own_ranks = count_ranks(&job, &sites);
    let taken = [taken, &own_ranks].concat();
    let errand = Errand {
        job,
        environments: environments.into_iter().map(|environment| environment.into_iter().collect()).collect(),
        sites,
        binding: Binding { choice: settings.number(&BIND), workers: settings.number(&WORKERS) },
        launcher,
        silence: Duration::from_secs(settings.number(&HEARTBEAT)),
        width: settings.number(&LAUNCH_WIDTH) as usize,
        by_rank: output.is_some() && reasons.is_empty(),
    };
    Ok(Plan {
        errand,
        own_host,
        output,
        timeout,
        installation,
        findings_fail,
        sends_wait,
        hosts,
        own_ranks,
        taken,
    })
}

/// Lets ranks of other hosts run where `mpirun` was called, too.
fn take_along_directory(sites: &mut [Site], own_host: Option<u32>) -> Result<(), Stop> {
    let here = std::env::current_dir().map_err(|error| {
        Stop::new(1, format!("the working directory: {error}; go to another or give -wdir"))
    })?;
    for node in sites.iter_mut().filter(|site| Some(site.host) != own_host).flat_map(|site| &mut site.nodes) {
        node.directory = Some(here.join(node.directory.as_deref().unwrap_or(Path::new(""))));
    }
    Ok(())
}

/// Says which ranks are on which host.
fn show(sites: &[Site], job: &job::Job) {
    for site in sites {
        let mut ranks: Vec<u32> = site.nodes.iter().flat_map(|node| job.ranks_of(node.number)).collect();
        ranks.sort_unstable();
        say!("mpirun: host {}: ranks {}", site.name, intervals(&ranks));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_universe_is_what_is_known_of_slots() {
        let lists = |texts: &[&str]| texts.iter().map(|text| list::parse(text).unwrap()).collect::<Vec<_>>();
        for (texts, ranks, expected) in [
            (&["localhost:64"][..], 2, Some(64)),
            (&["a:4,b:2"], 2, Some(6)),
            (&["a:4,b"], 2, Some(5)),
            (&["a:4,b:2"], 9, Some(9)),
            (&["a,b"], 2, None),
            (&["a:4", "a:4"], 2, Some(4)),
            (&["a:4", "b:3,a"], 2, Some(7)),
        ] {
            assert_eq!(universe(&lists(texts), ranks), expected, "{texts:?}");
        }
        assert_eq!(universe(&[vec![Host::named("here")]], 3), None);
    }

    #[test]
    fn this_host_is_known_by_its_names() {
        for (name, own) in
            [("localhost", "a"), ("a", "a"), ("a", "a.example.org"), ("a.example.org", "a"), ("::1", "a")]
        {
            assert!(is_own(name, own), "{name} {own}");
        }
        for (name, own) in [("b", "a"), ("10.0.0.1", "10"), ("a-1", "a"), ("fe80::1", "fe80")] {
            assert!(!is_own(name, own), "{name} {own}");
        }
    }
}
