! Windows and one-sided operations by module mpi_f08.
! weft-test: part=threads,processes,mixed
program f08_windows
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  type(MPI_Win) :: win
  type(MPI_Request) :: request
  type(MPI_Group) :: everybody
  type(c_ptr) :: base
  integer, pointer :: mine(:)
  integer :: rank, ranks, right, left, failures, total, one, before, got, other, unit
  integer(MPI_ADDRESS_KIND) :: bytes, place, there
  logical :: flag

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  right = modulo(rank + 1, ranks)
  left = modulo(rank - 1, ranks)
  failures = 0
  bytes = 8 * 4
  place = 2
  call MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
  call c_f_pointer(base, mine, [8])
  mine = -1

  ! Between fences.
  call MPI_Win_fence(MPI_MODE_NOPRECEDE, win)
  call MPI_Put(rank, 1, MPI_INTEGER, right, place, 1, MPI_INTEGER, win)
  call MPI_Win_fence(0, win)
  call check(mine(3) == left, 'put')
  call MPI_Get(got, 1, MPI_INTEGER, right, place, 1, MPI_INTEGER, win)
  call MPI_Win_fence(MPI_MODE_NOSUCCEED, win)
  call check(got == rank, 'get')

  ! A counter at rank 0, under a lock.
  mine(1) = 0
  call MPI_Barrier(MPI_COMM_WORLD)
  one = 1
  place = 0
  call MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win)
  call MPI_Fetch_and_op(one, before, MPI_INTEGER, 0, place, MPI_SUM, win)
  call MPI_Win_flush(0, win)
  call check(before >= 0 .and. before < 2 * ranks, 'fetch_and_op')
  call MPI_Raccumulate(one, 1, MPI_INTEGER, 0, place, 1, MPI_INTEGER, MPI_SUM, win, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call MPI_Win_unlock(0, win)
  call MPI_Barrier(MPI_COMM_WORLD)
  if (rank == 0) call check(mine(1) == 2 * ranks, 'accumulate')

  ! Between a group's ranks.
  call MPI_Win_get_group(win, everybody)
  call MPI_Win_post(everybody, 0, win)
  call MPI_Win_start(everybody, 0, win)
  place = 4
  if (rank == 0) call MPI_Accumulate(one, 1, MPI_INTEGER, ranks - 1, place, 1, MPI_INTEGER, MPI_REPLACE, win)
  call MPI_Win_complete(win)
  call MPI_Win_test(win, flag)
  if (.not. flag) call MPI_Win_wait(win)
  call MPI_Group_free(everybody)
  if (rank == ranks - 1) call check(mine(5) == 1, 'post and start')

  ! One comparison succeeds.
  if (rank == 0) mine(6) = 0
  call MPI_Barrier(MPI_COMM_WORLD)
  place = 5
  other = 0
  one = rank + 1
  call MPI_Win_lock_all(0, win)
  call MPI_Compare_and_swap(one, other, before, MPI_INTEGER, 0, place, win)
  call MPI_Win_unlock_all(win)
  got = merge(1, 0, before == 0)
  call MPI_Allreduce(MPI_IN_PLACE, got, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call check(got == 1, 'compare_and_swap')

  call MPI_Win_shared_query(win, rank, there, unit, base)
  call check(there == bytes .and. unit == 4, 'shared query')
  call MPI_Win_free(win)
  call check(win == MPI_WIN_NULL, 'freed')
  call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (total > 0) stop 1
contains
  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    failures = failures + 1
    print *, 'rank', rank, what, ' is wrong'
  end subroutine
end program
