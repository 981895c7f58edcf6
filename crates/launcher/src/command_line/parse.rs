//! Reads command lines.

use super::flags::{command, normalise};
use super::line::{Block, CommandLine, ForeignAbi, HostsFrom, Inherit, Placing, RanksAs};
use super::option_files;
use super::stop::Stop;
use super::values::{check_architecture, choice, number, soft};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Reads the options that say where ranks run.
fn placing(line: &mut Placing, last: &dyn Fn(&str) -> Option<OsString>) -> Result<(), Stop> {
    if let Some(value) = last("ppn") {
        line.policy.per_host = Some(number("-ppn", &value)?);
    }
    if let Some(value) = last("map-by") {
        let text = value.to_string_lossy().to_lowercase();
        let mut words = text.split(':');
        let places = [
            "slot", "core", "hwthread", "socket", "package", "numa", "l1cache", "l2cache", "l3cache",
            "board", "",
        ];
        match words.next().unwrap_or_default() {
            "node" | "host" => line.policy.round_robin = true,
            "ppr" => {
                let count = number("--map-by ppr", OsStr::new(words.next().unwrap_or_default()))?;
                if words.next().is_some_and(|place| ["node", "host"].contains(&place)) {
                    line.policy.per_host = Some(count);
                }
            }
            // What a rank may be placed by elsewhere is in a host.
            place if places.contains(&place) => {}
            _ => {
                return Err(Stop::usage(format!("--map-by {text}: not known; use slot, node or ppr:N:node")));
            }
        }
        line.policy.strict |= words.any(|word| word == "nooversubscribe");
    }
    line.rank_file = last("rankfile").map(PathBuf::from).or(line.rank_file.take());
    line.launcher = last("launcher").or(line.launcher.take());
    line.launcher_exec = last("launcher-exec").or(line.launcher_exec.take());
    Ok(())
}

/// Makes the info pairs of options that programs can ask for in `MPI_INFO_ENV`.
fn launch_info(handler: Option<&OsString>, kinds: Option<&OsString>) -> Result<Vec<(String, String)>, Stop> {
    let mut info = Vec::new();
    if let Some(value) = handler {
        let names = ["mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"];
        let name = choice("initial-errhandler", value, &names.map(|name| (name, name)))?;
        info.push(("mpi_initial_errhandler".into(), name.into()));
    }
    info.extend(kinds.map(|list| ("mpi_memory_alloc_kinds".into(), list.to_string_lossy().into_owned())));
    Ok(info)
}

