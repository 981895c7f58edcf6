//! Functions that the standard has removed and other MPIs' headers still declare, or their libraries still have.

/// Defines them.
#[macro_export]
macro_rules! leftovers {
    () => {
        use $crate::handles::Handle as _;
        use $crate::special::callbacks;

        #[unsafe(no_mangle)]
        unsafe extern "C" fn PMPI_Address(location: *mut c_void, address: *mut isize) -> c_int {
            // SAFETY: the caller's variable.
            tables::error_theirs(unsafe {
                c::MPI_Get_address(tables::buffer_ours(location as usize) as *mut c_void, address)
            })
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn PMPI_Errhandler_create(
            function: *const c_void,
            errhandler: *mut Errhandler,
        ) -> c_int {
            // SAFETY: a function of the type of error handlers of communicators, and a variable.
            unsafe { callbacks::comm_create_errhandler::<This>(function, errhandler) }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn PMPI_Errhandler_get(comm: Comm, errhandler: *mut Errhandler) -> c_int {
            let mut handle = Variable::empty(errhandler);
            // SAFETY: the variable of the caller.
            unsafe {
                let code = c::MPI_Comm_get_errhandler(comm.ours(), handle.address());
                handle.write();
                tables::error_theirs(code)
            }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn PMPI_Errhandler_set(comm: Comm, errhandler: Errhandler) -> c_int {
            // SAFETY: takes any handles.
            tables::error_theirs(unsafe { c::MPI_Comm_set_errhandler(comm.ours(), errhandler.ours()) })
        }

        /// Returns extent and lower bound of a datatype, and the code.
        fn bounds(datatype: Datatype) -> (isize, isize, c_int) {
            let (mut low, mut extent) = (0, 0);
            // SAFETY: two variables.
            let code = unsafe { c::MPI_Type_get_extent(datatype.ours(), &mut low, &mut extent) };
            (low, extent, tables::error_theirs(code))
        }

        /// Stores a bound.
        ///
        /// # Safety
        /// `variable` is the caller's.
        unsafe fn store_bound(variable: *mut isize, bound: isize, code: c_int) -> c_int {
            if code == 0 && variable.is_null() {
                let text = "the place for the result is a null pointer";
                let class = weft_base::constants::MPI_ERR_ARG;
                return $crate::refuse::<This>(class, c"MPI_Type_extent", text);
            }
            if code == 0 {
                // SAFETY: the caller's promise.
                unsafe { *variable = bound }
            }
            code
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn PMPI_Type_extent(datatype: Datatype, extent: *mut isize) -> c_int {
            let (_, found, code) = bounds(datatype);
            // SAFETY: the variable for the extent.
            unsafe { store_bound(extent, found, code) }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn PMPI_Type_lb(datatype: Datatype, displacement: *mut isize) -> c_int {
            let (low, _, code) = bounds(datatype);
            // SAFETY: the variable for the lower bound.
            unsafe { store_bound(displacement, low, code) }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn PMPI_Type_ub(datatype: Datatype, displacement: *mut isize) -> c_int {
            let (low, extent, code) = bounds(datatype);
            // SAFETY: the variable for the upper bound.
            unsafe { store_bound(displacement, low + extent, code) }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn PMPI_Type_hindexed(
            count: c_int,
            blocklengths: *mut c_int,
            displacements: *mut isize,
            oldtype: Datatype,
            newtype: *mut Datatype,
        ) -> c_int {
            let mut made = Variable::empty(newtype);
            // SAFETY: arrays and a variable of the caller.
            unsafe {
                let code = c::MPI_Type_create_hindexed(
                    count,
                    blocklengths,
                    displacements,
                    oldtype.ours(),
                    made.address(),
                );
                made.write();
                tables::error_theirs(code)
            }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn PMPI_Type_hvector(
            count: c_int,
            blocklength: c_int,
            stride: isize,
            oldtype: Datatype,
            newtype: *mut Datatype,
        ) -> c_int {
            let mut made = Variable::empty(newtype);
            // SAFETY: a variable of the caller.
            unsafe {
                let code =
                    c::MPI_Type_create_hvector(count, blocklength, stride, oldtype.ours(), made.address());
                made.write();
                tables::error_theirs(code)
            }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn PMPI_Type_struct(
            count: c_int,
            blocklengths: *mut c_int,
            displacements: *mut isize,
            types: *mut Datatype,
            newtype: *mut Datatype,
        ) -> c_int {
            let mut made = Variable::empty(newtype);
            // SAFETY: arrays of that length, and a variable of the caller.
            unsafe {
                let mut types = Handles::read(types, count.into());
                let code = c::MPI_Type_create_struct(
                    count,
                    blocklengths,
                    displacements,
                    types.address(),
                    made.address(),
                );
                made.write();
                tables::error_theirs(code)
            }
        }

        $crate::names! {
            MPI_Address => PMPI_Address,
            MPI_Errhandler_create => PMPI_Errhandler_create,
            MPI_Errhandler_get => PMPI_Errhandler_get,
            MPI_Errhandler_set => PMPI_Errhandler_set,
            MPI_Type_extent => PMPI_Type_extent,
            MPI_Type_hindexed => PMPI_Type_hindexed,
            MPI_Type_hvector => PMPI_Type_hvector,
            MPI_Type_lb => PMPI_Type_lb,
            MPI_Type_struct => PMPI_Type_struct,
            MPI_Type_ub => PMPI_Type_ub,
        }
    };
}
