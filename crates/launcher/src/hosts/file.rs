//! Files of hosts: a host on each line, as `host`, `host:SLOTS` or `host slots=N max_slots=M user=NAME`.

use super::{Host, Hosts, check_name, list, slots};

/// Reads a file of hosts. `#` begins a comment; a host on several lines has as many slots.
///
/// # Errors
/// The number of the line and what is wrong there; 0 if the whole file is.
pub fn parse(text: &str) -> Result<Vec<Host>, (usize, String)> {
    let (mut hosts, mut written) = (Hosts::default(), 0);
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let named = parse_line(line).map_err(|why| (index + 1, why))?;
        // A line for each slot is usual, lines that repeat long lists are a mistake.
        written += named.len().saturating_sub(1);
        named.into_iter().for_each(|host| hosts.add(host));
        if written.max(hosts.count()) > list::MOST {
            return Err((
                index + 1,
                format!("up to here these are more than {} hosts; name fewer", list::MOST),
            ));
        }
    }
    match hosts.count() {
        0 => Err((0, "names no host".into())),
        _ => Ok(hosts.into_list()),
    }
}

fn parse_line(line: &str) -> Result<Vec<Host>, String> {
    let mut words = line.split_whitespace();
    let Some(name) = words.next() else { return Ok(Vec::new()) };
    if name.contains('=') {
        return Err(format!("{name:?} stands where the host's name belongs"));
    }
    let mut hosts = list::parse(name)?;
    for word in words {
        let Some((key, value)) = word.split_once('=') else {
            return Err(format!(
                "{word:?} makes no sense after a host; known are slots=N, max_slots=N and user=NAME"
            ));
        };
        match key {
            "slots" | "cpu" | "count" => {
                let number = slots(value)?;
                hosts.iter_mut().for_each(|host| host.slots = Some(number));
            }
            "max_slots" | "max-slots" => {
                let number = slots(value)?;
                hosts.iter_mut().for_each(|host| host.max_slots = Some(number));
            }
            "user" => {
                for host in &mut hosts {
                    host.name = format!("{value}@{}", host.short());
                    check_name(&host.name)?;
                }
            }
            _ => return Err(format!("{key:?} is not known; known are slots=N, max_slots=N and user=NAME")),
        }
    }
    for host in &hosts {
        if let (Some(slots), Some(most)) = (host.slots, host.max_slots)
            && most < slots
        {
            return Err(format!("max_slots={most} is less than the {slots} slots"));
        }
    }
    Ok(hosts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_syntaxes_comments_and_repetitions_are_read() {
        let text = "# a cluster\n\na slots=4 # big\n  b:2\nc max_slots=3\nn[1-2] slots=2 max-slots=8\nd user=me\nc\r\nme@e\n";
        let host = |name: &str, slots, max_slots| Host { name: name.into(), slots, max_slots };
        assert_eq!(
            parse(text).unwrap(),
            [
                host("a", Some(4), None),
                host("b", Some(2), None),
                host("c", Some(2), Some(3)),
                host("n1", Some(2), Some(8)),
                host("n2", Some(2), Some(8)),
                host("me@d", None, None),
                host("me@e", None, None),
            ]
        );
    }

    #[test]
    fn mistakes_name_their_line() {
        for (text, line, part) in [
            ("a\nb slots=x", 2, "\"x\" is no number"),
            ("a\n\nb slot=2", 3, "\"slot\" is not known"),
            ("a 4", 1, "\"4\" makes no sense"),
            ("slots=4", 1, "where the host's name belongs"),
            ("a slots=4 max_slots=2", 1, "less than"),
            ("a:0", 1, "no number of slots"),
            ("a\n-b", 2, "like an option"),
            ("# nothing\n", 0, "names no host"),
            ("a user=x;y", 1, "it has ';'"),
            ("a\nn[1-60000]\nn[1-60000]\nb", 3, "more than 100000 hosts"),
        ] {
            let (number, why) = parse(text).unwrap_err();
            assert!(number == line && why.contains(part), "{text:?}: {number}: {why}");
        }
    }
}
