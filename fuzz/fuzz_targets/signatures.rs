//! Whatever a peer says that a message is can be compared with anything, and written again, or is refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weft_base::constants::{MPI_DOUBLE_INT, MPI_INT};
use weft_datatype::{Datatype, Signature};

fuzz_target!(|bytes: &[u8]| {
    let Ok((read, rest)) = postcard::take_from_bytes::<Signature>(bytes) else { return };
    for (handle, count) in [(MPI_INT, 1), (MPI_INT, u64::MAX), (MPI_DOUBLE_INT, 1000)] {
        let other = Signature::new(Datatype::predefined(handle).expect("predefined"), count);
        let _ = (read.differs(&other), other.differs(&read), read.differs_in_message(&other));
    }
    if let Ok(second) = postcard::from_bytes(rest) {
        let _ = read.differs(&second);
    }
    let written = postcard::to_allocvec(&read).expect("it can be written");
    assert!(written.len() <= Signature::MOST);
    let again: Signature = postcard::from_bytes(&written).expect("it was written");
    assert!(again.differs(&read).is_none());
});
