//! What schedulers say of the hosts they have given to the job: Slurm, PBS, LSF, and the variables that Hydra reads.

use super::{Host, Hosts, check_name, file, list, slots};

/// Hosts, and who named them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocation {
    /// The variable.
    pub source: &'static str,
    /// The hosts.
    pub hosts: Vec<Host>,
}

impl Allocation {
    /// Tells whether Slurm starts processes on these hosts.
    pub fn is_of_slurm(&self) -> bool {
        self.source.starts_with("SLURM")
    }
}

/// Finds the hosts given to the job. `variable` reads the environment, `read` a file.
///
/// # Errors
/// Names the variable, and the line of the file if it names one.
pub fn find(
    variable: impl Fn(&str) -> Option<String>,
    read: impl Fn(&str) -> Result<String, String>,
) -> Result<Option<Allocation>, String> {
    let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    let made = |source: &'static str, hosts: Result<Vec<Host>, String>| {
        hosts.map(|hosts| Some(Allocation { source, hosts })).map_err(|why| format!("{source}: {why}"))
    };
    let from_file = |name: &str| {
        let text = read(name).map_err(|error| format!("{name}: {error}"))?;
        file::parse(&text).map_err(|(line, why)| at(name, line, &why))
    };
    for source in ["HYDRA_HOST_FILE", "PBS_NODEFILE", "LSB_DJOB_HOSTFILE"] {
        // A scheduler's list comes after those the user could have named.
        if source == "PBS_NODEFILE"
            && let Some((source, nodes)) = ["SLURM_JOB_NODELIST", "SLURM_NODELIST"]
                .into_iter()
                .find_map(|source| Some((source, set(source)?)))
        {
            let tasks = set("SLURM_TASKS_PER_NODE").or_else(|| set("SLURM_JOB_CPUS_PER_NODE"));
            return made(source, slurm(&nodes, tasks.as_deref()));
        }
        if let Some(name) = set(source) {
            return made(source, from_file(&name));
        }
    }
    if let Some(text) = set("LSB_MCPU_HOSTS") {
        return made("LSB_MCPU_HOSTS", pairs(&text));
    }
    if let Some(text) = set("LSB_HOSTS") {
        return made("LSB_HOSTS", names(&text));
    }
    Ok(None)
}

/// Writes a place in a file.
pub fn at(name: &str, line: usize, why: &str) -> String {
    if line == 0 { format!("{name}: {why}") } else { format!("{name}:{line}: {why}") }
}

/// Joins Slurm's list of hosts and its numbers of tasks on each: `2(x3),1`.
pub fn slurm(nodes: &str, tasks: Option<&str>) -> Result<Vec<Host>, String> {
    let mut hosts = list::parse(nodes)?;
    let Some(tasks) = tasks else { return Ok(hosts) };
    let mut counts = Vec::new();
    for part in tasks.split(',') {
        let wrong = || format!("{tasks:?}: {part:?} is no number of tasks like 2 or 2(x3)");
        let (number, times) = match part.trim().split_once("(x") {
            Some((number, times)) => {
                let times = times.strip_suffix(')').and_then(|times| times.parse::<usize>().ok());
                (number, times.filter(|times| *times <= list::MOST).ok_or_else(wrong)?)
            }
            None => (part.trim(), 1),
        };
        let number = slots(number).map_err(|_| wrong())?;
        if counts.len() + times > list::MOST {
            return Err(format!("{tasks:?}: more than {} hosts", list::MOST));
        }
        counts.extend(std::iter::repeat_n(number, times));
    }
    if counts.len() != hosts.len() {
        return Err(format!(
            "{} hosts in {nodes:?}, {} numbers of tasks in {tasks:?}",
            hosts.len(),
            counts.len()
        ));
    }
    hosts.iter_mut().zip(counts).for_each(|(host, count)| host.slots = Some(count));
    Ok(hosts)
}

