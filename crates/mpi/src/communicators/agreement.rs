//! Agreement on the context number of a new communicator, among ranks that have a communicator in common.
//!
//! Within a job one rank allocates the number and tells the others: nobody else gives out the same ([`contexts`]). Among
//! ranks of several jobs it can only be tried: see there.

use crate::communicators::communicator::Communicator;
use crate::communicators::contexts;
use crate::jobs::strangers;
use crate::process::Process;
use weft_base::Result;
use weft_comm::Group;
use weft_p2p::Envelope;

/// Agrees on fresh context numbers among all ranks of `parent`, of both sides if there are two: one for each of the
/// communicators that have so many `members`.
///
/// # Errors
/// `MPI_ERR_OTHER` when a node process is lost, or no number is left.
pub(crate) fn on_numbers(parent: &Communicator, members: &[u32]) -> Result<Vec<u32>> {
    let leads = parent.team.rank() == 0;
    if !strangers::are_among(&parent.values) {
        let allocate = |count: &u32| if leads { contexts::allocate(*count) } else { 0 };
        let mut words: Vec<u32> = members.iter().map(allocate).collect();
        broadcast(parent, &mut words)?;
        return words.into_iter().map(contexts::usable).collect();
    }
    loop {
        let mut words = vec![0; 2 + members.len()];
        if leads {
            let (_, agreement) = contexts::draw();
            let mut numbers = Vec::new();
            while numbers.len() < members.len() {
                let (number, _) = contexts::draw();
                if !numbers.contains(&number) {
                    numbers.push(number);
                }
            }
            words = [agreement as u32, (agreement >> 32) as u32].into_iter().chain(numbers).collect();
        }
        broadcast(parent, &mut words)?;
        let agreement = u64::from(words[0]) | u64::from(words[1]) << 32;
        let numbers = words.split_off(2);
        let claimed: Vec<u32> =
            numbers.iter().copied().filter(|&number| contexts::claim(number, agreement)).collect();
        let mut all = vec![0; parent.team.size() as usize];
        let told = parent.team.allgather_bytes(&[u8::from(claimed.len() == numbers.len())], &mut all);
        if told.is_ok() && all.iter().all(|&is_mine| is_mine == 1) {
            return Ok(numbers);
        }
        claimed.into_iter().for_each(contexts::let_go);
        told?;
    }
}

fn broadcast(parent: &Communicator, words: &mut [u32]) -> Result {
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    parent.team.broadcast_bytes(0, &mut bytes)?;
    for (word, four) in words.iter_mut().zip(bytes.chunks_exact(4)) {
        *word = u32::from_ne_bytes(four.try_into().expect("four bytes"));
    }
    Ok(())
}

/// Agrees on a context number among the members of a group by messages: `envelope` says under which envelope the member of
/// that number in the group sends. The first member draws; all wait for all.
///
/// # Errors
/// `MPI_ERR_OTHER` when a node process is lost.
pub(crate) fn among(process: &Process, group: &Group, envelope: impl Fn(u32) -> Envelope) -> Result<u32> {
    let messages = process.messages();
    let me = group.rank_of(process.world_rank).unwrap_or(0);
    let first = group.world_rank(0);
    let others = || (1..group.size()).map(|member| (member, group.world_rank(member)));
    loop {
        let mut words = [0; 3];
        if me == 0 {
            let (number, agreement) = contexts::draw();
            words = [number, agreement as u32, (agreement >> 32) as u32];
            others().try_for_each(|(_, other)| messages.send_words(other, envelope(0), &words))?;
        } else {
            messages.receive_words(first, envelope(0), &mut words)?;
        }
        let [number, low, high] = words;
        let is_mine = contexts::claim(number, u64::from(low) | u64::from(high) << 32);
        let mut agreed = [u32::from(is_mine)];
        if me == 0 {
            for (member, other) in others() {
                let mut word = [0];
                messages.receive_words(other, envelope(member), &mut word)?;
                agreed[0] &= word[0];
            }
            others().try_for_each(|(_, other)| messages.send_words(other, envelope(0), &agreed))?;
        } else {
            messages.send_words(first, envelope(me), &agreed)?;
            messages.receive_words(first, envelope(0), &mut agreed)?;
        }
        if agreed[0] == 1 {
            return Ok(number);
        }
        if is_mine {
            contexts::let_go(number);
        }
    }
}
