! What MPI_Send of mpi_f08 costs beside C's: one rank sends to itself and receives by C, so that only the sends differ. With an
! argument it says hello instead, as hello.c does.
program fortran
  use, intrinsic :: iso_c_binding
  use mpi_f08
  implicit none
  interface
    integer(c_int) function c_send(buffer, count, datatype, dest, tag, comm) bind(c, name='MPI_Send')
      import
      type(c_ptr), value :: buffer
      integer(c_int), value :: count, dest, tag
      integer(c_intptr_t), value :: datatype, comm
    end function
    integer(c_int) function c_recv(buffer, count, datatype, source, tag, comm, status) bind(c, name='MPI_Recv')
      import
      type(c_ptr), value :: buffer, status
      integer(c_int), value :: count, source, tag
      integer(c_intptr_t), value :: datatype, comm
    end function
    integer(c_intptr_t) function handle_of(number) bind(c, name='MPI_Type_fromint')
      import
      integer(c_int), value :: number
    end function
  end interface
  integer, parameter :: batches = 9, repetitions = 20000, elements = 64
  real(8), target :: data(2 * elements), room(2 * elements)
  type(MPI_Datatype) :: vector
  integer :: batch, i, code, rank, ranks, length
  integer(c_intptr_t) :: self, double, spaced
  real(8) :: start, plain, other
  character(MPI_MAX_PROCESSOR_NAME) :: host

  call MPI_Init()
  if (command_argument_count() > 0) then
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    call MPI_Get_processor_name(host, length)
    print '(a,i0,a,i0,2a)', 'Hello from rank ', rank, ' of ', ranks, ' on ', host(:length)
    call MPI_Finalize()
    stop
  end if
  data = 1
  ! The handles of predefined objects are their numbers.
  self = MPI_COMM_SELF%MPI_VAL
  double = MPI_DOUBLE_PRECISION%MPI_VAL
  call MPI_Type_vector(elements, 1, 2, MPI_DOUBLE_PRECISION, vector)
  call MPI_Type_commit(vector)
  spaced = handle_of(vector%MPI_VAL)
  do batch = 1, batches
    start = MPI_Wtime()
    do i = 1, repetitions
      code = c_send(c_loc(data), 1, double, 0, 0, self)
      code = c_recv(c_loc(room), 1, double, 0, 0, self, c_null_ptr)
    end do
    plain = nanoseconds()
    do i = 1, repetitions
      call MPI_Send(data, 1, MPI_DOUBLE_PRECISION, 0, 0, MPI_COMM_SELF)
      code = c_recv(c_loc(room), 1, double, 0, 0, self, c_null_ptr)
    end do
    other = nanoseconds()
    if (batch > 1) call sample('fortran-send', 8, other - plain)
    do i = 1, repetitions
      code = c_send(c_loc(data), 1, spaced, 0, 0, self)
      code = c_recv(c_loc(room), elements, double, 0, 0, self, c_null_ptr)
    end do
    plain = nanoseconds()
    do i = 1, repetitions
      call MPI_Send(data(1::2), elements, MPI_DOUBLE_PRECISION, 0, 0, MPI_COMM_SELF)
      code = c_recv(c_loc(room), elements, double, 0, 0, self, c_null_ptr)
    end do
    other = nanoseconds()
    if (batch == 1) cycle
    call sample('derived-datatype', 8 * elements, plain)
    call sample('fortran-section', 8 * elements, other)
  end do
  call MPI_Finalize()
contains
  ! Returns what one repetition has taken since the last call, or since the start.
  real(8) function nanoseconds()
    real(8) :: now
    now = MPI_Wtime()
    nanoseconds = (now - start) * 1e9 / repetitions
    start = MPI_Wtime()
  end function
  subroutine sample(name, size, value)
    character(*), intent(in) :: name
    integer, intent(in) :: size
    real(8), intent(in) :: value
    print '(a,1x,a,1x,i0,1x,f0.3)', 'sample', name, size, value
    flush (6)
  end subroutine
end program
