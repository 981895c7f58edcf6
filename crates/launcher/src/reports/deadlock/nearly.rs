//! What lies unmatched at a rank and almost fits what it waits for.

use super::names::tag;
use super::{Job, wants};
use weft_base::waiting::{Message, Peer, Want};

/// Tells whether a receive takes from a sender.
fn takes(receive: &Message, sender: &Message) -> bool {
    receive.peer == Peer::Anybody || receive.peer == sender.peer || {
        let world = |peer: Peer| match peer {
            Peer::Rank { world, .. } => Some(world),
            _ => None,
        };
        receive.comm != sender.comm
            && world(receive.peer).is_some()
            && world(receive.peer) == world(sender.peer)
    }
}

/// Counts what of a message fits a receive: communicator, sender, tag.
fn fit(receive: &Message, message: &Message) -> [bool; 3] {
    [
        receive.comm == message.comm,
        takes(receive, message),
        receive.tag.is_none() || receive.tag == message.tag,
    ]
}

fn sender(message: &Message) -> String {
    match message.peer {
        Peer::Rank { world, .. } => format!("rank {world}"),
        _ => "somebody".into(),
    }
}

/// Returns a line for each message that almost fits.
pub(super) fn of(job: &Job<'_>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for &rank in job.ranks.keys() {
        let Some(knowledge) = job.knowledge(rank) else { continue };
        let wanted = || job.calls(rank).iter().flat_map(wants);
        let receives: Vec<&Message> = wanted()
            .filter_map(|want| match want {
                Want::Receive(message) => Some(message),
                _ => None,
            })
            .collect();
        for message in &knowledge.unmatched.messages {
            let awaited = receives.iter().copied().map(|receive| (receive, true));
            let posted = knowledge.unmatched.receives.iter().map(|receive| (receive, false));
            let counted = |(receive, is_awaited): &(&Message, bool)| {
                (fit(receive, message).iter().filter(|&&fits| fits).count(), *is_awaited)
            };
            // Of equals the first one, which was there before.
            let mut best: Option<(&Message, bool)> = None;
            for candidate in awaited.chain(posted) {
                if best.as_ref().is_none_or(|best| counted(&candidate) > counted(best)) {
                    best = Some(candidate);
                }
            }
            if let Some((receive, is_awaited)) = best
                && let Some(line) = line(job, rank, message, receive, is_awaited)
                && !lines.contains(&line)
            {
                lines.push(line);
            }
        }
        for receive in receives {
            if let Peer::Rank { world, .. } = receive.peer
                && job.has_ended(world)
            {
                let line = format!("rank {rank} waits for a message from rank {world}, which has ended");
                if !lines.contains(&line) {
                    lines.push(line);
                }
            }
        }
    }
    lines
}

fn line(job: &Job<'_>, rank: u32, message: &Message, receive: &Message, is_awaited: bool) -> Option<String> {
    let fits = fit(receive, message);
    let comm = |key| job.names.brief(key);
    let is_elsewhere = if fits[0] { String::new() } else { format!(" on {}", comm(message.comm)) };
    let what =
        format!("rank {rank} has a message from {} with {}{is_elsewhere}", sender(message), tag(message.tag));
    let does = if is_awaited { "it waits" } else { "it has posted a receive" };
    let other = match fits {
        [true, true, true] | [false, false, false] => return None,
        [true, true, false] => format!("for {}", tag(receive.tag)),
        [true, false, true] => format!("for one from {}", job.names.peer(receive)),
        [false, true, true] => format!("on {}", comm(receive.comm)),
        [true, false, false] => format!("for one from {} with {}", job.names.peer(receive), tag(receive.tag)),
        [false, _, _] => format!(
            "for one from {} with {} on {}",
            job.names.peer(receive),
            tag(receive.tag),
            comm(receive.comm)
        ),
    };
    Some(format!("{what}; {does} {other}"))
}
