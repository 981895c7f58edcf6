//! How the device of a host is opened: one process makes the memory, and the others inherit it from who starts them, or
//! fetch it at the maker's door.

use super::creation::Segment;
use super::device::{Options, SegmentDevice};
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use weft_base::constants::MPI_ERR_INTERN;
use weft_base::{Error, Result};
use weft_door::Ticket;
use weft_transport::{Device, Member, Node, Offer, Opener, Party};

/// Opens devices of shared memory.
pub struct SegmentOpener;

/// Memory for the circle, or the way to get it.
struct Memory {
    /// What was inherited, or made here.
    descriptor: Option<OwnedFd>,
    /// The door where others fetch it.
    place: Option<(String, Ticket)>,
    /// Who has made it, if it is to be fetched.
    maker: Option<Node>,
}

fn failed(circle: &[Node], error: &dyn std::fmt::Display) -> Error {
    let text = format!("the memory that node processes {circle:?} of this host share: {error}");
    Error::new(MPI_ERR_INTERN, text)
}

impl Opener for SegmentOpener {
    fn name(&self) -> &'static str {
        "segment"
    }

    fn purpose(&self) -> &'static str {
        "node processes of one host, through memory that they share"
    }

    fn joins(&self, one: &Member, other: &Member) -> bool {
        one.host == other.host
    }

    fn offer(&self, party: &Party<'_>, inherited: &mut Option<OwnedFd>) -> Result<Option<Box<dyn Offer>>> {
        let failed = |error: &dyn std::fmt::Display| failed(party.circle, error);
        if let Some(memory) = inherited.take() {
            return Ok(Some(Box::new(Memory { descriptor: Some(memory), place: None, maker: None })));
        }
        let maker = party.circle.first().copied().unwrap_or(party.own);
        if maker != party.own {
            return Ok(Some(Box::new(Memory { descriptor: None, place: None, maker: Some(maker) })));
        }
        // All ranks of a host mostly have the launcher's agent as their parent, and so may read each other's memory.
        let ancestor =
            if party.is_further { std::process::id() } else { std::os::unix::process::parent_id() };
        let (memory, _) = Segment::create_under(party.circle.len() as u32, ancestor)
            .map_err(|error| failed(&error.message))?;
        let door = weft_door::door().map_err(|error| failed(&error))?;
        let ticket = memory.try_clone().and_then(|copy| door.offer(copy)).map_err(|error| failed(&error))?;
        let place = Some((door.name().to_owned(), ticket));
        Ok(Some(Box::new(Memory { descriptor: Some(memory), place, maker: None })))
    }

    fn prepare(&self, processes: u32) -> Result<Option<OwnedFd>> {
        Segment::create(processes).map(|(memory, _)| Some(memory))
    }

    fn alone(&self) -> Result<Option<Box<dyn Device>>> {
        let (memory, _) = Segment::create(1)?;
        let options = Options { is_further: true, ..Options::default() };
        Ok(Some(Box::new(SegmentDevice::attach_with(memory, 0, options)?)))
    }
}

impl Offer for Memory {
    fn words(&self) -> Vec<String> {
        let place = self.place.iter();
        place.flat_map(|(door, ticket)| [door.clone(), ticket.token().to_owned()]).collect()
    }

    fn asks(&self) -> Vec<Node> {
        self.maker.into_iter().collect()
    }

    fn open(
        &mut self,
        party: &Party<'_>,
        words: &[(Node, Vec<String>)],
        _secret: Option<&[u8; 32]>,
    ) -> Result<(Box<dyn Device>, Vec<Node>)> {
        let failed = |error: &dyn std::fmt::Display| failed(party.circle, error);
        let memory = match (self.descriptor.take(), words) {
            (Some(memory), _) => memory,
            (None, [(_, place)]) => {
                let [door, ticket] = &place[..] else {
                    return Err(failed(&format_args!("{place:?} is not a door and a ticket")));
                };
                weft_door::fetch(door, ticket).map_err(|error| match error.kind() {
                    ErrorKind::ConnectionRefused => failed(
                        &"its first process is not to be found: do the processes share a network name space?",
                    ),
                    _ => failed(&error),
                })?
            }
            (None, _) => return Err(failed(&"its first process has not said how to get it")),
        };
        let number = party.circle.partition_point(|&other| other < party.own) as Node;
        let options = Options { is_further: party.is_further, ..Options::default() };
        let device = SegmentDevice::attach_with(memory, number, options);
        Ok((Box::new(device.map_err(|error| failed(&error.message))?), party.circle.to_vec()))
    }
}
