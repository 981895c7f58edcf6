//! A job's node processes as one of them sees them: the device, the places, and who handles which channel.

use crate::{Arriving, Channel, Device, Handler, Node, Placement, Places, Routes, Traffic, Tuning};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;
use weft_sync::facade::pause;
use weft_sys::process::spawn_apart;

/// How long a thread sleeps at most while something waits for room in a device.
const IMPATIENCE: Duration = Duration::from_millis(1);
/// How many looks at what may have arrived come between two polls, which see to everything else, too.
const LOOKS: u32 = 8;
/// The stack of a keeper, which runs handlers.
const STACK: usize = 256 << 10;

/// Makes a poll, and returns whether anything happened.
pub type Watch = fn(&dyn Fn() -> bool) -> bool;

/// The way to the other node processes, shared by the layers above, each of which serves its own [`Channel`].
pub struct Nodes {
    routes: Routes,
    places: Places,
    handlers: [OnceLock<&'static dyn Handler>; Channel::ALL.len()],
    /// Whether all are there that every job has from its beginning.
    is_served: AtomicBool,
    /// Starts the threads that keep further devices.
    keepers: OnceLock<Sender<usize>>,
    adding: Mutex<()>,
    /// What the devices say of the cores, kept because it is asked at each look.
    is_crowded: AtomicBool,
}

impl Nodes {
    /// Joins the way to other node processes, which may be a single device, and the places of the job's ranks.
    ///
    /// # Panics
    /// If the device knows fewer node processes than the places.
    pub fn new(routes: impl Into<Routes>, places: Places) -> Self {
        let routes = routes.into();
        assert!(routes.nodes() >= places.nodes(), "ranks on node processes that the device does not know");
        let handlers = [const { OnceLock::new() }; Channel::ALL.len()];
        let is_crowded = AtomicBool::new(routes.is_crowded());
        Self {
            routes,
            places,
            handlers,
            is_served: AtomicBool::new(false),
            keepers: OnceLock::new(),
            adding: Mutex::default(),
            is_crowded,
        }
    }

    /// Starts the threads that keep the devices (see [`Routes::keep`]), now and when one is added: `threads` for each that asks
    /// the kernel, and one at least for every other than the first. The first has none where node processes outnumber the cores:
    /// there a barrier of 32 ranks on two cores took 5 to 30 in a hundred longer with one. Threads that ranks create belong to
    /// ranks, so this is to be called before there are ranks. `watch` makes every poll of theirs, and returns what it returns: for
    /// who must know that they are at work.
    ///
    /// # Errors
    /// What the kernel says if it makes no thread.
    pub fn keep(&'static self, watch: Watch, threads: u32) -> std::io::Result<()> {
        let (sender, receiver) = channel();
        let is_kept = threads > 0 && self.routes.asks(0) && !self.routes.is_crowded();
        (usize::from(!is_kept)..self.routes.devices()).for_each(|device| _ = sender.send(device));
        if self.keepers.set(sender).is_err() {
            return Ok(());
        }
        let serve = move || {
            for device in receiver {
                let see = move || watch(&|| self.poll_for_keeper());
                let keep = move || self.routes.keep(device, &see, &|| self.is_idle());
                for _ in 0..if self.routes.asks(device) { threads.max(1) } else { 1 } {
                    // Without it messages wait until somebody polls.
                    let _ = spawn_apart("weft-keeper", STACK, keep);
                }
            }
        };
        spawn_apart("weft-keepers", STACK, serve)
    }

    /// Adds a device and those of its processes that `numbers` names, which become the job's next node processes, on these
    /// hosts. Returns the first one's number. Ranks are added to the places afterwards.
    ///
    /// # Panics
    /// If there are not as many hosts as numbers.
    pub fn add(&self, device: Box<dyn Device>, numbers: &[Node], hosts: &[u32]) -> Node {
        assert_eq!(numbers.len(), hosts.len(), "a host for every node process");
        let _alone = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
        let (begin, device) = self.routes.add(device, numbers);
        self.served().for_each(|handler| handler.joined(begin, hosts));
        self.is_crowded.store(self.routes.is_crowded(), Ordering::Relaxed);
        self.routes.open(device);
        if let Some(keepers) = self.keepers.get() {
            let _ = keepers.send(device);
        }
        begin
    }

    /// Says who handles the messages of a channel. Nothing is delivered before all [first](Channel::FIRST) channels are served.
    ///
    /// # Panics
    /// If the channel is served already, or none of [`Channel::ALL`].
    pub fn serve(&self, channel: Channel, handler: &'static dyn Handler) {
        let place = &self.handlers[usize::from(channel.number())];
        assert!(place.set(handler).is_ok(), "{channel:?} has a handler already");
        if self.handlers[..Channel::FIRST].iter().all(|handler| handler.get().is_some()) {
            self.is_served.store(true, Ordering::Release);
        }
    }

