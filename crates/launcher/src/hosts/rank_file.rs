//! Rank files: `rank N=HOST slot=LIST` on each line says where a rank runs, and perhaps on which processors.

use super::{Host, check_name};
use std::collections::{BTreeMap, HashMap};

/// Where a rank runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    /// The place of the host in the list of hosts.
    pub host: u32,
    /// The processors it is bound to; empty if nobody has said.
    pub processors: Vec<usize>,
}

/// Reads a rank file. Hosts that are not in the list yet are added to it; `+nI` is the host at place I of the list.
///
/// # Errors
/// The number of the line and what is wrong there; 0 if the whole file is.
pub fn parse(text: &str, hosts: &mut Vec<Host>) -> Result<Vec<Seat>, (usize, String)> {
    let mut seats = BTreeMap::new();
    let mut places: HashMap<String, usize> =
        hosts.iter().enumerate().rev().map(|(place, host)| (host.name.clone(), place)).collect();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let (rank, seat) = parse_line(line, hosts, &mut places).map_err(|why| (index + 1, why))?;
        if seats.insert(rank, seat).is_some() {
            return Err((index + 1, format!("rank {rank} has a line already")));
        }
    }
    match seats.keys().zip(0u32..).find(|(rank, expected)| **rank != *expected) {
        Some((_, missing)) => Err((0, format!("rank {missing} has no line"))),
        None if seats.is_empty() => Err((0, "names no rank".into())),
        None => Ok(seats.into_values().collect()),
    }
}

/// Reads a line. `places` says where in `hosts` each name is.
fn parse_line(
    line: &str,
    hosts: &mut Vec<Host>,
    places: &mut HashMap<String, usize>,
) -> Result<(u32, Seat), String> {
    let wrong = || format!("{line:?}: write rank N=HOST, perhaps followed by slot=LIST");
    let rest = line.strip_prefix("rank").filter(|rest| rest.starts_with([' ', '\t'])).ok_or_else(wrong)?;
    let (number, rest) = rest.split_once('=').ok_or_else(wrong)?;
    let number: u32 =
        number.trim().parse().map_err(|_| format!("{:?} is no rank's number", number.trim()))?;
    let mut words = rest.split_whitespace();
    let name = words.next().ok_or_else(wrong)?;
    let host = match name.strip_prefix("+n") {
        Some(place) => {
            let place: u32 = place.parse().map_err(|_| format!("{name:?}: no place in the list of hosts"))?;
            if place as usize >= hosts.len() {
                return Err(format!("{name:?}: there are {} hosts, counted from +n0", hosts.len()));
            }
            place
        }
        None => {
            check_name(name)?;
            let place = *places.entry(name.to_owned()).or_insert(hosts.len());
            if place == hosts.len() {
                hosts.push(Host::named(name));
            }
            place as u32
        }
    };
    let mut processors = Vec::new();
    for word in words {
        match word.split_once('=') {
            Some(("slot" | "slots", list)) if processors.is_empty() => processors = numbers(list)?,
            _ => {
                return Err(format!(
                    "{word:?}: known is slot=LIST with numbers of processors, like slot=0,2-3"
                ));
            }
        }
    }
    Ok((number, Seat { host, processors }))
}

/// Reads numbers of processors: `0,2-3`.
fn numbers(list: &str) -> Result<Vec<usize>, String> {
    let mut found = Vec::new();
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        match (first.parse::<usize>(), last.parse::<usize>()) {
            (Ok(first), Ok(last)) if first <= last && last < 65_536 => found.extend(first..=last),
            _ => return Err(format!("slot={list}: {range:?} is no range of processors; write slot=0,2-3")),
        }
        if found.len() > 65_536 {
            return Err(format!("slot={list}: too many processors"));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seats_come_in_the_order_of_ranks() {
        let mut hosts = vec![Host::named("a"), Host::named("b")];
        let text = "# ranks\nrank 1=b slot=0,2-3\nrank 0=c\nrank  2 = +n0 slot=1 # here\n";
        let seats = parse(text, &mut hosts).unwrap();
        let found: Vec<_> = seats.iter().map(|seat| (seat.host, &*seat.processors)).collect();
        assert_eq!(found, [(2, &[][..]), (1, &[0, 2, 3]), (0, &[1])]);
        assert_eq!(hosts[2].name, "c");
    }

    #[test]
    fn mistakes_name_their_line() {
        for (text, line, part) in [
            ("rank 0=a\nrank 2=a", 0, "rank 1 has no line"),
            ("rank 0=a\nrank 0=a", 2, "has a line already"),
            ("rank x=a", 1, "\"x\" is no rank"),
            ("rank 0 a", 1, "write rank N=HOST"),
            ("ranks 0=a", 1, "write rank N=HOST"),
            ("rank 0=+n3", 1, "there are 0 hosts"),
            ("rank 0=a slot=1:0", 1, "no range of processors"),
            ("rank 0=a core=1", 1, "known is slot=LIST"),
            ("rank 0=-a", 1, "like an option"),
            ("", 0, "names no rank"),
        ] {
            let (number, why) = parse(text, &mut Vec::new()).unwrap_err();
            assert!(number == line && why.contains(part), "{text:?}: {number}: {why}");
        }
    }
}
