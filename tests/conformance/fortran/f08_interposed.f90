! Procedures of the program under the standard's names: calls go to them, and they reach MPI by its PMPI names.
module tally
  implicit none
  integer :: sends = 0, ranks = 0
end module

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
  integer :: rank, size, ierror, numbers(10), received(5)
  type(MPI_Request) :: request
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  numbers = rank
  numbers(2::2) = -1
  call MPI_Irecv(received, 5, MPI_INTEGER, mod(rank + size - 1, size), 1, MPI_COMM_WORLD, request)
  call MPI_Send(numbers(1::2), 5, MPI_INTEGER, mod(rank + 1, size), 1, MPI_COMM_WORLD)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call PMPI_Barrier(MPI_COMM_WORLD)
  if (any(received /= mod(rank + size - 1, size))) error stop 1
  if (sends /= 1 .or. ranks /= 2) error stop 2
  call MPI_Finalize()
end program
