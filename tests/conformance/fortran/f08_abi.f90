! What the library knows of Fortran's types is what this compiler has: sizes, kinds, and the literals of logicals.
! weft-test: part=one-worker,processes
program abi
  use, intrinsic :: iso_fortran_env
  use mpi_f08
  implicit none
  type(MPI_Info) :: info, wrong
  integer :: major, minor, code, class
  logical :: yes, no, known
  call MPI_Abi_get_version(major, minor)
  call check(major == MPI_ABI_VERSION .and. minor == MPI_ABI_SUBVERSION, 'the version of the ABI')
  call MPI_Init()
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
  call MPI_Abi_get_info(info)
  call has(info, 'mpi_aint_size', storage_size(0_MPI_ADDRESS_KIND) / 8)
  call has(info, 'mpi_count_size', storage_size(0_MPI_COUNT_KIND) / 8)
  call has(info, 'mpi_offset_size', storage_size(0_MPI_OFFSET_KIND) / 8)
  call MPI_Info_free(info)
  call MPI_Abi_get_fortran_info(info)
  call check(info /= MPI_INFO_NULL, 'the library knows the types')
  call has(info, 'mpi_logical_size', storage_size(.true.) / 8)
  call has(info, 'mpi_integer_size', storage_size(0) / 8)
  call has(info, 'mpi_real_size', storage_size(0.0) / 8)
  call has(info, 'mpi_double_precision_size', storage_size(0d0) / 8)
  call MPI_Info_dup(info, wrong)
  call MPI_Info_set(wrong, 'mpi_real_size', '8')
  call MPI_Abi_set_fortran_info(wrong, code)
  call refused(code, 'another size')
  call MPI_Info_free(wrong)
  call MPI_Abi_set_fortran_info(info, code)
  call MPI_Abi_set_fortran_info(info, code)
  call refused(code, 'a second call')
  call MPI_Info_free(info)

  yes = .false.
  no = .true.
  known = .false.
  call MPI_Abi_get_fortran_booleans(storage_size(yes) / 8, yes, no, known)
  call check(known, 'the literals are known')
  call check(transfer(yes, 0) == transfer(.true., 0), 'true is that of this compiler')
  call check(transfer(no, 0) == transfer(.false., 0), 'and false, too')
  call MPI_Abi_set_fortran_booleans(storage_size(yes) / 8, .false., .true., code)
  call refused(code, 'literals in the wrong places')
  call MPI_Abi_set_fortran_booleans(storage_size(yes) / 8, .true., .false., code)
  call MPI_Abi_set_fortran_booleans(storage_size(yes) / 8, .true., .false., code)
  call refused(code, 'literals once more')
  call MPI_Abi_get_fortran_booleans(3, yes, no, known, code)
  call MPI_Error_class(code, class)
  call check(class == MPI_ERR_ARG, 'no logical has three bytes')
  call MPI_Finalize()
contains
  subroutine has(info, key, wanted)
    type(MPI_Info), intent(in) :: info
    character(len=*), intent(in) :: key
    integer, intent(in) :: wanted
    character(len=8) :: text
    integer :: length, found
    logical :: flag
    length = len(text)
    call MPI_Info_get_string(info, key, length, text, flag)
    call check(flag, key)
    read (text, *) found
    call check(found == wanted, key)
  end subroutine

  subroutine refused(code, what)
    integer, intent(in) :: code
    character(len=*), intent(in) :: what
    call MPI_Error_class(code, class)
    call check(class == MPI_ERR_ABI, what)
  end subroutine

  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    print *, 'wrong: ', what
    error stop 1
  end subroutine
end program
