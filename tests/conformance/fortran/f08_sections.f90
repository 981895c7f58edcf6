! Sections of arrays in one to seven dimensions, as they are sent and received: by blocking and by nonblocking calls, of which
! the second may not copy. Every element that is not in the section stays what it was.
! weft-test: faults=yes
program sections
  use mpi_f08
  implicit none
  integer :: rank, size, next, last, i
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  next = mod(rank + 1, size)
  last = mod(rank + size - 1, size)
  if (.not. MPI_SUBARRAYS_SUPPORTED .or. .not. MPI_ASYNC_PROTECTS_NONBLOCKING) error stop 2
  call one()
  call two()
  call three()
  call seven()
  call kinds()
  call counts()
  call blocks()
  call copies()
  do i = 1, 3
    call shapes(i)
  end do
  call MPI_Finalize()
contains
  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    print *, 'wrong: ', what
    error stop 1
  end subroutine

  subroutine one()
    integer, asynchronous :: out(100), in(100)
    type(MPI_Request) :: requests(2)
    type(MPI_Status) :: statuses(2)
    integer :: count
    out = [(rank * 1000 + i, i = 1, 100)]
    in = -1
    call MPI_Irecv(in(2:100:3), 33, MPI_INTEGER, last, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(out(99:1:-3), 33, MPI_INTEGER, next, 1, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, statuses)
    call check(all(in(2:100:3) == [(last * 1000 + i, i = 99, 1, -3)]), 'backwards')
    call check(all(in(1:100:3) == -1) .and. all(in(3:99:3) == -1), 'what is between stays')
    call MPI_Get_count(statuses(1), MPI_INTEGER, count)
    call check(count == 33 .and. statuses(1)%MPI_SOURCE == last .and. statuses(1)%MPI_TAG == 1, 'the status')
    in = -1
    call MPI_Sendrecv(out(1:10:2), 5, MPI_INTEGER, next, 2, in(10:1:-2), 5, MPI_INTEGER, last, 2, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE)
    call check(all(in(10:1:-2) == [(last * 1000 + i, i = 1, 10, 2)]) .and. count_of(in, -1) == 95, 'both at once')
  end subroutine

  integer function count_of(array, value)
    integer, intent(in) :: array(:), value
    count_of = count(array == value)
  end function

  subroutine two()
    real, asynchronous :: out(7, 9), in(7, 9)
    type(MPI_Request) :: request
    integer :: j
    do j = 1, 9
      out(:, j) = [(rank * 100 + 10 * i + j, i = 1, 7)]
    end do
    in = -1
    call MPI_Irecv(in(2:6:2, 3:9:3), 9, MPI_REAL, last, 1, MPI_COMM_WORLD, request)
    call MPI_Send(out(1:3, 4:6), 9, MPI_REAL, next, 1, MPI_COMM_WORLD)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(in(2:6:2, 3:9:3) == out(1:3, 4:6) + (last - rank) * 100), 'a grid of a matrix')
    call check(count(in == -1) == 54, 'and nothing else')
    ! Less than the whole section: a column and a part of the next one.
    in = -1
    call MPI_Irecv(in(2:6:2, 3:9:3), 5, MPI_REAL, last, 2, MPI_COMM_WORLD, request)
    call MPI_Send(out(1:3, 4:6), 5, MPI_REAL, next, 2, MPI_COMM_WORLD)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(in(2:6:2, 3) == out(1:3, 4) + (last - rank) * 100), 'the first column')
    call check(all(in(2:4:2, 6) == out(1:2, 5) + (last - rank) * 100), 'a part of the second')
    call check(count(in == -1) == 58, 'and nothing behind it')
    in = -1
    call MPI_Bcast(out(3, :), 9, MPI_REAL, 0, MPI_COMM_WORLD)
    call check(all(out(3, :) == [(30 + j, j = 1, 9)]), 'a row for all')
    call check(out(2, 1) == rank * 100 + 21 .and. out(4, 9) == rank * 100 + 49, 'and the row only')
  end subroutine

  subroutine three()
    double precision, allocatable, asynchronous :: out(:, :, :), in(:, :, :)
    type(MPI_Request) :: request
    allocate(out(4, 5, 6), in(0:3, -2:2, 6))
    out = reshape([(dble(i), i = 1, 120)], [4, 5, 6]) + rank * 1000
    in = -1
    call MPI_Irecv(in(0:3:3, :, 2:6:2), 30, MPI_DOUBLE_PRECISION, last, 1, MPI_COMM_WORLD, request)
    call MPI_Ssend(out(1:2, 1:5, 1:3), 30, MPI_DOUBLE_PRECISION, next, 1, MPI_COMM_WORLD)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(in(0:3:3, :, 2:6:2) == out(1:2, :, 1:3) + (last - rank) * 1000), 'three dimensions')
    call check(count(in == -1) == 90, 'and the rest')
  end subroutine

  subroutine seven()
    integer, asynchronous :: out(3, 3, 3, 3, 3, 3, 3), in(3, 3, 3, 3, 3, 3, 3)
    type(MPI_Request) :: request
    out = reshape([(i, i = 1, 3**7)], shape(out)) + rank * 10000
    in = -1
    call MPI_Irecv(in(1:3:2, 1:3:2, 1:3:2, 1:3:2, 1:3:2, 1:3:2, 1:3:2), 128, MPI_INTEGER, last, 1, MPI_COMM_WORLD, request)
    call MPI_Send(out(1:2, 2:3, 1:2, 2:3, 1:2, 2:3, 3:1:-2), 128, MPI_INTEGER, next, 1, MPI_COMM_WORLD)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(in(1:3:2, 1:3:2, 1:3:2, 1:3:2, 1:3:2, 1:3:2, 1:3:2) == &
                   out(1:2, 2:3, 1:2, 2:3, 1:2, 2:3, 3:1:-2) + (last - rank) * 10000), 'seven dimensions')
    call check(count(in == -1) == 3**7 - 128, 'and the rest of seven')
  end subroutine

  subroutine kinds()
    type, bind(c) :: point
      integer :: number
      real :: x, y
    end type
    type(point), asynchronous :: out(6), in(6)
    character(len=5), asynchronous :: words(4), heard(4)
    complex, asynchronous :: wave(6), seen(6)
    type(MPI_Request) :: request
    type(MPI_Datatype) :: datatype
    integer(kind=MPI_ADDRESS_KIND) :: offsets(2)
    out = [(point(rank * 10 + i, i * 0.5, -i), i = 1, 6)]
    in = point(-1, 0, 0)
    offsets = [0, 4]
    call MPI_Type_create_struct(2, [1, 2], offsets, [MPI_INTEGER, MPI_REAL], datatype)
    call MPI_Type_commit(datatype)
    call MPI_Irecv(in(2:6:2), 3, datatype, last, 1, MPI_COMM_WORLD, request)
    call MPI_Send(out(1:6:2), 3, datatype, next, 1, MPI_COMM_WORLD)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(in(2:6:2)%number == [(last * 10 + i, i = 1, 5, 2)]) .and. all(in(1:5:2)%number == -1), 'structures')
    call check(in(6)%y == -5, 'the last field')
    call MPI_Type_free(datatype)
    call MPI_Sendrecv(out%y, 6, MPI_REAL, next, 2, in%x, 6, MPI_REAL, last, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(in%x == [(-i, i = 1, 6)]) .and. in(6)%y == -5 .and. in(1)%number == -1, 'one field of each')
    ! A component of each structure, or a part of each number, by calls that return before they have read it.
    in = point(-1, 0, 0)
    call MPI_Irecv(in%x, 6, MPI_REAL, last, 5, MPI_COMM_WORLD, request)
    call MPI_Send(out(6:1:-1)%y, 6, MPI_REAL, next, 5, MPI_COMM_WORLD)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(in%x == [(-i, i = 6, 1, -1)]) .and. all(in%y == 0) .and. all(in%number == -1), 'a field, later')
    wave = [(cmplx(i, -i), i = 1, 6)]
    seen = 0
    call MPI_Irecv(seen%im, 6, MPI_REAL, last, 6, MPI_COMM_WORLD, request)
    call MPI_Ssend(wave%re, 6, MPI_REAL, next, 6, MPI_COMM_WORLD)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(seen == [(cmplx(0, i), i = 1, 6)]), 'imaginary parts')
    words = ['first', 'secnd', 'third', 'forth']
    heard = '.....'
    call MPI_Irecv(heard(2:4)(2:3), 6, MPI_CHARACTER, last, 7, MPI_COMM_WORLD, request)
    call MPI_Ssend(words(3:1:-1)(4:5), 6, MPI_CHARACTER, next, 7, MPI_COMM_WORLD)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(heard == ['.....', '.rd..', '.nd..', '.st..']), 'parts of texts')
    words = ['first', 'secnd', 'third', 'forth']
    heard = '.....'
    call MPI_Irecv(heard(4:1:-2), 10, MPI_CHARACTER, last, 3, MPI_COMM_WORLD, request)
    call MPI_Send(words(1:3:2), 10, MPI_CHARACTER, next, 3, MPI_COMM_WORLD)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(heard(4) == 'first' .and. heard(2) == 'third' .and. heard(1) == '.....', 'texts')
    ! Half an element: a datatype that is smaller than one.
    wave = [(cmplx(i, -i), i = 1, 6)]
    seen = 0
    call MPI_Irecv(seen(1:6:2), 5, MPI_REAL, last, 4, MPI_COMM_WORLD, request)
    call MPI_Send(wave(2:6:2), 5, MPI_REAL, next, 4, MPI_COMM_WORLD)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(seen(1) == wave(2) .and. seen(3) == wave(4) .and. real(seen(5)) == 6 .and. aimag(seen(5)) == 0, 'halves')
  end subroutine

  subroutine counts()
    integer, asynchronous :: out(20), in(20)
    type(MPI_Request) :: request
    type(MPI_Datatype) :: triple
    out = [(rank * 100 + i, i = 1, 20)]
    in = -1
    ! A datatype of several elements of the section, and large counts.
    call MPI_Type_contiguous(3, MPI_INTEGER, triple)
    call MPI_Type_commit(triple)
    call MPI_Irecv(in(1:20:2), 3_MPI_COUNT_KIND, triple, last, 1, MPI_COMM_WORLD, request)
    call MPI_Send(out(2:20:2), 3_MPI_COUNT_KIND, triple, next, 1, MPI_COMM_WORLD)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(in(1:17:2) == [(last * 100 + i, i = 2, 18, 2)]) .and. in(19) == -1, 'triples')
    call MPI_Type_free(triple)
    call MPI_Irecv(in(1:20:2), 0, MPI_INTEGER, last, 2, MPI_COMM_WORLD, request)
    call MPI_Send(out(1:20:2), 0, MPI_INTEGER, next, 2, MPI_COMM_WORLD)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(in(1) == last * 100 + 2, 'nothing')
  end subroutine

  subroutine blocks()
    integer, asynchronous :: in(3, 0:size-1), all_of(2 * size), mine(4)
    type(MPI_Request) :: request
    integer :: j
    in = -1
    ! Blocks at a regular distance need no copy.
    call MPI_Iallgather(rank, 1, MPI_INTEGER, in(2, :), 1, MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(in(2, :) == [(j, j = 0, size - 1)]) .and. all(in(1, :) == -1), 'gathered into a row')
    mine = [rank, -1, rank + 1000, -1]
    in = -1
    ! Others are copied by blocking calls.
    call MPI_Allgather(mine(1:3:2), 2, MPI_INTEGER, in(1:3:2, :), 2, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(in(1, :) == [(j, j = 0, size - 1)]) .and. all(in(3, :) == [(j + 1000, j = 0, size - 1)]), 'two rows')
    call check(all(in(2, :) == -1), 'and not the one between')
    all_of = -1
    call MPI_Gatherv(rank, 1, MPI_INTEGER, all_of(1::2), [(1, j = 1, size)], [(size - j, j = 1, size)], MPI_INTEGER, 0, &
                     MPI_COMM_WORLD)
    if (rank == 0) call check(all(all_of(1::2) == [(size - j, j = 1, size)]) .and. all(all_of(2::2) == -1), 'at places')
  end subroutine

  subroutine copies()
    integer, asynchronous :: out(8), in(8)
    integer :: code
    type(MPI_Request) :: request
    out = [(i, i = 1, 8)]
    in = -1
    call MPI_Allreduce(out(1:8:2), in(2:8:2), 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(all(in(2:8:2) == [1, 3, 5, 7] * size) .and. all(in(1:7:2) == -1), 'a sum of a section')
    call MPI_Allreduce(MPI_IN_PLACE, in(1:8:2), 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(all(in(1:8:2) == -size), 'a sum in place')
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Iallreduce(out(1:8:2), in(2:8:2), 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, code)
    call check(code == MPI_ERR_BUFFER, 'what cannot be done without a copy is refused')
  end subroutine

  subroutine shapes(what)
    integer, intent(in) :: what
    integer, target, asynchronous :: store(6, 6)
    integer, pointer, asynchronous :: view(:, :)
    store = reshape([(i, i = 1, 36)], [6, 6]) + rank * 100
    select case (what)
    case (1)
      view => store(1:6:2, 2:6:2)
      call exchange(view)
    case (2)
      call exchange(store(6:1:-1, ::3))
    case (3)
      call explicit(store, 6)
    end select
  end subroutine

  subroutine exchange(part)
    integer, intent(inout), asynchronous :: part(:, :)
    integer :: was(ubound(part, 1), ubound(part, 2))
    type(MPI_Request) :: request
    was = part
    call MPI_Isend(part, product(ubound(part)), MPI_INTEGER, next, 9, MPI_COMM_WORLD, request)
    call MPI_Recv(was, product(ubound(part)), MPI_INTEGER, last, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(was == part + (last - rank) * 100), 'an assumed shape')
  end subroutine

  subroutine explicit(array, n)
    integer, intent(in) :: n
    integer, intent(inout) :: array(n, *)
    integer :: in(n, n)
    call MPI_Sendrecv(array, n * n, MPI_INTEGER, next, 9, in, n * n, MPI_INTEGER, last, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(in == array(:, 1:n) + (last - rank) * 100), 'an assumed size')
  end subroutine
end program
