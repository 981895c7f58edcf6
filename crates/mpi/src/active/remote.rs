//! Active messages of programs between processes: a service of [`weft_am`].
#![allow(unsafe_code)] // Reads and writes the program's memory where ranks of its job say.

use super::member::{Awaited, Data, Member, Message, Origin, RANK_SHIFT, Task, counter_at, lent};
use super::team;
use super::way::{
    CHANGE, CHANGED, END, End, GET, GOT, NUMBER, PUT, SEND, active, answer, halves, pair, tell,
};
use super::words::{Change, bytes_at};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use weft_am::{Active, Arrival, Contents, Message as Told, Nonsense, Service, When};
use weft_transport::Node;

/// How much data of a get may be under way.
const UNDER_WAY: usize = 1 << 20;

/// The service.
pub(super) struct Remote;

/// Waits while much waits for room in the device, unless the thread is in a handler.
fn await_room(member: &Arc<Member>, to: Node) {
    if active().is_behind(to) && !member.is_in_handler() {
        active().await_room(to, || member.run());
    }
}

/// Gives a name to what another process is asked for, which comes to its end at once if the process is lost.
fn expect(member: &Arc<Member>, awaited: Awaited) -> u64 {
    let node = awaited.node;
    let name = member.expect(awaited);
    // Whoever notes a loss looks through the names afterwards.
    if let Some(reason) = active().loss(node) {
        member.lose(node, &reason);
    }
    name
}

/// Sends a message to a rank of another process.
pub(super) fn send(
    member: &Arc<Member>,
    to: Node,
    target: u32,
    handler: u32,
    header: &[u8],
    data: (usize, usize),
    counters: [usize; 3],
) {
    let [target_counter, origin_counter, completion_counter] = counters;
    let (address, bytes) = data;
    let awaited = Awaited { node: to, target, counter: completion_counter, room: (0, 0, 0) };
    let name = expect(member, awaited);
    let words =
        [pair(member.context, target), pair(member.rank, handler), bytes as u64, target_counter as u64, name];
    let sender = member.clone();
    let then = move |_| sender.count(origin_counter);
    active().send(to, NUMBER, SEND, &words, header, lent(address, bytes), then);
    await_room(member, to);
}

/// Writes memory of a rank of another process.
pub(super) fn put(
    member: &Arc<Member>,
    to: Node,
    target: u32,
    target_address: usize,
    data: (usize, usize),
    counters: [usize; 3],
) {
    let [target_counter, origin_counter, completion_counter] = counters;
    let (address, bytes) = data;
    let name = expect(member, Awaited { node: to, target, counter: completion_counter, room: (0, 0, 0) });
    let longest = active().longest(to);
    let mut offset = 0;
    loop {
        let length = longest.min(bytes - offset);
        let is_last = offset + length == bytes;
        let (counter, name) = if is_last { (target_counter as u64, name) } else { (0, 0) };
        let at = target_address.wrapping_add(offset) as u64;
        let words = [pair(member.context, target), member.rank.into(), at, counter, name];
        tell(to, PUT, &words, bytes_at(address.wrapping_add(offset), length), When::Now);
        await_room(member, to);
        offset += length;
        if is_last {
            break;
        }
    }
    member.count(origin_counter);
}

/// Reads memory of a rank of another process.
pub(super) fn get(
    member: &Arc<Member>,
    to: Node,
    target: u32,
    target_address: usize,
    room: (usize, usize),
    target_counter: usize,
    origin_counter: usize,
) {
    let (address, bytes) = room;
    let awaited = Awaited { node: to, target, counter: origin_counter, room: (address, bytes, 0) };
    let name = expect(member, awaited);
    let longest = active().longest(to);
    let mut offset = 0;
    loop {
        let length = longest.min(bytes - offset);
        let is_last = offset + length == bytes;
        let counter = if is_last { target_counter as u64 } else { 0 };
        let place = pair(member.context, target);
        let words =
            [place, member.rank.into(), target_address as u64, offset as u64, length as u64, counter, name];
        tell(to, GET, &words, &[], When::Now);
        await_room(member, to);
        offset += length;
        if is_last {
            break;
        }
        let is_far_ahead = || {
            let awaited = member.awaited.lock();
            awaited.get(&name).is_some_and(|awaited| offset - awaited.room.2 > UNDER_WAY)
        };
        if is_far_ahead() && !member.is_in_handler() {
            member.wait(|| !is_far_ahead());
        }
    }
}

/// Changes a word of a rank of another process.
pub(super) fn change(
    member: &Arc<Member>,
    to: Node,
    target: u32,
    target_address: usize,
    change: Change,
    previous: usize,
    origin_counter: usize,
) {
    let room = (previous, if previous == 0 { 0 } else { size_of::<i64>() }, 0);
    let name = expect(member, Awaited { node: to, target, counter: origin_counter, room });
    let (operation, [first, second]) = change.words();
    let place = pair(member.context, target);
    let words = [place, pair(member.rank, operation), target_address as u64, first, second, name];
    tell(to, CHANGE, &words, &[], When::Now);
    await_room(member, to);
}

/// Returns a rank that has not ended its context.
fn present(context: u32, rank: u32) -> Option<Arc<Member>> {
    team::member(context, rank).filter(|member| !member.is_gone.load(Ordering::SeqCst))
}

