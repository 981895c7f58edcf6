//! The commands that start something on another host.

use crate::command_line::stop::Stop;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

/// The option that makes `mpirun` an agent.
pub const OPTION: &str = "--agent";

/// How commands get to other hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Way {
    /// `ssh HOST COMMAND`, or another command of this form.
    Ssh,
    /// `srun` within a Slurm job.
    Slurm,
    /// As a process of this host, whatever the other one is called: for tests.
    Fork,
}

/// The command that starts something on another host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launcher {
    /// How.
    pub way: Way,
    /// The command and its first arguments; what goes with `way` if empty.
    pub command: Vec<OsString>,
    /// Further arguments, before the host's name.
    pub extra: Vec<OsString>,
}

impl Launcher {
    /// Finds out from options and environment how hosts are to be reached.
    ///
    /// # Errors
    /// Says which launchers there are.
    pub fn choose(
        name: Option<&OsStr>,
        exec: Option<&OsStr>,
        is_slurm: bool,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, Stop> {
        let given = name
            .map(OsStr::to_owned)
            .or_else(|| variable("HYDRA_LAUNCHER"))
            .or_else(|| variable("HYDRA_BOOTSTRAP"));
        let exec = exec
            .map(OsStr::to_owned)
            .or_else(|| variable("HYDRA_LAUNCHER_EXEC"))
            .or_else(|| variable("HYDRA_BOOTSTRAP_EXEC"));
        let way = match given.as_deref().and_then(OsStr::to_str) {
            None if given.is_some() => None,
            None if exec.is_none() && is_slurm && has_srun(&variable) => Some(Way::Slurm),
            None | Some("" | "ssh" | "rsh" | "user" | "manual") => Some(Way::Ssh),
            Some("slurm" | "srun") => Some(Way::Slurm),
            Some("fork") => Some(Way::Fork),
            Some(_) => None,
        };
        let Some(way) = way else {
            let name = given.unwrap_or_default();
            return Err(Stop::usage(format!(
                "--launcher {}: not known; use ssh, slurm or fork, or name a command: --launcher-exec COMMAND",
                name.to_string_lossy()
            )));
        };
        let words = |text: OsString| match text.to_str() {
            // A path may have blanks; a command may have arguments.
            Some(line) if !Path::new(line).exists() => line.split_whitespace().map(OsString::from).collect(),
            _ => vec![text],
        };
        let extra = variable("HYDRA_LAUNCHER_EXTRA_ARGS").or_else(|| variable("HYDRA_LAUNCH_EXTRA_ARGS"));
        let is_rsh = given.is_some_and(|name| name == "rsh");
        let command = exec.map(words).or_else(|| is_rsh.then(|| vec!["rsh".into()])).unwrap_or_default();
        Ok(Self { way, command, extra: extra.map(words).unwrap_or_default() })
    }

    /// Makes the command that runs `program` with an argument on a host. Nothing secret may be in it.
    pub fn command(&self, host: &str, program: &Path, argument: &str) -> Command {
        let mut words = self.command.iter();
        let first = words.next().map(OsString::as_os_str);
        match self.way {
            Way::Fork => {
                let mut command = Command::new(program);
                command.arg(argument);
                command
            }
            Way::Slurm => {
                let mut command = Command::new(first.unwrap_or(OsStr::new("srun")));
                command.args(words).args([
                    "--nodes=1",
                    "--ntasks=1",
                    "--overlap",
                    "--unbuffered",
                    "--mpi=none",
                    "--quiet",
                ]);
                command.args(&self.extra).arg(format!("--nodelist={host}")).arg(program).arg(argument);
                command
            }
            Way::Ssh => {
                let mut command = Command::new(first.unwrap_or(OsStr::new("ssh")));
                command.args(words);
                if first.is_none() {
                    command.args(["-T", "-x"]);
                }
                command.args(&self.extra).arg(host).arg(quote(program.as_os_str())).arg(argument);
                command
            }
        }
    }
}

fn has_srun(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let path = variable("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join("srun").is_file())
}

/// Quotes a word for the shell at the other end.
fn quote(word: &OsStr) -> OsString {
    let text = word.to_string_lossy();
    if text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+=:,@".contains(c)) {
        return word.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''")).into()
}

/// Writes a command as one would type it.
pub fn show(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(name: Option<&str>, exec: Option<&str>, is_slurm: bool, variables: &[(&str, &str)]) -> String {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        match Launcher::choose(name.map(OsStr::new), exec.map(OsStr::new), is_slurm, variable) {
            Ok(launcher) => show(&launcher.command("h1", Path::new("/a b/mpirun"), "--agent")),
            Err(stop) => stop.message,
        }
    }

    #[test]
    fn commands_are_those_of_the_launcher() {
        assert_eq!(shown(None, None, false, &[]), "ssh -T -x h1 '/a b/mpirun' --agent");
        assert_eq!(shown(Some("rsh"), None, false, &[]), "rsh h1 '/a b/mpirun' --agent");
        assert_eq!(shown(None, Some("my ssh"), true, &[]), "my ssh h1 '/a b/mpirun' --agent");
        assert_eq!(shown(Some("fork"), None, false, &[]), "/a b/mpirun --agent");
        let slurm = shown(Some("slurm"), None, false, &[]);
        assert!(
            slurm.starts_with("srun --nodes=1") && slurm.ends_with("--nodelist=h1 /a b/mpirun --agent"),
            "{slurm}"
        );
        // A Slurm job without srun, as in a container.
        assert_eq!(shown(None, None, true, &[("PATH", "/absent")]), "ssh -T -x h1 '/a b/mpirun' --agent");
        let variables = [("HYDRA_LAUNCHER_EXEC", "/etc/kubexec.sh"), ("HYDRA_LAUNCH_EXTRA_ARGS", "-o A=1")];
        assert_eq!(shown(None, None, false, &variables), "/etc/kubexec.sh -o A=1 h1 '/a b/mpirun' --agent");
        assert!(shown(Some("lsf"), None, false, &[]).contains("--launcher lsf: not known"));
    }

    #[test]
    fn words_are_quoted_for_shells() {
        assert_eq!(quote(OsStr::new("/a/b-1.2")), "/a/b-1.2");
        assert_eq!(quote(OsStr::new("a'b;c")), "'a'\\''b;c'");
    }
}
