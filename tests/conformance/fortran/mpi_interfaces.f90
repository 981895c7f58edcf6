! Module mpi: buffers of any type and rank, texts, truth values, arrays of handles, and what is optional.
! weft-test: buffers=yes
program interfaces
  use, intrinsic :: iso_c_binding, only : c_ptr, c_f_pointer, c_loc
  use mpi
  implicit none
  integer :: ierror, rank, size, cart, length, i, next, last, status(MPI_STATUS_SIZE), info, many, version, subversion
  integer :: types(2), lengths(2), combined, dims(2), coordinates(2), bytes
  integer(kind=MPI_ADDRESS_KIND) :: offsets(2), value, space
  logical :: flag, periods(2), found(2), remaining(2)
  character(len=40) :: text
  character(len=MPI_MAX_OBJECT_NAME) :: name
  character(len=MPI_MAX_ERROR_STRING) :: message
  real :: scalar, grid(4, 5), incoming(4, 5)
  complex :: wave(3)
  type :: pair
    sequence
    double precision :: weight
    integer :: number
  end type
  type(pair) :: mine, theirs
  type(c_ptr) :: memory
  integer, pointer :: words(:)
  logical(kind=1) :: small
  real(kind=8) :: wide(2)
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  next = mod(rank + 1, size)
  last = mod(rank + size - 1, size)
  call check(.not. MPI_SUBARRAYS_SUPPORTED .and. .not. MPI_ASYNC_PROTECTS_NONBLOCKING, 'no subarrays')
  ! Any type, any rank.
  scalar = rank
  grid = rank
  wave = cmplx(rank, -rank)
  call MPI_Bcast(scalar, 1, MPI_REAL, size - 1, MPI_COMM_WORLD, ierror)
  call check(scalar == size - 1, 'a scalar')
  call MPI_Sendrecv(grid, 20, MPI_REAL, next, 1, incoming, 20, MPI_REAL, last, 1, MPI_COMM_WORLD, status, ierror)
  call check(all(incoming == last), 'a matrix')
  call MPI_Allreduce(MPI_IN_PLACE, wave, 3, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierror)
  call check(real(wave(3)) == size * (size - 1) / 2, 'complex numbers')
  text = 'none'
  if (rank == 0) text = 'from the root'
  call MPI_Bcast(text, len(text), MPI_CHARACTER, 0, MPI_COMM_WORLD, ierror)
  call check(text == 'from the root', 'a text')
  ! Absolute addresses and MPI_BOTTOM.
  mine = pair(rank * 0.5d0, rank)
  theirs = pair(0, 0)
  call MPI_Get_address(mine%weight, offsets(1), ierror)
  call MPI_Get_address(mine%number, offsets(2), ierror)
  types = [MPI_DOUBLE_PRECISION, MPI_INTEGER]
  lengths = 1
  call MPI_Type_create_struct(2, lengths, offsets, types, combined, ierror)
  call MPI_Type_commit(combined, ierror)
  call MPI_Send(MPI_BOTTOM, 1, combined, 0, 3, MPI_COMM_SELF, ierror)
  call MPI_Type_free(combined, ierror)
  offsets = offsets - offsets(1)
  call MPI_Type_create_struct(2, lengths, offsets, types, combined, ierror)
  call MPI_Type_commit(combined, ierror)
  call MPI_Recv(theirs, 1, combined, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE, ierror)
  call check(theirs%weight == mine%weight .and. theirs%number == mine%number, 'a structure')
  call MPI_Type_free(combined, ierror)
  ! Texts.
  call MPI_Comm_set_name(MPI_COMM_WORLD, '  everybody  ', ierror)
  call MPI_Comm_get_name(MPI_COMM_WORLD, name, length, ierror)
  call check(name == '  everybody' .and. length == 11, 'a name')
  call MPI_Error_string(MPI_ERR_TAG, message, length, ierror)
  call check(length > 0 .and. message(length+1:) == ' ', 'a message')
  call MPI_Info_create(info, ierror)
  call MPI_Info_set(info, '  key ', '  a value  ', ierror)
  call MPI_Info_get_nkeys(info, many, ierror)
  call MPI_Info_get_nthkey(info, 0, name, ierror)
  call check(many == 1 .and. name == 'key', 'a key')
  length = len(text)
  call MPI_Info_get_string(info, 'key', length, text, flag, ierror)
  call check(flag .and. text == 'a value' .and. length == 7, 'a value and its length')
  text = 'as it was'
  call MPI_Info_get_string(info, 'nothing', length, text, flag, ierror)
  call check(.not. flag .and. text == 'as it was', 'no value')
  length = 3
  call MPI_Info_get(info, 'key', length, text, flag, ierror)
  call check(flag .and. text == 'a v', 'a part of a value')
  call MPI_Info_free(info, ierror)
  ! Truth values.
  dims = 0
  call MPI_Dims_create(size, 2, dims, ierror)
  periods = [.true., .false.]
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, .false., cart, ierror)
  call MPI_Cart_get(cart, 2, dims, found, coordinates, ierror)
  call check(found(1) .and. .not. found(2), 'periods')
  remaining = [.true., .false.]
  call MPI_Cart_sub(cart, remaining, many, ierror)
  call MPI_Comm_size(many, length, ierror)
  call check(length == dims(1), 'a part of the grid')
  call MPI_Comm_free(many, ierror)
  call MPI_Comm_free(cart, ierror)
  ! Memory: an integer, or a pointer of C.
  call MPI_Alloc_mem(40_MPI_ADDRESS_KIND, MPI_INFO_NULL, value, ierror)
  call check(value /= 0, 'an address')
  call MPI_Alloc_mem(40_MPI_ADDRESS_KIND, MPI_INFO_NULL, memory, ierror)
  call c_f_pointer(memory, words, [10])
  words = [(i, i = 1, 10)]
  call check(sum(words) == 55, 'memory')
  call MPI_Free_mem(words, ierror)
  call MPI_Win_allocate(40_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, memory, many, ierror)
  call c_f_pointer(memory, words, [10])
  words = rank
  call check(sum(words) == 10 * rank, 'memory of a window')
  call MPI_Win_free(many, ierror)
  call MPI_Win_allocate_shared(40_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_SELF, value, many, ierror)
  call MPI_Win_shared_query(many, 0, space, length, memory, ierror)
  call check(transfer(memory, value) == value .and. space == 40 .and. length == 4, 'the same address in both forms')
  call MPI_Win_free(many, ierror)
  ! Sizes.
  call MPI_Sizeof(wide, bytes, ierror)
  call check(bytes == 8, 'the size of a real')
  call MPI_Sizeof(small, bytes, ierror)
  call check(bytes == 1, 'the size of a logical')
  call MPI_Sizeof(wave, bytes, ierror)
  call check(bytes == 8, 'the size of a complex')
  call MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, combined, ierror)
  call MPI_Type_size(combined, bytes, ierror)
  call check(bytes == 8, 'a type of a size')
  call MPI_Type_create_f90_real(15, MPI_UNDEFINED, combined, ierror)
  call MPI_Type_size(combined, bytes, ierror)
  call check(bytes == 8, 'a type of a precision')
  call MPI_Type_create_f90_integer(9, combined, ierror)
  call MPI_Type_size(combined, bytes, ierror)
  call check(bytes == 4, 'a type of a range')
  call MPI_Get_version(version, subversion, ierror)
  call check(version == MPI_VERSION .and. subversion == MPI_SUBVERSION, 'the version')
  call MPI_F_sync_reg(grid)
  call PMPI_Barrier(MPI_COMM_WORLD, ierror)
  call MPI_Finalize(ierror)
contains
  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    print *, 'wrong: ', what
    error stop 1
  end subroutine
end program
