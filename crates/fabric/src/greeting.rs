//! Node processes say a first word to each other, so that each knows of the others' ends.

use std::time::{Duration, Instant};
use weft_base::constants::MPI_ERR_PORT;
use weft_base::{Error, Result};
use weft_sync::Lock;
use weft_transport::{Arriving, Channel, Device, Handler, Node, Placement};

/// How long the others may take until they are connected.
const GREETING: Duration = Duration::from_secs(30);
/// How long a look at the network sleeps in which nothing has happened.
const GLANCE: Duration = Duration::from_millis(1);

/// Those that are waited for, and who is lost.
struct Greetings {
    missing: Lock<Vec<Node>>,
    loss: Lock<Option<String>>,
}

impl Handler for Greetings {
    fn arrive(&self, message: Arriving<'_>) -> Placement {
        self.missing.lock().retain(|&node| node != message.from);
        Placement::Taken
    }

    fn placed(&self, _from: Node, _channel: Channel, _token: u64) {}

    fn sent(&self, _to: Node, _channel: Channel, _token: u64) {}

    fn lost(&self, _peer: Node, reason: &str) {
        self.loss.lock().get_or_insert_with(|| reason.into());
    }
}

/// Sends a message to each of the others, and waits for one of each.
pub fn greet(device: &dyn Device, others: Vec<Node>) -> Result {
    let unreachable = |why: &str| {
        let text = format!("a process of the other side cannot be reached over the network: {why}");
        Error::new(MPI_ERR_PORT, text)
    };
    for &other in &others {
        let sent = device.send(other, Channel::POINT_TO_POINT, &[], &[]);
        sent.map_err(|refusal| unreachable(&refusal.to_string()))?;
    }
    let greetings = Greetings { missing: Lock::new(others), loss: Lock::default() };
    let until = Instant::now() + GREETING;
    loop {
        let moved = device.poll(&greetings);
        if greetings.missing.lock().is_empty() {
            return Ok(());
        }
        if let Some(loss) = &*greetings.loss.lock() {
            return Err(unreachable(loss));
        }
        if Instant::now() > until {
            return Err(unreachable("it does not answer"));
        }
        if !moved {
            device.sleep(GLANCE, &|| true);
        }
        // What the others wait for may be another rank's business here.
        weft_sched::yield_now();
    }
}
