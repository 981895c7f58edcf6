//! Collective operations of ranks of several processes: data goes to, or comes from, the ranks that work on the windows of the file
//! in which it lies. In each round every rank sends each worker what it has for the worker's window.
#![allow(unsafe_code)] // Describes buffers of its own, which live until the exchange returns.

use core::ops::Range;
use weft_base::constants::*;
use weft_base::{Error, Result};
use weft_coll::{Buffers, Call, Data, Operation, Root, Team};
use weft_datatype::Datatype;
use weft_io::{Access, Domains, Opened, Share, Window};

/// What a worker adds to the data that was read: where the file has ended, or this.
const NOT_ENDED: u64 = u64::MAX;
const TRAILER: usize = 8;

/// A collective operation under way.
pub(super) struct Exchange<'a> {
    pub team: &'a Team,
    pub opened: &'a Opened,
    /// The ranks that work, in the order of the parts of the file.
    pub workers: &'a [u32],
    pub domains: Domains,
    pub writes: bool,
}

/// Bytes for, or from, each rank: one behind the other.
#[derive(Default)]
struct Parts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Parts {
    /// Makes room for parts of given lengths. What was there may be there still.
    fn reset(&mut self, lengths: impl Iterator<Item = usize>) {
        self.ends.clear();
        let mut end = 0;
        self.ends.extend(lengths.map(|length| {
            end += length;
            end
        }));
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
    }

    fn range(&self, rank: usize) -> Range<usize> {
        rank.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[rank]
    }

    fn part(&self, rank: usize) -> &[u8] {
        &self.bytes[self.range(rank)]
    }

    fn all_mut(&mut self) -> Vec<&mut [u8]> {
        let mut rest = &mut self.bytes[..];
        let mut begin = 0;
        let cut = self.ends.iter().map(|&end| {
            let (part, behind) = core::mem::take(&mut rest).split_at_mut(end - begin);
            (rest, begin) = (behind, end);
            part
        });
        cut.collect()
    }

    fn data<'a>(&self, address: *const u8, byte: &'a Datatype) -> Buffers<'a> {
        let piece = |rank| {
            let Range { start, end } = self.range(rank);
            // SAFETY: `reset` has made room for all parts; they are left alone until the exchange has returned.
            unsafe { Data::new(address.wrapping_add(start).cast(), (end - start) as u64, byte) }
        };
        Buffers::Pieces((0..self.ends.len()).map(piece).collect())
    }
}

