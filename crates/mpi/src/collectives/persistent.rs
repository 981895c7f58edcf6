//! Persistent collective operations (chapter 6), those among neighbors included (chapter 8).

use crate::collectives::arguments::{Argument, Arguments, Elements};
use crate::collectives::forms::{Form, with_collectives, with_neighborhoods};
use crate::collectives::movement::*;
use crate::collectives::neighborhoods::Neighborhood;
use crate::collectives::reductions::{Amount, Reduction};
use core::ffi::{c_int, c_void};
use weft_base::abi::{self, Aint, Count};
use weft_base::{Counts, In, Out, Result};
use weft_coll::Call;

macro_rules! persistent {
    ($($_of:ident $_b:literal, $_n:ident $_nt:literal, $name:ident $text:literal ($($argument:ident: $kind:ty),*) = $describe:expr;)*) => {$(
        #[doc = concat!("`", $text, "`")]
        ///
        /// # Errors
        /// As the blocking form for the arguments, and `MPI_ERR_INFO`.
        #[allow(clippy::too_many_arguments)]
        pub fn $name($($argument: $kind,)* info: abi::Info, request: Out<abi::Request>) -> Result {
            $describe.run(Form::Persistent(info, request))
        }
    )*};
}
with_collectives!(persistent);
with_neighborhoods!(persistent);
