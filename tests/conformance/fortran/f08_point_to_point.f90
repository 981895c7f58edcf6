! Point to point, probing, persistent and partitioned messages: indices count from one, statuses are types, buffers are found again.
program point_to_point
  use, intrinsic :: iso_c_binding
  use mpi_f08
  implicit none
  integer :: rank, size, next, last, i, count, index, done, places(3), bytes
  integer, asynchronous :: out(12), in(12)
  integer, target, allocatable :: store(:)
  logical :: flag
  type(MPI_Request) :: requests(3), kept(3), none(0)
  type(MPI_Status) :: status, statuses(3)
  type(MPI_Message) :: message
  type(c_ptr) :: address
  integer(kind=MPI_COUNT_KIND) :: many
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  next = mod(rank + 1, size)
  last = mod(rank + size - 1, size)
  out = [(100 * rank + i, i = 1, 12)]
  ! Which of several requests is complete.
  requests = MPI_REQUEST_NULL
  call MPI_Waitany(3, requests, index, status)
  call check(index == MPI_UNDEFINED .and. status%MPI_SOURCE == MPI_ANY_SOURCE, 'nothing to wait for')
  in = -1
  call MPI_Irecv(in(5:8), 4, MPI_INTEGER, last, 2, MPI_COMM_WORLD, requests(3))
  call MPI_Send(out(1:4), 4, MPI_INTEGER, next, 2, MPI_COMM_WORLD)
  call MPI_Waitany(3, requests, index, status)
  call check(index == 3 .and. all(in(5:8) == [(100 * last + i, i = 1, 4)]) .and. requests(3) == MPI_REQUEST_NULL, 'the third')
  call check(status%MPI_SOURCE == last .and. status%MPI_TAG == 2, 'whose status it is')
  do i = 1, 3
    call MPI_Irecv(in(i:i), 1, MPI_INTEGER, last, 10 + i, MPI_COMM_WORLD, requests(i))
  end do
  do i = 1, 3
    call MPI_Issend(out(i), 1, MPI_INTEGER, next, 10 + i, MPI_COMM_WORLD, kept(i))
  end do
  count = 0
  do while (count < 3)
    call MPI_Waitsome(3, requests, done, places, statuses)
    do i = 1, done
      call check(statuses(i)%MPI_TAG == 10 + places(i) .and. in(places(i)) == 100 * last + places(i), 'some of them')
    end do
    count = count + done
  end do
  call MPI_Waitsome(3, requests, done, places, statuses)
  call check(done == MPI_UNDEFINED, 'none is left')
  call MPI_Waitall(3, kept, MPI_STATUSES_IGNORE)
  call MPI_Testall(0, none, flag, MPI_STATUSES_IGNORE)
  call check(flag, 'all of none')
  ! Messages that are looked at first.
  call MPI_Isend(out, 7, MPI_INTEGER, next, 3, MPI_COMM_WORLD, requests(1))
  call MPI_Probe(last, MPI_ANY_TAG, MPI_COMM_WORLD, status)
  call MPI_Get_count(status, MPI_INTEGER, count)
  call MPI_Get_elements(status, MPI_INTEGER, many)
  call check(count == 7 .and. many == 7 .and. status%MPI_TAG == 3, 'how long it is')
  call MPI_Mprobe(last, 3, MPI_COMM_WORLD, message, status)
  call MPI_Mrecv(in, 7, MPI_INTEGER, message, status)
  call check(message == MPI_MESSAGE_NULL .and. all(in(1:7) == [(100 * last + i, i = 1, 7)]), 'a matched message')
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
  call MPI_Improbe(last, 99, MPI_COMM_WORLD, flag, message, MPI_STATUS_IGNORE)
  call check(.not. flag, 'no such message')
  ! Buffers for sends: what is attached comes back.
  allocate(store(1000))
  call MPI_Buffer_attach(store, 4000)
  call MPI_Bsend(out(12:1:-1), 12, MPI_INTEGER, next, 4, MPI_COMM_WORLD)
  call MPI_Recv(in, 12, MPI_INTEGER, last, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call check(all(in == [(100 * last + i, i = 12, 1, -1)]), 'a buffered message')
  call MPI_Buffer_detach(address, bytes)
  call check(bytes == 4000 .and. c_associated(address, c_loc(store)), 'the buffer comes back')
  ! Persistent ones, of sections.
  in = -1
  call MPI_Send_init(out(1:12:3), 4, MPI_INTEGER, next, 5, MPI_COMM_WORLD, requests(1))
  call MPI_Recv_init(in(2:12:3), 4, MPI_INTEGER, last, 5, MPI_COMM_WORLD, requests(2))
  do i = 1, 2
    out = out + 1
    call MPI_Startall(2, requests)
    call MPI_Waitall(2, requests, statuses)
    call check(all(in(2:12:3) == [100 * last + i + 1, 100 * last + i + 4, 100 * last + i + 7, 100 * last + i + 10]), 'again')
  end do
  call check(all(in(1:12:3) == -1) .and. all(in(3:12:3) == -1), 'what is between')
  call MPI_Request_free(requests(1))
  call MPI_Request_free(requests(2))
  ! Partitioned ones.
  in = -1
  call MPI_Psend_init(out, 3, 4_MPI_COUNT_KIND, MPI_INTEGER, next, 6, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1))
  call MPI_Precv_init(in, 3, 4_MPI_COUNT_KIND, MPI_INTEGER, last, 6, MPI_COMM_WORLD, MPI_INFO_NULL, requests(2))
  call MPI_Startall(2, requests)
  call MPI_Pready_range(1, 2, requests(1))
  call MPI_Pready_list(1, [0], requests(1))
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  call MPI_Parrived(requests(2), 1, flag)
  call check(flag .and. all(in == [(100 * last + i + 2, i = 1, 12)]), 'in parts')
  call MPI_Request_free(requests(1))
  call MPI_Request_free(requests(2))
  ! What is never received can be taken back.
  call MPI_Irecv(in, 1, MPI_INTEGER, last, 7, MPI_COMM_WORLD, requests(1))
  call MPI_Cancel(requests(1))
  call MPI_Wait(requests(1), status)
  call MPI_Test_cancelled(status, flag)
  call check(flag, 'cancelled')
  call MPI_Finalize()
contains
  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    print *, 'wrong: ', what
    error stop 1
  end subroutine
end program