    /// Begins to serve a channel while messages of others are delivered and node processes may join: `make` makes the handler for those
    /// that there are. Peers send nothing on the channel before they know that it is served. Does nothing if it is.
    ///
    /// # Panics
    /// If it is none of [`Channel::ALL`].
    pub fn begin_to_serve(&self, channel: Channel, make: impl FnOnce() -> &'static dyn Handler) {
        let _alone = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
        let place = &self.handlers[usize::from(channel.number())];
        if place.get().is_none() {
            self.serve(channel, make());
        }
    }

    /// Returns the handlers that there are.
    #[inline]
    fn served(&self) -> impl Iterator<Item = &'static dyn Handler> {
        self.handlers.iter().filter_map(|handler| handler.get().copied())
    }

    /// Returns the device.
    #[inline]
    pub fn device(&self) -> &Routes {
        &self.routes
    }

    /// Returns where the job's ranks are.
    #[inline]
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// Returns this process's number.
    #[inline]
    pub fn node(&self) -> Node {
        self.routes.node()
    }

    /// Delivers what has arrived and goes on with everything that was started. Returns whether anything happened.
    pub fn poll(&self) -> bool {
        if !self.is_served.load(Ordering::Acquire) {
            return false;
        }
        let polled = self.routes.poll(self);
        self.advance() | polled
    }

    /// Looks some times, with a pause before each, whether a poll might find something, for who has looked `before` times in
    /// vain. Returns how often it has looked now, which goes on to a multiple of [`LOOKS`] unless something has arrived. Who
    /// waits does this between polls: a message is seen the sooner the less lies between two looks. Two processes of a Zen 4, with
    /// a poll at each look and so: 128 bytes take 197 and 190 ns, 2 KiB 412 and 396.
    ///
    /// Where other processes need the cores it looks once: there each look may come after a turn of theirs.
    #[inline]
    pub fn linger(&self, before: u32) -> u32 {
        let mut looks = before;
        loop {
            pause();
            looks += 1;
            if looks.is_multiple_of(LOOKS)
                || self.routes.has_arrived()
                || self.is_crowded.load(Ordering::Relaxed)
            {
                return looks;
            }
        }
    }

    fn poll_for_keeper(&self) -> bool {
        if !self.is_served.load(Ordering::Acquire) {
            return false;
        }
        let polled = self.routes.poll_for_keeper(self);
        self.advance() | polled
    }

    /// Sleeps until there may be something to poll for; see [`Device::sleep`].
    pub fn sleep(&self, limit: Duration, is_idle: &dyn Fn() -> bool) {
        let limit = if self.is_idle() { limit } else { limit.min(IMPATIENCE) };
        self.routes.sleep(limit, &|| is_idle() && !self.has_come());
    }

    /// Returns what came and went, if nothing is on its way in this process: see [`Tuning::rest`].
    pub fn rest(&self) -> Option<Traffic> {
        if self.is_idle() && !self.has_come() { self.routes.rest() } else { None }
    }

    /// Wakes who sleeps in [`Nodes::sleep`].
    pub fn wake(&self) {
        self.routes.wake();
    }

    fn of(&self, channel: Channel) -> &'static dyn Handler {
        let handler = self.handlers.get(usize::from(channel.number())).and_then(OnceLock::get);
        handler.copied().unwrap_or(&Nobody)
    }
}

impl Handler for Nodes {
    fn arrive(&self, message: Arriving<'_>) -> Placement {
        self.of(message.channel).arrive(message)
    }

    fn placed(&self, from: Node, channel: Channel, token: u64) {
        self.of(channel).placed(from, channel, token);
    }

    fn sent(&self, to: Node, channel: Channel, token: u64) {
        self.of(channel).sent(to, channel, token);
    }

    fn lost(&self, peer: Node, reason: &str) {
        self.served().for_each(|handler| handler.lost(peer, reason));
    }

    fn advance(&self) -> bool {
        self.served().fold(false, |moved, handler| handler.advance() | moved)
    }

    fn has_come(&self) -> bool {
        self.served().any(Handler::has_come)
    }

    fn is_idle(&self) -> bool {
        self.served().all(Handler::is_idle)
    }
}

/// Drops whatever arrives: for channels nobody uses.
pub struct Nobody;

impl Handler for Nobody {
    fn arrive(&self, _message: Arriving<'_>) -> Placement {
        Placement::Taken
    }

    fn placed(&self, _from: Node, _channel: Channel, _token: u64) {}

    fn sent(&self, _to: Node, _channel: Channel, _token: u64) {}

    fn lost(&self, _peer: Node, _reason: &str) {}
}
