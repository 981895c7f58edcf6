//! Lists of hosts in one text: `a,b:4,node[01-16,20]`, as options and schedulers write them.

use super::{Host, Hosts, LONGEST_NAME, check_name, slots};

/// How many names a text may stand for: more than any machine has hosts.
pub const MOST: usize = 100_000;

/// Reads a list of hosts, divided by commas, each perhaps with `:SLOTS`, numbers in brackets standing for several.
///
/// # Errors
/// Says what is wrong with which part.
pub fn parse(text: &str) -> Result<Vec<Host>, String> {
    let (mut hosts, mut written) = (Hosts::default(), 0);
    for part in split(text)? {
        let part = part.trim();
        if part.is_empty() {
            return Err(format!("{text:?}: a name is missing between commas"));
        }
        let (names, count) = names_and_slots(part)?;
        let names = expand(names)?;
        written += names.len();
        if written > MOST {
            return Err(format!("up to {part:?} these are more than {MOST} names of hosts; name fewer"));
        }
        for name in names {
            check_name(&name)?;
            hosts.add(Host { slots: count, ..Host::named(name) });
        }
    }
    Ok(hosts.into_list())
}

/// Divides `NAME:SLOTS`. An address of version 6 has colons of its own; with slots it must be in brackets: `[fe80::1]:4`.
pub(super) fn names_and_slots(part: &str) -> Result<(&str, Option<u32>), String> {
    if let Some((address, rest)) = bracketed_address(part) {
        return match rest.strip_prefix(':') {
            Some(number) => Ok((address, Some(slots(number)?))),
            None if rest.is_empty() => Ok((address, None)),
            None => Err(format!("{part:?}: {rest:?} after the address; write [ADDRESS]:SLOTS")),
        };
    }
    match part.split_once(':') {
        Some((name, number)) if !number.contains(':') => Ok((name, Some(slots(number)?))),
        _ => Ok((part, None)),
    }
}

/// Splits off an address of version 6 in brackets.
fn bracketed_address(part: &str) -> Option<(&str, &str)> {
    let (address, rest) = part.strip_prefix('[')?.split_once(']')?;
    address.contains(':').then_some((address, rest))
}

/// Splits at commas that are not in brackets.
fn split(text: &str) -> Result<Vec<&str>, String> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0);
    for (at, character) in text.char_indices() {
        match character {
            '[' if depth == 1 => return Err(format!("{text:?}: a bracket within brackets")),
            '[' => depth = 1,
            ']' if depth == 0 => return Err(format!("{text:?}: a bracket closes that was not opened")),
            ']' => depth = 0,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if depth != 0 {
        return Err(format!("{text:?}: a bracket is not closed"));
    }
    parts.push(&text[start..]);
    Ok(parts)
}

/// Writes out what brackets stand for: `a[1-2]b[03,07]` is `a1b03`, `a1b07`, `a2b03`, `a2b07`.
fn expand(text: &str) -> Result<Vec<String>, String> {
    if text.contains(':') {
        return Ok(vec![text.to_owned()]);
    }
    // How many names there are, and how long they may be, is known before any of them is written.
    let (mut pieces, mut count, mut length) = (Vec::new(), 1, 0);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        let (inside, after) =
            after.split_once(']').ok_or_else(|| format!("{text:?}: a bracket is not closed"))?;
        let numbers = numbers(inside).map_err(|why| format!("{text:?}: {why}"))?;
        count *= numbers.len();
        if count > MOST {
            return Err(format!("{text:?} stands for more than {MOST} hosts; name fewer"));
        }
        length += before.len() + numbers.iter().map(String::len).max().unwrap_or(0);
        if length > LONGEST_NAME {
            return Err(format!("{text:?}: a host's name has at most {LONGEST_NAME} characters"));
        }
        pieces.push((before, numbers));
        rest = after;
    }
    let name = |index: usize| {
        // The last bracket's number changes fastest.
        let (mut name, mut run) = (String::with_capacity(length + rest.len()), count);
        for (before, numbers) in &pieces {
            run /= numbers.len();
            name.push_str(before);
            name.push_str(&numbers[index / run % numbers.len()]);
        }
        name + rest
    };
    Ok((0..count).map(name).collect())
}

