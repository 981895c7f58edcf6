! Reports name the lines of a Fortran program, not places in the library of Fortran's names, and know its declarations.
! check: ranks=1 code=2 flags=-O0
! check-output: weft check: rank 0: buf has another type than the call says: `x` is declared with elements of type real(kind=8), not MPI_INTEGER
! check-output:   passed in MPI_Send at fortran.f90:@PASSED (in reports)
! check-output: MPI_Send on MPI_COMM_WORLD, rank 0 of 1: count is -1
! check-output:   #0 reports at fortran.f90:@COUNT
program reports
  use mpi
  implicit none
  integer :: code
  real(8) :: x
  call MPI_Init(code)
  x = 1
  call MPI_Send(x, 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, code)   ! @PASSED
  call MPI_Send(x, -1, MPI_REAL8, 0, 0, MPI_COMM_WORLD, code)   ! @COUNT
  call MPI_Finalize(code)
end program