impl Exchange<'_> {
    /// Takes part with a rank's operation, if its arguments are right. Returns what has become of the rank's work on the file for all:
    /// where the file has ended, if reading has met its end.
    ///
    /// # Errors
    /// That of the exchange, after which the ranks are not in step; within: that of the rank's work.
    pub fn run(&self, mine: Option<&Access>) -> Result<Result<Option<u64>>> {
        let mut outcome = Ok(None);
        let (mut out, mut into, mut buffer) = (Parts::default(), Parts::default(), Vec::new());
        for round in 0..self.domains.rounds() {
            let shares: Vec<Share> = (0..self.workers.len() as u64)
                .map(|part| self.domains.window(part, round))
                .map(|window| {
                    mine.zip(window).map_or(Share::default(), |(access, window)| access.share(window))
                })
                .collect();
            let heads = self.fill(mine, &shares, &mut out)?;
            let told = |rank: usize| heads[rank][0] as usize;
            let data = |rank: usize| if self.writes { heads[rank][1] as usize } else { 0 };
            into.reset((0..heads.len()).map(|rank| told(rank) + data(rank)));
            self.swap(&out, &mut into)?;
            let part = self.workers.iter().position(|&rank| rank == self.team.rank());
            let window = part.and_then(|part| self.domains.window(part as u64, round));
            let pieces = window.map(|window| {
                let parts = (0..heads.len()).map(|rank| (&into.part(rank)[..told(rank)], heads[rank][1]));
                Window::new(window, parts)
            });
            if self.writes {
                let data: Vec<&[u8]> = (0..heads.len()).map(|rank| &into.part(rank)[told(rank)..]).collect();
                let done = pieces.map_or(Ok(()), |pieces| pieces?.write(self.opened, &data, &mut buffer));
                outcome = outcome.and_then(|_| done.map(|()| None));
                continue;
            }
            let lengths = heads.iter().map(|head| if head[1] > 0 { head[1] as usize + TRAILER } else { 0 });
            out.reset(lengths);
            let done = pieces.map_or(Ok(None), |pieces| {
                let parts = out.all_mut().into_iter();
                let mut data: Vec<&mut [u8]> = parts
                    .map(|part| {
                        let data = part.len().saturating_sub(TRAILER);
                        &mut part[..data]
                    })
                    .collect();
                pieces?.read(self.opened, &mut data, &mut buffer)
            });
            // What could not be read is nobody's data.
            let start = window.map_or(NOT_ENDED, |window| window.0);
            let end = done.as_ref().map_or(start, |end| end.unwrap_or(NOT_ENDED));
            for part in out.all_mut() {
                if let Some(trailer) = part.last_chunk_mut::<TRAILER>() {
                    *trailer = end.to_ne_bytes();
                }
            }
            outcome = match (outcome, done) {
                (Ok(before), Ok(end)) => Ok(before.or(end)),
                (outcome, done) => outcome.and(done),
            };
            let replies = self.of_ranks(|part| match shares[part].length as usize {
                0 => 0,
                length => length + TRAILER,
            });
            into.reset(replies);
            self.swap(&out, &mut into)?;
            for (&rank, &share) in self.workers.iter().zip(&shares) {
                if let Some((data, trailer)) = into.part(rank as usize).split_last_chunk::<TRAILER>() {
                    let end = Some(u64::from_ne_bytes(*trailer)).filter(|&end| end != NOT_ENDED);
                    mine.into_iter().for_each(|access| access.put(share, data, end));
                }
            }
        }
        Ok(outcome)
    }

    /// Returns something for each rank: of a worker what its part says, of others nothing.
    fn of_ranks(&self, of: impl Fn(usize) -> usize) -> impl Iterator<Item = usize> {
        let mut all = vec![0; self.team.size() as usize];
        self.workers.iter().enumerate().for_each(|(part, &rank)| all[rank as usize] = of(part));
        all.into_iter()
    }

    /// Fills what goes to the workers: what tells of the rank's pieces, and their data if they are written. Returns the lengths of the
    /// two that come from each rank.
    fn fill(&self, mine: Option<&Access>, shares: &[Share], out: &mut Parts) -> Result<Vec<[u64; 2]>> {
        let mut told = vec![Vec::new(); shares.len()];
        for (told, &share) in told.iter_mut().zip(shares) {
            mine.into_iter().for_each(|access| access.tell(share, told));
        }
        let data = |part: usize| if self.writes { shares[part].length as usize } else { 0 };
        out.reset(self.of_ranks(|part| told[part].len() + data(part)));
        let mut heads = vec![[0; 2]; self.team.size() as usize];
        let mut places = out.all_mut();
        for (part, &rank) in self.workers.iter().enumerate() {
            heads[rank as usize] = [told[part].len() as u64, shares[part].length];
            let (head, data) = places[rank as usize].split_at_mut(told[part].len());
            head.copy_from_slice(&told[part]);
            mine.into_iter().filter(|_| self.writes).for_each(|access| access.take(shares[part], data));
        }
        let mut theirs = vec![[0; 2]; heads.len()];
        let long = Datatype::predefined(MPI_UINT64_T).expect("a predefined datatype");
        let ranks = self.team.size();
        let even = |address: *const [u64; 2]| {
            // SAFETY: an array of two words for each rank, which is left alone until the exchange has returned.
            Buffers::Even(unsafe { Data::new(address.cast(), 2 * u64::from(ranks), long) }, ranks)
        };
        self.call(Call::Alltoall, even(heads.as_ptr()), even(theirs.as_mut_ptr()))?;
        Ok(theirs)
    }

    fn swap(&self, out: &Parts, into: &mut Parts) -> Result {
        let byte = Datatype::predefined(MPI_BYTE).expect("a predefined datatype");
        let address = into.bytes.as_mut_ptr();
        self.call(Call::Alltoallw, out.data(out.bytes.as_ptr(), byte), into.data(address, byte))
    }

    fn call(&self, call: Call, send: Buffers<'_>, receive: Buffers<'_>) -> Result {
        let (operator, neighbors) = (None, None);
        let operation = Operation { call, root: Root::None, send, receive, operator, mine: 0..0, neighbors };
        let lost = |error: Error| {
            Error::new(error.class, format!("a collective operation on a file: {}", error.message))
        };
        self.team.run(&operation).map_err(lost)
    }
}
