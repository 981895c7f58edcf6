//! Values of options, and what is wrong with them.

use super::stop::Stop;
use std::ffi::OsStr;

pub(super) fn number(name: &str, value: &OsStr) -> Result<u32, Stop> {
    let text = value.to_string_lossy();
    match text.parse::<u32>() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(Stop::usage(format!("{name} {text}: not a number of at least 1"))),
    }
}

pub(super) fn choice<T>(name: &str, value: &OsStr, choices: &[(&str, T)]) -> Result<T, Stop>
where
    T: Copy,
{
    let text = value.to_string_lossy();
    let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
    choices.iter().find(|(name, _)| *name == text).map(|(_, value)| *value).ok_or_else(|| {
        Stop::usage(format!("--{name} {text}: no such choice; possible are {}", names.join(", ")))
    })
}

/// Returns the largest number of ranks of a set, a list of Fortran's triplets, that is at most `most`; without `most`
/// there are to be as many as usable processors.
pub(super) fn soft(set: &str, most: Option<u32>) -> Result<u32, Stop> {
    let most = most.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get() as u32));
    let wrong = |triplet: &str, why: &str| Stop::usage(format!("-soft {set}: {triplet:?} {why}"));
    let mut best = None;
    for triplet in set.split(',') {
        let numbers: Result<Vec<i64>, _> = triplet.split(':').map(|number| number.trim().parse()).collect();
        let (first, last, stride) = match numbers.as_deref() {
            Ok(&[only]) => (only, only, 1),
            Ok(&[first, last]) => (first, last, 1),
            Ok(&[first, last, stride]) => (first, last, stride),
            _ => return Err(wrong(triplet, "is no number, FIRST:LAST or FIRST:LAST:STRIDE")),
        };
        if stride == 0 || first != last && (last > first) != (stride > 0) {
            return Err(wrong(triplet, "does not lead from its first to its last number"));
        }
        // The set as an ascending one, wide enough for any bounds; what is above `most` does not count.
        let (first, last, stride) = (i128::from(first), i128::from(last), i128::from(stride));
        let steps = (last - first) / stride;
        let (low, stride) = if stride > 0 { (first, stride) } else { (first + stride * steps, -stride) };
        let room = i128::from(most) - low;
        let found = (room >= 0).then(|| low + stride * (room / stride).min(steps)).filter(|found| *found > 0);
        best = best.max(found);
    }
    best.map(|best| best as u32)
        .ok_or_else(|| Stop::usage(format!("-soft {set}: has no number from 1 to {most}, that of -n")))
}

/// Checks that an architecture is this machine's.
pub(super) fn check_architecture(name: &str) -> Result<(), Stop> {
    let own = std::env::consts::ARCH;
    let other_names: &[&str] = match own {
        "x86_64" => &["x86-64", "amd64"],
        "aarch64" => &["arm64"],
        _ => &[],
    };
    if [own].iter().chain(other_names).any(|known| known.eq_ignore_ascii_case(name)) {
        return Ok(());
    }
    Err(Stop::usage(format!("-arch {name}: there is no such host; this one is {own}")))
}
