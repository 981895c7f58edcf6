! A deadlock report names the lines of the program's calls.
! check: code=125
! check-output: rank 0: waits in MPI_Recv at deadlock_fortran.f90:@RECEIVE (in waits)
! check-output: rank 1: waits in MPI_Barrier at deadlock_fortran.f90:@BARRIER (in waits)
program waits
  use mpi
  implicit none
  integer :: code, rank, value
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  if (rank == 0) then
    call MPI_Recv(value, 1, MPI_INTEGER, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)   ! @RECEIVE
  end if
  call MPI_Barrier(MPI_COMM_WORLD, code)   ! @BARRIER
  call MPI_Finalize(code)
end program