/// Reads one block's options into `line` and returns its program.
fn parse_block(line: &mut CommandLine, arguments: &[OsString]) -> Result<Block, Stop> {
    let (mut options, rest) = normalise(arguments);
    if let Some(place) = options.iter().rposition(|option| option == "--file") {
        let file = options.get(place + 1).cloned().unwrap_or_default();
        let words = option_files::options(Path::new(&file))?;
        let (more, rest) = normalise(&words);
        if let Some(word) = rest.first() {
            let (file, word) = (file.to_string_lossy(), word.to_string_lossy());
            return Err(Stop::usage(format!(
                "-file {file}: {word:?} is no option; -configfile names programs"
            )));
        }
        // Of an option that is given twice the last one holds.
        options.splice(0..0, more);
    }
    let matches = command().try_get_matches_from(options).map_err(|error| {
        let text = error.render().to_string();
        Stop::usage(text.trim_end().trim_start_matches("error: "))
    })?;
    let present = |name: &str| matches.get_count(name) > 0;
    let last = |name: &str| matches.get_many::<OsString>(name).and_then(|mut values| values.next_back());
    let pairs = |name: &str| -> Vec<(OsString, OsString)> {
        let occurrences = matches.get_occurrences::<OsString>(name).into_iter().flatten();
        occurrences
            .map(|mut pair| (pair.next().cloned(), pair.next().cloned()))
            .filter_map(|(a, b)| a.zip(b))
            .collect()
    };
    if present("help") {
        return Err(Stop { message: command().render_help().to_string(), code: 0 });
    }
    if present("version") {
        return Err(Stop { message: format!("mpirun (Weft) {}\n", env!("CARGO_PKG_VERSION")), code: 0 });
    }
    if let Some(value) = last("workers") {
        line.change("workers", number("--workers", value)?.to_string(), "--workers");
    }
    if let Some(value) = last("scheduler") {
        let word = choice("scheduler", value, &[("user", "user"), ("kernel", "kernel")])?;
        line.change("scheduler", word.into(), "--scheduler");
    }
    if let Some(value) = last("ranks-as") {
        let choices =
            [("auto", RanksAs::Auto), ("threads", RanksAs::Threads), ("processes", RanksAs::Processes)];
        line.ranks_as = choice("ranks-as", value, &choices)?;
    }
    if let Some(value) = last("abi") {
        let choices = [
            ("auto", ForeignAbi::Auto),
            ("none", ForeignAbi::None),
            ("mpich", ForeignAbi::Library("libmpi.so.12")),
            ("openmpi", ForeignAbi::Library("libmpi.so.40")),
        ];
        line.abi = choice("abi", value, &choices)?;
    }
    if let Some(value) = last("ranks-per-process") {
        line.ranks_per_process = Some(number("--ranks-per-process", value)?);
    }
    if let Some(value) = last("bind-to") {
        // What a rank may be bound to elsewhere is never smaller than a processor.
        let places =
            ["core", "hwthread", "socket", "numa", "l1cache", "l2cache", "l3cache", "package", "user"];
        let choices: Vec<_> = places.iter().map(|name| (*name, "core")).chain([("none", "none")]).collect();
        line.change("bind-to", choice("bind-to", value, &choices)?.into(), "--bind-to");
    }
    if let Some(value) = last("check") {
        line.change("check", value.to_string_lossy().into_owned(), "--check");
    }
    for item in matches.get_many::<OsString>("set").into_iter().flatten() {
        let text = item.to_string_lossy();
        let Some((name, value)) = text.split_once('=') else {
            return Err(Stop::usage(format!("--set {text}: no value; write --set NAME=VALUE")));
        };
        line.change(name, value.into(), "--set");
    }
    if let Some(value) = last("timeout") {
        let text = value.to_string_lossy();
        let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0 && *seconds < 1e9);
        let wrong = || Stop::usage(format!("--timeout {text}: not a number of seconds above 0"));
        line.timeout = Some(Duration::from_secs_f64(seconds.ok_or_else(wrong)?));
    }
    placing(&mut line.placing, &|name| last(name).cloned())?;
    line.placing.policy.round_robin |= present("rr");
    line.placing.policy.strict |= present("nooversubscribe");
    let hosts = match (last("hosts"), last("hostfile")) {
        (Some(_), Some(_)) => return Err(Stop::usage("-hosts and -hostfile: give one of them")),
        (Some(list), None) => Some(HostsFrom::List(list.to_string_lossy().into_owned())),
        (None, Some(file)) => Some(HostsFrom::File(file.into())),
        (None, None) => line.blocks.last().and_then(|block| block.hosts.clone()),
    };
    line.verbose |= present("verbose");
    line.output.tag |= present("tag-output");
    line.output.timestamp |= present("timestamp-output");
    let name = |option: &str| last(option).map(|value| value.to_string_lossy().into_owned());
    line.output.out_file =
        name("outfile-pattern").or(name("output-filename")).or(line.output.out_file.take());
    line.output.error_file =
        name("errfile-pattern").or(name("output-filename")).or(line.output.error_file.take());
    line.environment.extend(pairs("genv"));
    if present("genvnone") {
        line.inherit = Inherit::Only(Vec::new());
    }
    if let Some(list) = last("genvlist") {
        let list = list.to_string_lossy();
        line.inherit =
            Inherit::Only(list.split(',').filter(|name| !name.is_empty()).map(Into::into).collect());
    }
    let mut environment = Vec::new();
    for item in matches.get_many::<OsString>("x").into_iter().flatten() {
        let text = item.to_string_lossy();
        environment.push(match text.split_once('=') {
            Some((name, value)) => (name.into(), Some(value.into())),
            None => (item.clone(), None),
        });
    }
    environment.extend(pairs("env").into_iter().map(|(name, value)| (name, Some(value))));
    if let Some((name, _)) =
        environment.iter().find(|(name, _)| name.is_empty() || name.to_string_lossy().contains('='))
    {
        let text = name.to_string_lossy();
        return Err(Stop::usage(format!(
            "environment variable {text:?}: no name for a variable; write NAME=VALUE"
        )));
    }
    if last("configfile").is_some() {
        return Err(Stop::usage("-configfile: takes the place of the whole command line; give nothing else"));
    }
    let mut ranks = last("np").map(|value| number("-n", value)).transpose()?;
    if let Some(set) = last("soft") {
        ranks = Some(soft(&set.to_string_lossy(), ranks)?);
    }
    if let Some(name) = last("arch") {
        check_architecture(&name.to_string_lossy())?;
    }
    let Some((program, arguments)) = rest.split_first() else {
        return Err(Stop::usage(
            "no program given; write mpirun -n 4 ./a.out (mpirun -h explains the options)",
        ));
    };
    let directory = last("wdir").map(PathBuf::from);
    let info = launch_info(last("initial-errhandler"), last("memory-alloc-kinds"))?;
    let (program, arguments, search) = (program.clone(), arguments.to_vec(), last("path").cloned());
    Ok(Block { ranks, environment, program, arguments, search, directory, hosts, info })
}

