//! Blocking collective operations (chapter 6), those among neighbors included (chapter 8).

use crate::collectives::arguments::{Argument, Arguments, Elements};
use crate::collectives::forms::{Form, with_collectives, with_neighborhoods};
use crate::collectives::movement::*;
use crate::collectives::neighborhoods::Neighborhood;
use crate::collectives::reductions::{Amount, Reduction};
use core::ffi::{c_int, c_void};
use weft_base::abi::{self, Aint, Count};
use weft_base::{Counts, In, Result};
use weft_coll::Call;

macro_rules! blocking {
    ($($name:ident $text:literal, $_n:ident $_nt:literal, $_p:ident $_pt:literal ($($argument:ident: $kind:ty),*) = $describe:expr;)*) => {$(
        #[doc = concat!("`", $text, "`")]
        ///
        /// # Errors
        /// `MPI_ERR_COMM`, `MPI_ERR_ROOT`, `MPI_ERR_COUNT`, `MPI_ERR_TYPE`, `MPI_ERR_OP`, `MPI_ERR_BUFFER`,
        /// `MPI_ERR_ARG` and `MPI_ERR_TOPOLOGY` for the arguments; `MPI_ERR_TRUNCATE` if more arrives than fits; `MPI_ERR_OTHER` if the ranks
        /// make different calls.
        #[allow(clippy::too_many_arguments)]
        #[inline]
        pub fn $name($($argument: $kind),*) -> Result {
            $describe.run(Form::Blocking)
        }
    )*};
}
with_collectives!(blocking);
with_neighborhoods!(blocking);
