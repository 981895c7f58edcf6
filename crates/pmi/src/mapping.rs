//! Which rank is on which host: the text that launchers put under the key `PMI_process_mapping`.
//!
//! `(vector,(0,2,4))` says: beginning with host 0, on 2 hosts, 4 ranks each. Hosts come again where the list is at its end
//! before the ranks are. MPICH 5 also writes a number for a single rank on that host, and `[…]x3` for what comes 3 times.

/// The key.
pub const KEY: &str = "PMI_process_mapping";

/// How deep repetitions may be nested.
const DEPTH: u32 = 8;

enum Part {
    /// So many ranks on each of some hosts.
    Hosts {
        first: u32,
        hosts: u32,
        ranks: u32,
    },
    Repeated(Vec<Part>, u32),
}

/// Returns the host of each of a job's ranks. Hosts are numbered from 0 in the order of their first ranks.
///
/// # Errors
/// Says what of the text is no mapping.
pub fn parse(text: &str, size: u32) -> Result<Vec<u32>, String> {
    let wrong = |rest: &str| format!("{KEY}={text:?} is no process mapping: {rest:?} is not expected there");
    let inner =
        text.strip_prefix("(vector,").and_then(|rest| rest.strip_suffix(')')).ok_or_else(|| wrong(text))?;
    let mut reader = Reader { rest: inner };
    let parts = reader.parts(0).ok_or_else(|| wrong(reader.rest))?;
    if !reader.rest.is_empty() {
        return Err(wrong(reader.rest));
    }
    let mut hosts = Vec::new();
    while hosts.len() < size as usize {
        let before = hosts.len();
        expand(&parts, size as usize, &mut hosts);
        if hosts.len() == before {
            return Err(format!("{KEY}={text:?} has no place for a rank"));
        }
    }
    let mut known: Vec<u32> = Vec::new();
    let mut numbers = std::collections::HashMap::new();
    for host in &mut hosts {
        *host = *numbers.entry(*host).or_insert_with(|| {
            known.push(*host);
            known.len() as u32 - 1
        });
    }
    Ok(hosts)
}

/// Adds the hosts of ranks until there are `size`.
fn expand(parts: &[Part], size: usize, hosts: &mut Vec<u32>) {
    for part in parts {
        match part {
            Part::Hosts { first, hosts: count, ranks } => {
                for host in (0..*count).take_while(|_| *ranks > 0) {
                    let room = size - hosts.len();
                    let Some(number) = first.checked_add(host).filter(|_| room > 0) else { break };
                    hosts.extend(core::iter::repeat_n(number, room.min(*ranks as usize)));
                }
            }
            Part::Repeated(parts, times) => {
                for _ in 0..*times {
                    let before = hosts.len();
                    expand(parts, size, hosts);
                    if hosts.len() == before {
                        break;
                    }
                }
            }
        }
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn skip(&mut self, character: char) -> Option<()> {
        self.rest = self.rest.strip_prefix(character)?;
        Some(())
    }

    fn number(&mut self) -> Option<u32> {
        let end = self.rest.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(self.rest.len());
        let number = self.rest[..end].parse().ok()?;
        self.rest = &self.rest[end..];
        Some(number)
    }

    fn parts(&mut self, depth: u32) -> Option<Vec<Part>> {
        let mut parts = vec![self.part(depth)?];
        while self.skip(',').is_some() {
            parts.push(self.part(depth)?);
        }
        Some(parts)
    }

    fn part(&mut self, depth: u32) -> Option<Part> {
        if self.skip('(').is_some() {
            let first = self.number()?;
            self.skip(',')?;
            let hosts = self.number()?;
            self.skip(',')?;
            let ranks = self.number()?;
            self.skip(')')?;
            Some(Part::Hosts { first, hosts, ranks })
        } else if depth < DEPTH && self.skip('[').is_some() {
            let parts = self.parts(depth + 1)?;
            self.skip(']')?;
            self.skip('x')?;
            Some(Part::Repeated(parts, self.number()?))
        } else {
            Some(Part::Hosts { first: self.number()?, hosts: 1, ranks: 1 })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn mappings_of_known_launchers_are_read() {
        let of = |text, size| parse(text, size).unwrap();
        assert_eq!(of("(vector,(0,1,2))", 2), [0, 0]);
        assert_eq!(of("(vector,(0,2,2))", 4), [0, 0, 1, 1]);
        assert_eq!(of("(vector,(0,2,1))", 5), [0, 1, 0, 1, 0]);
        assert_eq!(of("(vector,(0,1,2),(1,1,3),(0,1,2))", 7), [0, 0, 1, 1, 1, 0, 0]);
        assert_eq!(of("(vector,0)", 1), [0]);
        assert_eq!(of("(vector,0,(1,1,2),0)", 4), [0, 1, 1, 0]);
        assert_eq!(of("(vector,[(0,3,1)]x2,0)", 7), [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(of("(vector,[7,[3]x2]x2)", 6), [0, 1, 1, 0, 1, 1]);
    }

    #[test]
    fn what_is_no_mapping_is_refused() {
        let nested = format!("(vector,{}0{})", "[".repeat(9), "]x1".repeat(9));
        for text in [
            "",
            "(vector)",
            "(vector,)",
            "(vector,())",
            "(vector,(0,1))",
            "(vector,(0,1,1)",
            "(vector,(0,1,1)))",
            "(0,1,1)",
            "(vector,(0,1,1),)",
            "(vector,(0,-1,1))",
            "(vector,(0,1,0))",
            "(vector,[0]x0)",
            "(vector,(99999999999,1,1))",
            "(vector,[(0,4294967295,0)]x4294967295)",
            &nested,
        ] {
            assert!(parse(text, 4).is_err(), "{text}");
        }
        assert!(parse("(vector,(4294967295,2,1))", 2).is_ok(), "a host past the last number is left out");
    }

    proptest! {
        #[test]
        fn any_text_is_a_mapping_of_all_ranks_or_refused(text in "\\(vector,[\\[\\](),x0-9]{0,40}\\)", size in 0_u32..300) {
            if let Ok(hosts) = parse(&text, size) {
                prop_assert_eq!(hosts.len(), size as usize);
                let mut known = 0;
                for host in hosts {
                    prop_assert!(host <= known, "numbered in order");
                    known = known.max(host + 1);
                }
            }
        }

        #[test]
        fn runs_of_hosts_are_where_they_are_said_to_be(runs in proptest::collection::vec((0_u32..9, 1_u32..4, 1_u32..5), 1..5)) {
            let text: Vec<String> = runs.iter().map(|(first, hosts, ranks)| format!("({first},{hosts},{ranks})")).collect();
            let each = |&(first, hosts, ranks): &(u32, u32, u32)| {
                (first..first + hosts).flat_map(move |host| (0..ranks).map(move |_| host))
            };
            let expected: Vec<u32> = runs.iter().flat_map(each).collect();
            let found = parse(&format!("(vector,{})", text.join(",")), expected.len() as u32).unwrap();
            for (one, other) in (0..expected.len()).flat_map(|one| (0..one).map(move |other| (one, other))) {
                prop_assert_eq!(expected[one] == expected[other], found[one] == found[other]);
            }
        }
    }
}
