//! Whether a launcher that speaks PMI started this process, by its environment.

/// How to reach the launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// An inherited socket.
    Descriptor(i32),
    /// A place to connect to, as `host:port`, and the number under which this process is known there.
    Port(String, u32),
}

/// What the environment says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// How to reach the launcher.
    pub way: Way,
    /// The rank, if it is said.
    pub rank: Option<u32>,
    /// The number of ranks, if it is said.
    pub size: Option<u32>,
    /// Whether the job was started by another job.
    pub is_spawned: bool,
    /// The job's name, which launchers give that speak PMI-2.
    pub job: Option<String>,
}

/// The variables that belong to one process of one job. Programs that the process starts must not find them.
pub const VARIABLES: [&str; 7] =
    ["PMI_FD", "PMI_PORT", "PMI_ID", "PMI_RANK", "PMI_SIZE", "PMI_SPAWNED", "PMI_JOBID"];

/// Tells whether the environment names a launcher at all.
pub fn is_there(has: impl Fn(&str) -> bool) -> bool {
    has("PMI_FD") || has("PMI_PORT")
}

/// Finds out whether such a launcher started this process; `variable` returns a variable's value.
///
/// # Errors
/// Says which variable makes no sense.
pub fn find(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Facts>, String> {
    let number = |name: &str| -> Result<Option<u32>, String> {
        let wrong = |text: &str| {
            format!("{name}={text:?} in the environment is no number; unset it to run the program alone")
        };
        variable(name)
            .map(|text| text.parse().ok().filter(|n| *n <= i32::MAX as u32).ok_or_else(|| wrong(&text)))
            .transpose()
    };
    let way = match (number("PMI_FD")?, variable("PMI_PORT")) {
        (Some(fd), _) => Way::Descriptor(fd as i32),
        (None, Some(place)) => {
            let id = number("PMI_ID")?.or(number("PMI_RANK")?);
            Way::Port(
                place,
                id.ok_or("the environment has PMI_PORT, but no PMI_ID; unset it to run the program alone")?,
            )
        }
        (None, None) => return Ok(None),
    };
    let is_spawned = number("PMI_SPAWNED")?.is_some_and(|spawned| spawned != 0);
    let job = variable("PMI_JOBID");
    Ok(Some(Facts { way, rank: number("PMI_RANK")?, size: number("PMI_SIZE")?, is_spawned, job }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Option<Facts>, String> {
        find(|name| variables.iter().find(|(found, _)| *found == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn environments_of_known_launchers_are_read() {
        assert_eq!(of(&[("PMI_RANK", "1")]), Ok(None));
        let hydra = of(&[("PMI_FD", "9"), ("PMI_RANK", "1"), ("PMI_SIZE", "4")]).unwrap().unwrap();
        assert_eq!(
            (hydra.way, hydra.rank, hydra.size, hydra.is_spawned),
            (Way::Descriptor(9), Some(1), Some(4), false)
        );
        let port = of(&[("PMI_PORT", "vm:4000"), ("PMI_ID", "3"), ("PMI_SPAWNED", "1")]).unwrap().unwrap();
        assert_eq!((port.way, port.is_spawned), (Way::Port("vm:4000".into(), 3), true));
        let slurm = of(&[("PMI_FD", "13"), ("PMI_JOBID", "6.0"), ("PMI_RANK", "0"), ("PMI_SIZE", "2")])
            .unwrap()
            .unwrap();
        assert_eq!(slurm.job.as_deref(), Some("6.0"));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        assert!(of(&[("PMI_FD", "x")]).unwrap_err().contains("PMI_FD"));
        assert!(of(&[("PMI_FD", "4294967295")]).unwrap_err().contains("PMI_FD"));
        assert!(of(&[("PMI_PORT", "vm:1")]).unwrap_err().contains("PMI_ID"));
        assert!(of(&[("PMI_FD", "3"), ("PMI_SIZE", "-1")]).unwrap_err().contains("PMI_SIZE"));
    }
}
