! The MPI functions that these programs call, through the C interface.
module ranks
  use, intrinsic :: iso_c_binding
  implicit none
  integer(c_int), protected :: rank = -1, size = -1
  integer(c_intptr_t), parameter, private :: world = int(z'101', c_intptr_t)
  interface
    integer(c_int) function c_init(argc, argv) bind(C, name="MPI_Init")
      import :: c_int, c_ptr
      type(c_ptr), value :: argc, argv
    end function
    integer(c_int) function c_rank(comm, number) bind(C, name="MPI_Comm_rank")
      import :: c_int, c_intptr_t
      integer(c_intptr_t), value :: comm
      integer(c_int), intent(out) :: number
    end function
    integer(c_int) function c_size(comm, number) bind(C, name="MPI_Comm_size")
      import :: c_int, c_intptr_t
      integer(c_intptr_t), value :: comm
      integer(c_int), intent(out) :: number
    end function
    integer(c_int) function c_barrier(comm) bind(C, name="MPI_Barrier")
      import :: c_int, c_intptr_t
      integer(c_intptr_t), value :: comm
    end function
    integer(c_int) function c_finalize() bind(C, name="MPI_Finalize")
      import :: c_int
    end function
  end interface
contains
  subroutine start
    if (c_init(c_null_ptr, c_null_ptr) /= 0) error stop 'MPI_Init'
    if (c_rank(world, rank) /= 0) error stop 'MPI_Comm_rank'
    if (c_size(world, size) /= 0) error stop 'MPI_Comm_size'
  end subroutine

  subroutine barrier
    if (c_barrier(world) /= 0) error stop 'MPI_Barrier'
  end subroutine

  subroutine finish
    if (c_finalize() /= 0) error stop 'MPI_Finalize'
  end subroutine
end module
