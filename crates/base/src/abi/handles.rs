//! Handles: opaque words.

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub struct $name(pub usize);
    )*};
}

handles! {
    /// `MPI_Comm`
    Comm,
    /// `MPI_Datatype`
    Datatype,
    /// `MPI_Op`
    Op,
    /// `MPI_Group`
    Group,
    /// `MPI_Request`
    Request,
    /// `MPI_Errhandler`
    Errhandler,
    /// `MPI_Info`
    Info,
    /// `MPI_Message`
    Message,
    /// `MPI_File`
    File,
    /// `MPI_Session`
    Session,
    /// `MPI_Win`
    Win,
}