impl Remote {
    fn put(from: Node, words: &[u64], data: &[u8]) -> Option<()> {
        let &[place, _, address, counter, name] = words else { return None };
        let (context, target) = halves(place);
        let member = present(context, target);
        if let Some(member) = &member {
            // SAFETY: a rank of the job has said that so much memory is there to be written.
            unsafe { weft_sys::copy::bytes(data.as_ptr(), address as *mut u8, data.len()) };
            member.count(counter as usize);
        }
        if name != 0 {
            answer(from, context, name, if member.is_some() { End::Done } else { End::Gone }, When::Now);
        }
        Some(())
    }

    fn get(from: Node, words: &[u64]) -> Option<()> {
        let &[place, _, address, offset, length, counter, name] = words else { return None };
        let (context, target) = halves(place);
        let Some(member) = present(context, target) else {
            answer(from, context, name, End::Gone, When::Now);
            return Some(());
        };
        if length as usize > active().longest(from) {
            return None;
        }
        let data = bytes_at((address as usize).wrapping_add(offset as usize), length as usize);
        tell(from, GOT, &[context.into(), name, offset], data, When::Now);
        member.count(counter as usize);
        Some(())
    }

    fn change(from: Node, words: &[u64]) -> Option<()> {
        let &[place, origin, address, first, second, name] = words else { return None };
        let ((context, target), (_, operation)) = (halves(place), halves(origin));
        if present(context, target).is_none() {
            answer(from, context, name, End::Gone, When::Now);
            return Some(());
        }
        let change = Change::of(operation, [first, second])?;
        let previous = change.make(counter_at(Some(address as usize).filter(|a| a.is_multiple_of(8))?));
        tell(from, CHANGED, &[context.into(), name], &previous.to_ne_bytes(), When::Now);
        Some(())
    }

    /// Takes a part of what a rank here has asked for.
    fn fill(context: u32, name: u64, offset: usize, data: &[u8], is_word: bool) -> Option<()> {
        let Some(member) = owner(context, name) else { return Some(()) };
        let is_whole = {
            let mut awaited = member.awaited.lock();
            // It may have been given up.
            let Some(awaited) = awaited.get_mut(&name) else { return Some(()) };
            let (address, bytes, got) = &mut awaited.room;
            // What a word was before may not be wanted.
            let data = if is_word && *bytes == 0 { &[] } else { data };
            if offset.checked_add(data.len()).is_none_or(|end| end > *bytes) {
                return None;
            }
            // SAFETY: the program has given so much memory, and leaves it alone until its counter is counted.
            unsafe { weft_sys::copy::bytes(data.as_ptr(), (*address as *mut u8).add(offset), data.len()) };
            *got += data.len();
            got >= bytes
        };
        if is_whole {
            let awaited = member.take(name);
            awaited.into_iter().for_each(|awaited| member.ended(awaited.counter, End::Done, awaited.target));
        } else {
            member.notify();
        }
        Some(())
    }

    fn end(words: &[u64]) -> Option<()> {
        let &[place, name] = words else { return None };
        let (context, end) = halves(place);
        let end = End::ALL.into_iter().find(|known| *known as u32 == end)?;
        if let Some(member) = owner(context, name)
            && let Some(awaited) = member.take(name)
        {
            member.ended(awaited.counter, end, awaited.target);
        }
        Some(())
    }
}

impl Service for Remote {
    fn told(
        &self,
        _active: &Active,
        from: Node,
        kind: u32,
        message: Told<'_>,
    ) -> core::result::Result<(), Nonsense> {
        let Told { words, data } = message;
        let heard = match kind {
            PUT => Self::put(from, words, data),
            GET => Self::get(from, words),
            CHANGE => Self::change(from, words),
            END => Self::end(words),
            GOT => match *words {
                [context, name, offset] => Self::fill(context as u32, name, offset as usize, data, false),
                _ => None,
            },
            CHANGED => match *words {
                [context, name] => Self::fill(context as u32, name, 0, data, true),
                _ => None,
            },
            _ => None,
        };
        heard.ok_or(Nonsense("what no program's active message is"))
    }

    fn arrived(&self, active: &Active, kind: u32, message: Arrival) -> core::result::Result<(), Nonsense> {
        let &[place, sender, bytes, target_counter, name] = message.words() else {
            return Err(Nonsense("an active message without its words"));
        };
        let ((context, target), (origin, handler)) = (halves(place), halves(sender));
        let bytes = bytes as usize;
        let fits = match &message.contents {
            Contents::Here(all, _) => bytes <= all.len(),
            Contents::Offered(_, offer) => offer.bytes() == bytes as u64,
        };
        if kind != SEND || !fits || handler as usize >= super::HANDLERS {
            return Err(Nonsense("an active message that does not fit"));
        }
        let from = message.from;
        let Some(member) = present(context, target) else {
            match message.contents {
                Contents::Here(_, credit) => active.used(from, credit),
                Contents::Offered(_, offer) => active.decline(from, &offer),
            }
            answer(from, context, name, End::Gone, When::Now);
            return Ok(());
        };
        member.give(Task::Message(Message {
            from: origin,
            handler,
            header: Box::default(),
            bytes,
            data: Data::Far(from, message.contents),
            target_counter: target_counter as usize,
            origin: Origin::There(from, name),
        }));
        Ok(())
    }

    fn lost(&self, _active: &Active, peer: Node, reason: &str) {
        team::all_members().iter().for_each(|member| member.lose(peer, reason));
    }
}

/// Returns the rank here that has given something a name.
fn owner(context: u32, name: u64) -> Option<Arc<Member>> {
    team::member(context, (name >> RANK_SHIFT) as u32)
}
