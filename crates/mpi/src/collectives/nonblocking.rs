//! Nonblocking collective operations (chapter 6), those among neighbors included (chapter 8).

use crate::collectives::arguments::{Argument, Arguments, Elements};
use crate::collectives::forms::{Form, with_collectives, with_neighborhoods};
use crate::collectives::movement::*;
use crate::collectives::neighborhoods::Neighborhood;
use crate::collectives::reductions::{Amount, Reduction};
use core::ffi::{c_int, c_void};
use weft_base::abi::{self, Aint, Count};
use weft_base::{Counts, In, Out, Result};
use weft_coll::Call;

macro_rules! nonblocking {
    ($($_of:ident $_b:literal, $name:ident $text:literal, $_p:ident $_pt:literal ($($argument:ident: $kind:ty),*) = $describe:expr;)*) => {$(
        #[doc = concat!("`", $text, "`")]
        ///
        /// # Errors
        /// As the blocking form for the arguments; what goes wrong later is for the call that completes the request.
        #[allow(clippy::too_many_arguments)]
        pub fn $name($($argument: $kind,)* request: Out<abi::Request>) -> Result {
            $describe.run(Form::Nonblocking(request))
        }
    )*};
}
with_collectives!(nonblocking);
with_neighborhoods!(nonblocking);
