//! Where the program called the library: noted in checking mode only, for reports.

use core::cell::{Cell, RefCell};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

/// A call in the program.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The procedure.
    pub call: String,
    /// The address to which it returns, as the file counts it; 0 if unknown.
    pub offset: u64,
    /// The file.
    pub file: String,
}

/// A call of the program.
#[derive(Debug)]
pub struct Site {
    /// The procedure: `MPI_Send`.
    pub call: &'static str,
    /// The address to which it returns; 0 if unknown, or in another process.
    pub address: usize,
    /// Where that is in which file, once somebody has asked.
    place: OnceLock<Place>,
}

/// Finds the file that an address is in, and where there.
pub type Locate = fn(usize) -> Option<(String, u64)>;

static LOCATE: OnceLock<Locate> = OnceLock::new();

/// Says how the places of calls are found; without it they are unknown.
pub fn locate_by(locate: Locate) {
    let _ = LOCATE.set(locate);
}

/// The calls of other processes that this one has heard of.
static ELSEWHERE: Mutex<Vec<&'static Site>> = Mutex::new(Vec::new());

/// How many there may be; programs have fewer, but what comes from elsewhere may be anything.
const MOST_ELSEWHERE: usize = 1 << 14;

/// All sites by the address of their names, which is what a thread notes.
static SITES: Mutex<Vec<(usize, &'static Site)>> = Mutex::new(Vec::new());

thread_local! {
    static CURRENT: Cell<Option<&'static Site>> = const { Cell::new(None) };
    // Sites live for ever, so that whatever was noted stays valid; a program has few.
    static KNOWN: RefCell<HashMap<(usize, usize), &'static Site>> = RefCell::default();
}

/// Notes that the calling thread is in a call of the program, and returns it.
pub fn enter(call: &'static str) -> &'static Site {
    let address = weft_sys::caller::program_address();
    let key = (call.as_ptr() as usize, address);
    let make = || -> &'static Site {
        let site: &'static Site = Box::leak(Box::new(Site { call, address, place: OnceLock::new() }));
        let mut sites = SITES.lock().unwrap_or_else(PoisonError::into_inner);
        sites.push((core::ptr::from_ref(&site.call) as usize, site));
        site
    };
    let known = KNOWN.try_with(|known| *known.borrow_mut().entry(key).or_insert_with(make));
    // Exit handlers of the program may come when the table of their thread is gone.
    let site = known.unwrap_or_else(|_| again(call, address).unwrap_or_else(make));
    CURRENT.set(Some(site));
    site
}

/// Finds a site that some thread has noted.
fn again(call: &'static str, address: usize) -> Option<&'static Site> {
    let sites = SITES.lock().unwrap_or_else(PoisonError::into_inner);
    let mut known = sites.iter().map(|(_, site)| *site);
    known.find(|site| core::ptr::eq(site.call, call) && site.address == address)
}

/// The most bytes of names in a call that is written for another process; longer ones are left out.
const CALL: usize = 64;
const FILE: usize = 1024;

/// Writes a call for another process, for `#[serde(with = "weft_base::site")]`: at most [`Site::WRITTEN`] bytes in the format
/// of `postcard`.
///
/// # Errors
/// The serializer's.
pub fn serialize<S: Serializer>(site: &Option<&'static Site>, serializer: S) -> Result<S::Ok, S::Error> {
    let place = site.map(|site| {
        let Place { call, offset, file } = site.place();
        let call = if call.len() <= CALL { call } else { "" };
        let (file, offset) = if file.len() <= FILE { (file.as_str(), *offset) } else { ("", 0) };
        Place { call: call.into(), offset, file: file.into() }
    });
    place.serialize(serializer)
}

/// Reads a call that another process has written; it is nothing if there are too many.
///
/// # Errors
/// The deserializer's; a name that is too long.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'static Site>, D::Error> {
    let place = Option::<Place>::deserialize(deserializer)?;
    if place.as_ref().is_some_and(|place| place.call.len() > CALL || place.file.len() > FILE) {
        return Err(Error::custom("a name that is too long"));
    }
    Ok(place.and_then(elsewhere))
}

/// Returns a call of another process. Returns nothing if there are too many.
pub fn elsewhere(place: Place) -> Option<&'static Site> {
    let mut known = ELSEWHERE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(site) = known.iter().find(|site| *site.place() == place) {
        return Some(site);
    }
    if known.len() == MOST_ELSEWHERE {
        return None;
    }
    let call: &'static str = Box::leak(place.call.clone().into_boxed_str());
    let site: &'static Site = Box::leak(Box::new(Site { call, address: 0, place: place.into() }));
    known.push(site);
    Some(site)
}

impl Site {
    /// Returns where in the program it is, as every process can be told.
    pub fn place(&self) -> &Place {
        self.place.get_or_init(|| {
            let locate = LOCATE.get().filter(|_| self.address != 0);
            let (file, offset) = locate.and_then(|locate| locate(self.address)).unwrap_or_default();
            Place { call: self.call.into(), offset, file }
        })
    }

    /// The most bytes of a written call: whether there is one, names behind their lengths, a number.
    pub const WRITTEN: usize = 1 + (1 + CALL) + 10 + (2 + FILE);

    /// Finds the site whose name is at an address.
    pub fn of_call(address: usize) -> Option<&'static Self> {
        let sites = SITES.lock().unwrap_or_else(PoisonError::into_inner);
        sites.iter().find(|(known, _)| *known == address).map(|(_, site)| *site)
    }
}

/// Returns the calling thread's last call, if calls are noted.
pub fn current() -> Option<&'static Site> {
    CURRENT.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_of_another_process_is_known_once() {
        let place = |offset| Place { call: "MPI_Send".into(), offset, file: "a.out".into() };
        let one = elsewhere(place(16)).expect("there are few");
        let two = elsewhere(place(32)).expect("there are few");
        assert!(core::ptr::eq(one, elsewhere(place(16)).expect("there are few")) && !core::ptr::eq(one, two));
        assert_eq!((one.call, one.address, one.place()), ("MPI_Send", 0, &place(16)));
    }

    #[derive(Serialize, Deserialize)]
    struct Written(#[serde(with = "super")] Option<&'static Site>);

    fn read(bytes: &[u8]) -> postcard::Result<Option<&'static Site>> {
        postcard::from_bytes::<Written>(bytes).map(|written| written.0)
    }

    #[test]
    fn what_is_written_is_read_and_what_is_cut_off_or_too_long_refused() {
        let place = Place { call: "MPI_Recv".into(), offset: 1 << 40, file: "b.out".into() };
        let site = elsewhere(place.clone());
        let written = postcard::to_allocvec(&Written(site)).expect("it can be written");
        for cut in 0..written.len() {
            assert!(read(&written[..cut]).is_err(), "cut after {cut} bytes");
        }
        assert_eq!(read(&written).expect("written so").map(Site::place), Some(&place));
        let file =
            |length: usize| Place { file: "x".repeat(length), call: "y".repeat(CALL), offset: u64::MAX };
        let longest = postcard::to_allocvec(&Written(elsewhere(file(FILE)))).expect("it can be written");
        assert_eq!(longest.len(), Site::WRITTEN);
        let long = postcard::to_allocvec(&Written(elsewhere(file(FILE + 1)))).expect("it can be written");
        assert_eq!(read(&long).expect("written so").map(|site| site.place().offset), Some(0));
        let long = postcard::to_allocvec(&Some(file(FILE + 1))).expect("it can be written");
        assert!(read(&long).is_err());
    }
}
