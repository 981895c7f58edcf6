! Procedures of the program under the standard's names: calls go to them, and they reach MPI by its PMPI names.
module tally
  implicit none
  integer :: sends = 0, receives = 0, ranks = 0
end module

#ifdef __flang__
! flang 19 does not compile procedures in Fortran that take buffers of any rank. Descriptors can be handed on.
subroutine send(buf, count, datatype, dest, tag, comm, ierror) bind(c, name="mpi_send_f08ts_")
  use, intrinsic :: iso_c_binding, only : c_ptr
  use tally
  implicit none
  type(c_ptr), value :: buf, count, datatype, dest, tag, comm, ierror
  interface
    subroutine entry(buf, count, datatype, dest, tag, comm, ierror) bind(c, name="weft_mpi_send_f08ts")
      import
      type(c_ptr), value :: buf, count, datatype, dest, tag, comm, ierror
    end subroutine
  end interface
  sends = sends + 1
  call entry(buf, count, datatype, dest, tag, comm, ierror)
end subroutine

subroutine receive(buf, count, datatype, source, tag, comm, request, ierror) bind(c, name="mpi_irecv_f08ts_")
  use, intrinsic :: iso_c_binding, only : c_ptr
  use tally
  implicit none
  type(c_ptr), value :: buf, count, datatype, source, tag, comm, request, ierror
  interface
    subroutine entry(buf, count, datatype, source, tag, comm, request, ierror) bind(c, name="weft_mpi_irecv_f08ts")
      import
      type(c_ptr), value :: buf, count, datatype, source, tag, comm, request, ierror
    end subroutine
  end interface
  receives = receives + 1
  call entry(buf, count, datatype, source, tag, comm, request, ierror)
end subroutine
#else
subroutine MPI_Send_f08ts(buf, count, datatype, dest, tag, comm, ierror)
  use mpi_f08, no_name => MPI_Send_f08ts
  use tally
  implicit none
  type(*), dimension(..), intent(in) :: buf
  integer, intent(in) :: count, dest, tag
  type(MPI_Datatype), intent(in) :: datatype
  type(MPI_Comm), intent(in) :: comm
  integer, optional, intent(out) :: ierror
  sends = sends + 1
  call PMPI_Send(buf, count, datatype, dest, tag, comm, ierror)
end subroutine

subroutine MPI_Irecv_f08ts(buf, count, datatype, source, tag, comm, request, ierror)
  use mpi_f08, no_name => MPI_Irecv_f08ts
  use tally
  implicit none
  type(*), dimension(..), asynchronous :: buf
  integer, intent(in) :: count, source, tag
  type(MPI_Datatype), intent(in) :: datatype
  type(MPI_Comm), intent(in) :: comm
  type(MPI_Request), intent(out) :: request
  integer, optional, intent(out) :: ierror
  receives = receives + 1
  call PMPI_Irecv(buf, count, datatype, source, tag, comm, request, ierror)
end subroutine
#endif

subroutine MPI_Comm_rank_f08(comm, rank, ierror)
  use mpi_f08, no_name => MPI_Comm_rank_f08
  use tally
  implicit none
  type(MPI_Comm), intent(in) :: comm
  integer, intent(out) :: rank
  integer, optional, intent(out) :: ierror
  ranks = ranks + 1
  call PMPI_Comm_rank(comm, rank, ierror)
end subroutine

program interposed
  use mpi_f08
  use tally
  implicit none
  integer :: rank, size, ierror, numbers(10)
  type pair
    integer :: first, second
  end type
  type(pair), asynchronous :: received(5)
  type(MPI_Request) :: request
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  numbers = rank
  numbers(2::2) = -1
  received = pair(-1, -1)
  call MPI_Irecv(received%second, 5, MPI_INTEGER, mod(rank + size - 1, size), 1, MPI_COMM_WORLD, request)
  call MPI_Send(numbers(1::2), 5, MPI_INTEGER, mod(rank + 1, size), 1, MPI_COMM_WORLD)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call PMPI_Barrier(MPI_COMM_WORLD)
  if (any(received%second /= mod(rank + size - 1, size)) .or. any(received%first /= -1)) error stop 1
  if (sends /= 1 .or. receives /= 1 .or. ranks /= 2) error stop 2
  call MPI_Finalize()
end program
