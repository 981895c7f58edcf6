//! How ranks are written in reports.

/// Ranks listed one by one before the rest is counted.
const LISTED: usize = 20;

/// Writes ascending numbers briefly: `0, 3-7`.
pub fn intervals(ranks: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for rank in ranks {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *rank => *last = *rank,
            _ => runs.push((*rank, *rank)),
        }
    }
    let mut words: Vec<String> = runs
        .iter()
        .take(LISTED)
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") })
        .collect();
    if runs.len() > LISTED {
        words.push("…".into());
    }
    words.join(", ")
}