/// Reads the command line.
///
/// # Errors
/// Help and version texts, and what is wrong.
pub fn parse(arguments: Vec<OsString>) -> Result<CommandLine, Stop> {
    let mut line = CommandLine::default();
    let file = match arguments.as_slice() {
        [option, file] if ["-configfile", "--configfile"].iter().any(|name| option == name) => {
            Some(file.clone())
        }
        [only] => only.to_string_lossy().trim_start_matches('-').strip_prefix("configfile=").map(Into::into),
        _ => None,
    };
    let arguments = match file {
        Some(file) => option_files::programs(Path::new(&file))?,
        None => arguments,
    };
    for block in arguments.split(|argument| argument == ":") {
        let block = parse_block(&mut line, block)?;
        line.blocks.push(block);
    }
    if let [first, rest @ ..] = line.blocks.as_mut_slice() {
        let several = !rest.is_empty();
        if let Some(block) = [first].into_iter().chain(rest).find(|block| several && block.ranks.is_none()) {
            let program = block.program.to_string_lossy();
            return Err(Stop::usage(format!(
                "{program}: no number of ranks; give each program its own with -n N"
            )));
        }
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::placement::Policy;

    fn line(text: &str) -> Result<CommandLine, Stop> {
        parse(text.split(' ').map(OsString::from).collect())
    }

    #[test]
    fn spellings_of_other_launchers_are_understood() {
        for text in [
            "-n 4 ./a.out -n 5",
            "-np 4 ./a.out -n 5",
            "--np 4 ./a.out -n 5",
            "-c 4 --oversubscribe --allow-run-as-root ./a.out -n 5",
            "--mca btl self,vader --map-by core -n 4 --report-bindings ./a.out -n 5",
            "-ppn 4 -hosts localhost -n 4 -genvall ./a.out -n 5",
            "-np=4 ./a.out -n 5",
        ] {
            let line = line(text).unwrap();
            assert_eq!(line.blocks[0].ranks, Some(4), "{text}");
            assert_eq!(line.blocks[0].program, "./a.out", "{text}");
            assert_eq!(line.blocks[0].arguments, ["-n", "5"], "{text}");
        }
    }

    #[test]
    fn programs_are_separated_by_colons() {
        let line = line("-n 2 -x A=1 -genv G 7 a x : -n 3 -env B -2 b --timeout 3").unwrap();
        assert_eq!(line.blocks.len(), 2);
        assert_eq!(line.blocks[0].environment, [("A".into(), Some("1".into()))]);
        assert_eq!(line.blocks[1].environment, [("B".into(), Some("-2".into()))]);
        assert_eq!(line.environment, [("G".into(), "7".into())]);
        assert_eq!(line.blocks[1].arguments, ["--timeout", "3"]);
        assert_eq!(line.timeout, None);
    }

    #[test]
    fn settings_are_gathered_with_the_option_that_changes_them() {
        let line = line("-n 1 --check=error --workers 2 --set eager=8K -set=rings=0 a --check").unwrap();
        let entry = |name: &str, value: &str, option: &str| (name.into(), value.into(), option.into());
        assert_eq!(
            line.settings,
            [
                entry("workers", "2", "--workers"),
                entry("check", "error", "--check"),
                entry("eager", "8K", "--set"),
                entry("rings", "0", "--set"),
            ]
        );
        assert_eq!(
            super::tests::line("--check -n 1 a").unwrap().settings,
            [entry("check", "report", "--check")]
        );
    }

    #[test]
    fn ranks_are_placed_as_other_launchers_spell_it() {
        let placed = |text: &str| line(&format!("{text} a")).unwrap().placing.policy;
        let turns = Policy { round_robin: true, ..Policy::default() };
        let two = Policy { per_host: Some(2), ..Policy::default() };
        for (text, policy) in [
            ("-rr", turns),
            ("-bynode", turns),
            ("--map-by node", turns),
            ("--map-by node:NOOVERSUBSCRIBE", Policy { strict: true, ..turns }),
            ("--map-by ppr:2:node", two),
            ("-ppn 2", two),
            ("-perhost 2", two),
            ("-N 2", two),
            ("--map-by core:PE=2", Policy::default()),
            ("-nooversubscribe", Policy { strict: true, ..Policy::default() }),
        ] {
            assert_eq!(placed(text), policy, "{text}");
        }
        let line = line("-H a,b -n 1 x : -n 1 y : -f hosts -n 1 z").unwrap();
        let hosts: Vec<_> = line.blocks.into_iter().map(|block| block.hosts.unwrap()).collect();
        let list = HostsFrom::List("a,b".into());
        assert_eq!(hosts, [list.clone(), list, HostsFrom::File("hosts".into())]);
    }

    #[test]
    fn what_programs_may_ask_for_is_kept_per_program() {
        let line =
            line("-n 1 -initial-errhandler mpi_errors_abort a : -n 1 --memory-alloc-kinds=system b").unwrap();
        let pair = |key: &str, value: &str| [(key.to_owned(), value.to_owned())];
        assert_eq!(line.blocks[0].info, pair("mpi_initial_errhandler", "mpi_errors_abort"));
        assert_eq!(line.blocks[1].info, pair("mpi_memory_alloc_kinds", "system"));
    }

    #[test]
    fn soft_takes_the_largest_allowed_number() {
        for (set, most, ranks) in [
            ("0:100", 7, 7),
            ("2:10:2,7", 7, 7),
            ("2:10:2,7", 6, 6),
            ("2:10:2,7", 9, 8),
            ("2:10:2,7", 100, 10),
            ("1,2,4,8,16", 15, 8),
            ("10:2:-4", 9, 6),
            ("10:2:-4", 5, 2),
            ("-5:5:5", 4, 0),
            ("3", 3, 3),
            ("9223372036854775807,2", 8, 2),
            ("-9223372036854775808:9223372036854775807,3", 8, 8),
        ] {
            let got = soft(set, Some(most)).ok();
            assert_eq!(got, (ranks > 0).then_some(ranks), "{set} up to {most}");
        }
        let own = std::env::consts::ARCH;
        let blocks = line(&format!("-soft 1 -arch {own} -path /a:/b a : -n 9 -soft 2:6:3 b")).unwrap().blocks;
        assert_eq!((blocks[0].ranks, blocks[1].ranks), (Some(1), Some(5)));
        assert_eq!(blocks[0].search, Some("/a:/b".into()));
    }

    #[test]
    fn mistakes_name_the_value() {
        for (text, part) in [
            ("-n 0 a", "-n 0"),
            ("-n x a", "-n x"),
            ("-n -3 a", "-n -3"),
            ("-n 4", "no program"),
            ("--workers 0 a", "--workers 0"),
            ("--scheduler fast a", "user, kernel"),
            ("--timeout soon a", "--timeout soon"),
            ("--set eager a", "write --set NAME=VALUE"),
            ("-initial-errhandler none a", "mpi_errors_return"),
            ("-hosts a -f b c", "give one of them"),
            ("--map-by moon a", "--map-by moon"),
            ("--map-by ppr:x:node a", "--map-by ppr x"),
            ("-ppn 0 a", "-ppn 0"),
            ("--nonsense a", "--nonsense"),
            ("-n 4 -soft 2:x a", "\"2:x\" is no number"),
            ("-n 4 -soft 4:2:1 a", "does not lead"),
            ("-n 4 -soft 0,-3,5:9 a", "no number from 1 to 4"),
            ("-n 4 -arch power9 a", "-arch power9"),
            ("-n 1 -configfile x a", "give nothing else"),
            ("-configfile /absent/file", "/absent/file"),
            ("-n 1 -file /absent/file a", "/absent/file"),
            ("-n 1 a : b", "b: no number of ranks"),
            ("-n 1 a :", "no program"),
        ] {
            let stop = line(text).unwrap_err();
            assert!(stop.message.contains(part), "{text}: {}", stop.message);
            assert_eq!(stop.code, 2);
        }
        assert_eq!(line("-h").unwrap_err().code, 0);
        assert!(line("--version").unwrap_err().message.contains("Weft"));
    }
}
