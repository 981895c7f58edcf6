! Procedures of the user: operations in both forms, error handlers, attributes, generalized requests.
! weft-test: faults=yes
module procedures
  use mpi_f08
  use, intrinsic :: iso_c_binding, only : c_ptr, c_f_pointer
  implicit none
  integer :: handled = 0, deleted = 0, freed = 0, queried = 0, cancelled = 0, called = 0, called_large = 0
  type(MPI_Comm) :: complained
  type(MPI_Datatype) :: pair_type
contains
  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    print *, 'wrong: ', what
    error stop 1
  end subroutine
  subroutine add_pairs(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: in(:), inout(:)
    integer :: size
    call MPI_Type_size(datatype, size)
    call check(size == 8 .and. datatype == pair_type, 'the datatype of the operation')
    call c_f_pointer(invec, in, [2 * len])
    call c_f_pointer(inoutvec, inout, [2 * len])
    inout(1::2) = inout(1::2) + in(1::2)
    inout(2::2) = max(inout(2::2), in(2::2))
    called = called + 1
  end subroutine
  subroutine largest(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer(kind=MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: in(:), inout(:)
    call check(datatype == MPI_INTEGER, 'the datatype of the large operation')
    call c_f_pointer(invec, in, [len])
    call c_f_pointer(inoutvec, inout, [len])
    inout = max(inout, in)
    called_large = called_large + 1
  end subroutine
  subroutine complain(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code, class
    call MPI_Error_class(error_code, class)
    call check(class == MPI_ERR_TAG, 'the class of the error')
    complained = comm
    handled = handled + 1
  end subroutine
  subroutine copy(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Comm) :: oldcomm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    call check(extra_state == 2_MPI_ADDRESS_KIND**40, 'the extra state')
    attribute_val_out = attribute_val_in + 1
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine
  subroutine delete(comm, comm_keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
    call check(attribute_val > 2_MPI_ADDRESS_KIND**33, 'the value to be deleted')
    deleted = deleted + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine query(extra_state, status, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    type(MPI_Status) :: status
    integer :: ierror
    call MPI_Status_set_elements(status, MPI_INTEGER, int(extra_state))
    call MPI_Status_set_cancelled(status, .false.)
    status%MPI_SOURCE = 5
    status%MPI_TAG = 6
    queried = queried + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine release(extra_state, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    freed = freed + int(extra_state)
    ierror = MPI_SUCCESS
  end subroutine
  subroutine cancel(extra_state, complete, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    if (.not. complete) cancelled = cancelled + 1
    ierror = MPI_SUCCESS
  end subroutine
end module

program callbacks
  use procedures
  implicit none
  integer :: rank, size, pairs(2, 3), sums(2, 3), keyval, word_keyval, ierror, count, i
  integer(kind=MPI_ADDRESS_KIND) :: value
  logical :: flag
  type(MPI_Op) :: op, large_op
  type(MPI_Errhandler) :: handler, found
  type(MPI_Comm) :: comm, twin
  type(MPI_Request) :: request
  type(MPI_Status) :: status
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)

  call MPI_Op_create(add_pairs, .true., op)
  call MPI_Op_create_c(largest, .true., large_op)
  call MPI_Type_contiguous(2, MPI_INTEGER, pair_type)
  call MPI_Type_commit(pair_type)
  pairs = reshape([(rank + i, i = 1, 6)], [2, 3])
  call MPI_Allreduce(pairs, sums, 3, pair_type, op, MPI_COMM_WORLD)
  call check(all(sums(1, :) == [(size * (size - 1) / 2 + size * i, i = 1, 5, 2)]), 'sums')
  call check(all(sums(2, :) == [(size - 1 + i, i = 2, 6, 2)]), 'the largest')
  call MPI_Reduce_local(pairs, sums, 6_MPI_COUNT_KIND, MPI_INTEGER, large_op)
  call check(called_large == 1, 'the large operation was called')
  call MPI_Allreduce(MPI_IN_PLACE, called, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call check(called > 0 .or. size == 1, 'the operation was called')
  call MPI_Op_free(op)
  call MPI_Op_free(large_op)
  call check(op == MPI_OP_NULL, 'freed')

  call MPI_Comm_dup(MPI_COMM_SELF, comm)
  call MPI_Comm_create_errhandler(complain, handler)
  call MPI_Comm_set_errhandler(comm, handler)
  call MPI_Comm_get_errhandler(comm, found)
  call check(found == handler .and. found /= MPI_ERRORS_RETURN, 'the handler is set')
  call MPI_Send(rank, 1, MPI_INTEGER, 0, -5, comm, ierror)
  call check(handled == 1 .and. complained == comm .and. ierror /= MPI_SUCCESS, 'the handler is called')

  call MPI_Comm_create_keyval(copy, delete, keyval, 2_MPI_ADDRESS_KIND**40)
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, word_keyval, 0_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(comm, keyval, 2_MPI_ADDRESS_KIND**34)
  call MPI_Comm_set_attr(comm, word_keyval, -7_MPI_ADDRESS_KIND)
  call MPI_Comm_get_attr(comm, keyval, value, flag)
  call check(flag .and. value == 2_MPI_ADDRESS_KIND**34, 'the value')
  call MPI_Comm_dup(comm, twin)
  call MPI_Comm_get_attr(twin, keyval, value, flag)
  call check(flag .and. value == 2_MPI_ADDRESS_KIND**34 + 1, 'the value that was copied')
  call MPI_Comm_get_attr(twin, word_keyval, value, flag)
  call check(flag .and. value == -7, 'the value that was copied as it is')
  call MPI_Comm_delete_attr(twin, keyval)
  call MPI_Comm_get_attr(twin, keyval, value, flag)
  call check(.not. flag .and. deleted == 1, 'the value is gone')
  call MPI_Comm_free(twin)
  call MPI_Comm_free(comm)
  call check(deleted == 2, 'both were deleted')
  call MPI_Comm_free_keyval(keyval)
  call MPI_Comm_free_keyval(word_keyval)
  call check(keyval == MPI_KEYVAL_INVALID, 'the key is gone')
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag)
  call check(flag .and. value >= 32767, 'the largest tag')
  call MPI_Errhandler_free(handler)
  call MPI_Errhandler_free(found)

  call MPI_Grequest_start(query, release, cancel, 3_MPI_ADDRESS_KIND, request)
  call MPI_Test(request, flag, status)
  call check(.not. flag, 'not complete yet')
  call MPI_Cancel(request)
  call MPI_Grequest_complete(request)
  call MPI_Wait(request, status)
  call MPI_Get_count(status, MPI_INTEGER, count)
  call check(queried == 1 .and. freed == 3 .and. cancelled == 1, 'the request has called')
  call check(count == 3 .and. status%MPI_SOURCE == 5 .and. status%MPI_TAG == 6, 'its status')
  call MPI_Type_free(pair_type)
  call MPI_Finalize()
end program
