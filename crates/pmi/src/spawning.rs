//! Asking the launcher to start further programs.

use crate::text::Request;

/// A program to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its file or name.
    pub command: String,
    /// Its arguments, without its name.
    pub arguments: Vec<String>,
    /// How many ranks run it.
    pub ranks: u32,
    /// What else the launcher is told: keys and values such as `wdir` or `host`.
    pub info: Vec<(String, String)>,
}

/// Writes the request of PMI-1 that starts programs as one job, in whose key-value space `given` will be.
///
/// # Errors
/// Says what cannot be said in it: it is of lines, so nothing may hold the end of one.
pub fn lines(programs: &[Program], given: &[(String, String)]) -> Result<Vec<u8>, String> {
    let mut text = String::new();
    for (index, program) in programs.iter().enumerate() {
        let mut line = |name: &str, value: &str| {
            if value.contains(['\n', '\0']) {
                return Err(format!("{name}={value:?} cannot be said in PMI-1: it has lines"));
            }
            text += &format!("{name}={value}\n");
            Ok(())
        };
        line("mcmd", "spawn")?;
        line("nprocs", &program.ranks.to_string())?;
        line("execname", &program.command)?;
        line("totspawns", &programs.len().to_string())?;
        line("spawnssofar", &(index + 1).to_string())?;
        for (at, argument) in program.arguments.iter().enumerate() {
            line(&format!("arg{}", at + 1), argument)?;
        }
        line("argcnt", &program.arguments.len().to_string())?;
        line("preput_num", &given.len().to_string())?;
        for (at, (name, value)) in given.iter().enumerate() {
            line(&format!("preput_key_{at}"), name)?;
            line(&format!("preput_val_{at}"), value)?;
        }
        line("info_num", &program.info.len().to_string())?;
        for (at, (name, value)) in program.info.iter().enumerate() {
            line(&format!("info_key_{at}"), name)?;
            line(&format!("info_val_{at}"), value)?;
        }
        text += "endcmd\n";
    }
    Ok(text.into_bytes())
}

/// Makes the request of PMI-2 that does the same.
pub fn message(programs: &[Program], given: &[(String, String)]) -> Request {
    let mut request = Request::new("spawn").with("ncmds", programs.len()).with("preputcount", given.len());
    for (at, (name, value)) in given.iter().enumerate() {
        request = request.with(&format!("ppkey{at}"), name).with(&format!("ppval{at}"), value);
    }
    for program in programs {
        let arguments = program.arguments.len();
        request =
            request.with("subcmd", &program.command).with("maxprocs", program.ranks).with("argc", arguments);
        for (at, argument) in program.arguments.iter().enumerate() {
            request = request.with(&format!("argv{at}"), argument);
        }
        request = request.with("infokeycount", program.info.len());
        for (at, (name, value)) in program.info.iter().enumerate() {
            request = request.with(&format!("infokey{at}"), name).with(&format!("infoval{at}"), value);
        }
    }
    request
}
