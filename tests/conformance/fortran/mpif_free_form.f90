! mpif.h in free form: derived datatypes and communicators as integers, from the handles' first use to their end.
! weft-test: buffers=yes
program free_form
  implicit none
  include 'mpif.h'
  integer :: ierror, rank, size, comm, half, column, i, j, handles(300), group, world_group, status(MPI_STATUS_SIZE)
  integer :: matrix(8, 8), received(8), incoming(100), requests(100), index, indices(100), many
  logical :: flag
  integer(kind=MPI_ADDRESS_KIND) :: address, lower, extent
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
  call check(comm /= MPI_COMM_NULL .and. comm /= MPI_COMM_WORLD, 'a duplicate has a number of its own')
  call MPI_Comm_split(comm, mod(rank, 2), rank, half, ierror)
  call MPI_Comm_group(half, group, ierror)
  call MPI_Comm_group(comm, world_group, ierror)
  call MPI_Group_size(group, i, ierror)
  call check(i == (size + 1 - mod(rank, 2)) / 2, 'the half has its size')
  ! Many objects at once, and freed in another order: numbers are not mixed up.
  do i = 1, 300
    call MPI_Type_contiguous(i, MPI_INTEGER, handles(i), ierror)
  end do
  do i = 1, 300, 2
    call MPI_Type_free(handles(i), ierror)
    call check(handles(i) == MPI_DATATYPE_NULL, 'freed')
  end do
  do i = 2, 300, 2
    call MPI_Type_size(handles(i), j, ierror)
    call check(j == 4 * i, 'the size of the right one')
  end do
  do i = 2, 300, 2
    call MPI_Type_free(handles(i), ierror)
  end do
  ! A row of a matrix, which lies in columns.
  call MPI_Type_vector(8, 1, 8, MPI_INTEGER, column, ierror)
  call MPI_Type_commit(column, ierror)
  call MPI_Type_get_extent(column, lower, extent, ierror)
  call check(lower == 0 .and. extent == 57 * 4, 'the extent of a row')
  matrix = reshape([(i, i = 1, 64)], [8, 8])
  call MPI_Sendrecv(matrix(3, 1), 1, column, 0, 1, received, 8, MPI_INTEGER, 0, 1, MPI_COMM_SELF, status, ierror)
  call check(all(received == matrix(3, :)), 'a row has come')
  call MPI_Type_free(column, ierror)
  ! Indices count from one.
  many = 100
  do i = 1, many
    call MPI_Irecv(incoming(i), 1, MPI_INTEGER, 0, i, MPI_COMM_SELF, requests(i), ierror)
  end do
  call MPI_Testany(many, requests, index, flag, status, ierror)
  call check(.not. flag .and. index == MPI_UNDEFINED, 'none is complete')
  call MPI_Send(rank, 1, MPI_INTEGER, 0, 42, MPI_COMM_SELF, ierror)
  call MPI_Waitany(many, requests, index, status, ierror)
  call check(index == 42 .and. status(MPI_TAG) == 42, 'the 42nd is complete')
  call check(requests(42) == MPI_REQUEST_NULL, 'and null')
  do i = 1, many
    if (i /= 42) call MPI_Send(rank, 1, MPI_INTEGER, 0, i, MPI_COMM_SELF, ierror)
  end do
  call MPI_Waitsome(many, requests, j, indices, MPI_STATUSES_IGNORE, ierror)
  call check(j >= 1 .and. all(indices(1:j) >= 1) .and. all(indices(1:j) <= many), 'some are complete')
  call MPI_Waitall(many, requests, MPI_STATUSES_IGNORE, ierror)
  call check(all(requests == MPI_REQUEST_NULL), 'all are complete')
  call MPI_Get_address(received, address, ierror)
  call check(MPI_Aint_diff(MPI_Aint_add(address, 8_MPI_ADDRESS_KIND), address) == 8, 'addresses')
  call MPI_Group_free(group, ierror)
  call MPI_Group_free(world_group, ierror)
  call MPI_Comm_free(half, ierror)
  call MPI_Comm_free(comm, ierror)
  call check(comm == MPI_COMM_NULL, 'freed')
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