/// Writes out the numbers of a bracket, as wide as the first of their range.
fn numbers(inside: &str) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for range in inside.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| {
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<u64>()
                .ok()
                .filter(|_| is_number)
                .ok_or_else(|| format!("{range:?} is no range of numbers"))
        };
        let (low, high) = (number(first)?, number(last)?);
        if high < low || high - low >= MOST as u64 {
            return Err(format!("{range:?} is no range of up to {MOST} numbers"));
        }
        let width = first.len();
        if width > LONGEST_NAME {
            return Err(format!("a host's name has at most {LONGEST_NAME} characters"));
        }
        if found.len() as u64 + (high - low) >= MOST as u64 {
            return Err(format!("more than {MOST} numbers"));
        }
        found.extend((low..=high).map(|number| format!("{number:0width$}")));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(text: &str) -> String {
        match parse(text) {
            Ok(hosts) => hosts
                .iter()
                .map(|host| {
                    format!("{}{}", host.name, host.slots.map(|n| format!("={n}")).unwrap_or_default())
                })
                .collect::<Vec<_>>()
                .join(" "),
            Err(why) => format!("error: {why}"),
        }
    }

    #[test]
    fn lists_are_written_out() {
        for (text, found) in [
            ("a", "a"),
            ("a,b:4, c", "a b=4 c"),
            ("a,a,b", "a=2 b"),
            ("n[1-3]", "n1 n2 n3"),
            ("n[08-11,20]:2", "n08=2 n09=2 n10=2 n11=2 n20=2"),
            ("r[1-2]n[3,5]-ib,x", "r1n3-ib r1n5-ib r2n3-ib r2n5-ib x"),
            ("me@a:2", "me@a=2"),
            ("[fe80::1]:4,[::1]", "fe80::1=4 ::1"),
            ("fe80::1", "fe80::1"),
            ("10.0.0.[1-2]", "10.0.0.1 10.0.0.2"),
        ] {
            assert_eq!(show(text), found, "{text}");
        }
    }

    #[test]
    fn as_many_as_there_may_be_are_read() {
        let hosts = parse(&format!("n[0-{}]", MOST - 1)).unwrap();
        assert_eq!((hosts.len(), &*hosts[MOST - 1].name), (MOST, "n99999"));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (text, part) in [
            ("", "a name is missing"),
            ("a,,b", "a name is missing"),
            ("a:0", "\"0\" is no number of slots"),
            ("a:x", "\"x\" is no number of slots"),
            ("a:-1", "no number of slots"),
            ("n[1-", "not closed"),
            ("n1-3]", "was not opened"),
            ("n[[1]]", "within brackets"),
            ("n[3-1]", "\"3-1\" is no range"),
            ("n[a-b]", "no range"),
            ("n[+1]", "no range"),
            ("n[1-999999999999]", "no range"),
            ("n[1-99999]x[1-9]", "stands for more than 100000 hosts"),
            ("n[1-60000],n[1-60000]", "up to \"n[1-60000]\" these are more than 100000 names"),
            ("n[1-60000,1-60000]", "more than 100000 numbers"),
            (&format!("n[{}1]", "0".repeat(300)), "at most 255 characters"),
            (&format!("n{}", "[1]".repeat(300)), "at most 255 characters"),
            (&"n".repeat(300), "more than 255 characters"),
            ("-x", "begins like an option"),
            ("a b", "it has ' '"),
            ("[::1]x", "after the address"),
        ] {
            let shown = show(text);
            assert!(shown.starts_with("error") && shown.contains(part), "{text}: {shown}");
        }
    }
}
