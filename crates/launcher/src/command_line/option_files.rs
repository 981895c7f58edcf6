//! Files with parts of a command line: `-configfile` and `-file`.
//!
//! A line is split into words as a shell does it, with quotes and backslashes but without variables. Lines that begin
//! with `#` are comments; a line that ends with a backslash goes on in the next.

use crate::command_line::stop::Stop;
use std::ffi::OsString;
use std::path::Path;

/// The words of one line, and the line's number.
type Line = (usize, Vec<String>);

/// Reads the options of a file, on as many lines as one likes.
///
/// # Errors
/// Says what is wrong in which line.
pub fn options(file: &Path) -> Result<Vec<OsString>, Stop> {
    let lines = read(file)?;
    Ok(lines.into_iter().flat_map(|(_, words)| words).map(OsString::from).collect())
}

/// Reads a file with a program and its options on each line; returns them as one command line.
///
/// # Errors
/// Says what is wrong in which line.
pub fn programs(file: &Path) -> Result<Vec<OsString>, Stop> {
    let lines = read(file)?;
    if lines.is_empty() {
        return Err(Stop::usage(format!("-configfile {}: names no program", file.display())));
    }
    let mut all = Vec::new();
    for (number, words) in lines {
        let refuse = |why: &str| Err(Stop::usage(format!("{}:{number}: {why}", file.display())));
        if words.iter().any(|word| word.trim_start_matches('-') == "configfile") {
            return refuse("-configfile cannot name another file of this kind");
        }
        if words.iter().any(|word| word == ":") {
            return refuse(
                "a colon by itself divides programs on a command line; begin a line for each program",
            );
        }
        if !all.is_empty() {
            all.push(":".into());
        }
        all.extend(words.into_iter().map(OsString::from));
    }
    Ok(all)
}

fn read(file: &Path) -> Result<Vec<Line>, Stop> {
    let text =
        std::fs::read_to_string(file).map_err(|error| Stop::usage(format!("{}: {error}", file.display())))?;
    lines(&text).map_err(|(number, why)| Stop::usage(format!("{}:{number}: {why}", file.display())))
}

/// Splits a text into lines of words.
fn lines(text: &str) -> Result<Vec<Line>, (usize, String)> {
    let mut found = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        if line.trim_start().starts_with('#') {
            continue;
        }
        let mut whole = line.to_owned();
        while whole.ends_with('\\') {
            whole.pop();
            whole.push(' ');
            whole.push_str(lines.next().map_or("", |(_, next)| next));
        }
        let words = words(&whole).map_err(|why| (index + 1, why))?;
        if !words.is_empty() {
            found.push((index + 1, words));
        }
    }
    Ok(found)
}

fn words(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(characters.next()),
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    if let Some(open) = quote {
        return Err(format!("the quote {open} is not closed"));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_words_comments_and_continuations() {
        let text = "# two programs\n-n 2 -env A 'x  y' ./a \"b c\"\\\n  d\n\n  # more\n-n 1 ./it\\'s '' #no comment\n";
        let words = |text: &[&str]| text.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            lines(text).unwrap(),
            [
                (2, words(&["-n", "2", "-env", "A", "x  y", "./a", "b c", "d"])),
                (6, words(&["-n", "1", "./it's", "", "#no", "comment"])),
            ]
        );
        assert_eq!(lines("a\n-n \"2\nb").unwrap_err(), (2, "the quote \" is not closed".into()));
        assert_eq!(lines("").unwrap(), []);
    }
}