/// Reads LSF's `host1 4 host2 8`.
pub fn pairs(text: &str) -> Result<Vec<Host>, String> {
    let words: Vec<_> = text.split_whitespace().collect();
    let mut hosts = Hosts::default();
    for pair in words.chunks(2) {
        let [name, number] = pair else { return Err(format!("{:?} has no number of slots", pair[0])) };
        check_name(name)?;
        hosts.add(Host { slots: Some(slots(number)?), ..Host::named(*name) });
    }
    Ok(hosts.into_list())
}

/// Reads LSF's `host1 host1 host2`: a slot each.
pub fn names(text: &str) -> Result<Vec<Host>, String> {
    let mut hosts = Hosts::default();
    for name in text.split_whitespace() {
        check_name(name)?;
        hosts.add(Host::named(name));
    }
    let mut hosts = hosts.into_list();
    hosts.iter_mut().for_each(|host| host.slots = host.slots.or(Some(1)));
    Ok(hosts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)], text: &str) -> String {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        match find(variable, |_| Ok(text.to_owned())) {
            Ok(None) => "nothing".into(),
            Ok(Some(Allocation { source, hosts })) => {
                let host = |host: &Host| format!(" {}={}", host.name, host.slots.unwrap_or(0));
                source.to_owned() + &hosts.iter().map(host).collect::<String>()
            }
            Err(why) => why,
        }
    }

    #[test]
    fn every_scheduler_is_understood() {
        for (variables, text, expected) in [
            (&[][..], "", "nothing"),
            (
                &[("SLURM_JOB_NODELIST", "n[1-3],x"), ("SLURM_TASKS_PER_NODE", "2(x3),1")],
                "",
                "SLURM_JOB_NODELIST n1=2 n2=2 n3=2 x=1",
            ),
            (&[("SLURM_NODELIST", "n1"), ("SLURM_JOB_CPUS_PER_NODE", "8")], "", "SLURM_NODELIST n1=8"),
            (&[("SLURM_NODELIST", "n[1-2]")], "", "SLURM_NODELIST n1=0 n2=0"),
            (&[("PBS_NODEFILE", "f")], "a\na\nb\n", "PBS_NODEFILE a=2 b=0"),
            (&[("LSB_DJOB_HOSTFILE", "f"), ("LSB_HOSTS", "z")], "a\na\n", "LSB_DJOB_HOSTFILE a=2"),
            (&[("LSB_MCPU_HOSTS", "a 4 b 2")], "", "LSB_MCPU_HOSTS a=4 b=2"),
            (&[("LSB_HOSTS", "a a b")], "", "LSB_HOSTS a=2 b=1"),
            (
                &[("HYDRA_HOST_FILE", "f"), ("SLURM_NODELIST", "n1")],
                "p-0:1\np-1:1",
                "HYDRA_HOST_FILE p-0=1 p-1=1",
            ),
            (&[("PBS_NODEFILE", ""), ("SLURM_NODELIST", " ")], "", "nothing"),
        ] {
            assert_eq!(found(variables, text), expected);
        }
    }

    #[test]
    fn mistakes_name_the_variable() {
        for (variables, text, part) in [
            (&[("SLURM_NODELIST", "n[1-3]"), ("SLURM_TASKS_PER_NODE", "2")][..], "", "3 hosts"),
            (&[("SLURM_NODELIST", "n1"), ("SLURM_TASKS_PER_NODE", "2(y3)")], "", "\"2(y3)\" is no number"),
            (&[("SLURM_NODELIST", "n1"), ("SLURM_TASKS_PER_NODE", "1(x99999999)")], "", "no number"),
            (&[("SLURM_NODELIST", "n[")], "", "SLURM_NODELIST: "),
            (&[("PBS_NODEFILE", "f")], "a\n$b", "PBS_NODEFILE: f:2: "),
            (&[("LSB_MCPU_HOSTS", "a 4 b")], "", "\"b\" has no number"),
            (&[("LSB_HOSTS", "a -b")], "", "LSB_HOSTS: "),
        ] {
            let text = found(variables, text);
            assert!(text.contains(part), "{text}");
        }
    }
}
