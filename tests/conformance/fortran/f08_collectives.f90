! Collectives: arrays of counts, displacements and datatypes, which may be gone before the call is complete; persistent ones; in place;
! among neighbours; with operations of the program.
program collectives
  use mpi_f08
  implicit none
  integer :: rank, size, i
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  call all_to_all()
  call in_place()
  call persistent()
  call neighbours()
  call reductions()
  call MPI_Finalize()
contains
  subroutine all_to_all()
    integer, asynchronous :: out(2 * size), in(2 * size)
    type(MPI_Request) :: request
    out = [(1000 * rank + i, i = 1, 2 * size)]
    in = -1
    call start(out, in, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(in(1:2 * size:2) == [(1000 * i + 2 * rank + 1, i = 0, size - 1)]), 'the first of each pair')
    call check(all(in(2:2 * size:2) == [(1000 * i + 2 * rank + 2, i = 0, size - 1)]), 'the second of each pair')
    in = -1
    call MPI_Alltoallv(out, [(1, i = 1, size)], [(2 * i, i = 0, size - 1)], MPI_INTEGER, &
                       in, [(1, i = 1, size)], [(2 * i + 1, i = 0, size - 1)], MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(in(2:2 * size:2) == [(1000 * i + 2 * rank + 1, i = 0, size - 1)]) .and. all(in(1::2) == -1), 'at places')
    in = -1
    call MPI_Alltoallv(out, [(1_MPI_COUNT_KIND, i = 1, size)], [(2_MPI_ADDRESS_KIND * i, i = 0, size - 1)], MPI_INTEGER, &
                       in, [(1_MPI_COUNT_KIND, i = 1, size)], [(2_MPI_ADDRESS_KIND * i, i = 0, size - 1)], MPI_INTEGER, &
                       MPI_COMM_WORLD)
    call check(all(in(1::2) == [(1000 * i + 2 * rank + 1, i = 0, size - 1)]) .and. all(in(2::2) == -1), 'with large counts')
  end subroutine

  ! Returns when the operation is started: datatypes are freed, though in use.
  subroutine start(out, in, request)
    integer, asynchronous :: out(*), in(*)
    type(MPI_Request), intent(out) :: request
    type(MPI_Datatype) :: pair, types(0:size-1)
    integer, allocatable, asynchronous :: counts(:), offsets(:)
    call MPI_Type_contiguous(2, MPI_INTEGER, pair)
    call MPI_Type_commit(pair)
    types = pair
    allocate(counts(size), offsets(size))
    counts = 1
    offsets = [(8 * i, i = 0, size - 1)]
    call MPI_Alltoallw(out, counts, offsets, types, in, counts, offsets, types, MPI_COMM_WORLD)
    call check(all(in(1:2 * size:2) == [(1000 * i + 2 * rank + 1, i = 0, size - 1)]), 'many datatypes')
    in(1:2 * size) = -1
    call MPI_Ialltoallw(out, kept(counts), kept(offsets), types, in, kept(counts), kept(offsets), types, MPI_COMM_WORLD, request)
    call MPI_Type_free(pair)
  end subroutine

  ! Arrays of counts must live as long as the operation.
  function kept(array)
    integer, intent(in) :: array(:)
    integer, pointer :: kept(:)
    allocate(kept(ubound(array, 1)), source=array)
  end function

  subroutine in_place()
    integer :: all_of(0:size-1), sums(2)
    type(MPI_Request) :: request
    all_of = -1
    all_of(rank) = rank * rank
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all_of, 1, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(all_of == [(i * i, i = 0, size - 1)]), 'gathered in place')
    call MPI_Alltoallw(MPI_IN_PLACE, [0], [0], [MPI_DATATYPE_NULL], all_of, [(1, i = 1, size)], [(4 * i, i = 0, size - 1)], &
                       [(MPI_INTEGER, i = 1, size)], MPI_COMM_WORLD)
    call check(all(all_of == rank * rank), 'exchanged in place')
    sums = [rank, 1]
    if (rank == 0) then
      call MPI_Ireduce(MPI_IN_PLACE, sums, 2, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, request)
    else
      call MPI_Ireduce(sums, 0, 2, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, request)
    end if
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    if (rank == 0) call check(all(sums == [size * (size - 1) / 2, size]), 'added in place')
    call MPI_Scatter(all_of, 1, MPI_INTEGER, sums, 1, MPI_INTEGER, size - 1, MPI_COMM_WORLD)
    call check(sums(1) == (size - 1)**2, 'scattered')
  end subroutine

  subroutine persistent()
    real, asynchronous :: row(3, 4)
    integer :: times
    type(MPI_Request) :: request
    row = -1
    call MPI_Bcast_init(row(2, :), 4, MPI_REAL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    do times = 1, 2
      if (rank == 0) row(2, :) = times
      call MPI_Start(request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      call check(all(row(2, :) == times) .and. all(row(1:3:2, :) == -1), 'a row, again')
    end do
    call MPI_Request_free(request)
  end subroutine

  subroutine neighbours()
    type(MPI_Comm) :: ring
    integer, asynchronous :: out(2), in(2)
    integer :: last, next, sources(2), targets(2), weights(2)
    integer(kind=MPI_ADDRESS_KIND) :: offsets(2)
    type(MPI_Request) :: request
    logical :: weighted
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [size], [.true.], .false., ring)
    call MPI_Cart_shift(ring, 0, 1, last, next)
    out = [10 * rank + 1, 10 * rank + 2]
    offsets = [0, 4]
    in = -1
    call MPI_Neighbor_alltoallw(out, [1, 1], offsets, [MPI_INTEGER, MPI_INTEGER], in, [1, 1], offsets, &
                                [MPI_INTEGER, MPI_INTEGER], ring)
    if (size > 2) call check(all(in == [10 * last + 2, 10 * next + 1]), 'neighbours')
    call MPI_Comm_free(ring)
    ! A graph: each sends to the next one twice, with weights.
    next = mod(rank + 1, size)
    last = mod(rank + size - 1, size)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, [last, last], [3, 4], 2, [next, next], [3, 4], MPI_INFO_NULL, &
                                        .false., ring)
    call MPI_Dist_graph_neighbors(ring, 2, sources, weights, 2, targets, MPI_UNWEIGHTED)
    call check(all(sources == last) .and. all(targets == next) .and. sum(weights) == 7, 'weights')
    in = -1
    call MPI_Ineighbor_alltoall(out, 1, MPI_INTEGER, in, 1, MPI_INTEGER, ring, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(in == [10 * last + 1, 10 * last + 2]), 'along a graph')
    call MPI_Comm_free(ring)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [last], MPI_UNWEIGHTED, 1, [next], MPI_UNWEIGHTED, MPI_INFO_NULL, &
                                        .false., ring)
    call MPI_Dist_graph_neighbors_count(ring, sources(1), targets(1), weighted)
    call check(sources(1) == 1 .and. targets(1) == 1 .and. .not. weighted, 'no weights')
    call MPI_Comm_free(ring)
  end subroutine

  subroutine reductions()
    type(MPI_Op) :: op
    complex(kind(1d0)) :: factors(3), products(3)
    integer :: own(2), pairs(2, 2), before(1)
    logical :: commutes
    factors = [(1d0, 1d0), (1d0, 0d0), (0d0, 1d0)]
    call MPI_Allreduce(factors, products, 3, MPI_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_WORLD)
    call check(all(abs(products - factors**size) < 1d-9 * 2d0**size), 'products')
    pairs = reshape([rank, rank, -rank, 100 + rank], [2, 2])
    call MPI_Allreduce(MPI_IN_PLACE, pairs, 2, MPI_2INTEGER, MPI_MAXLOC, MPI_COMM_WORLD)
    call check(all(pairs(:, 1) == size - 1) .and. all(pairs(:, 2) == [0, 100]), 'the greatest and where')
    call MPI_Op_create(first_of_both, .false., op)
    call MPI_Op_commutative(op, commutes)
    call check(.not. commutes, 'an order')
    own = [rank + 1, rank + 1]
    call MPI_Allreduce(MPI_IN_PLACE, own, 2, MPI_INTEGER, op, MPI_COMM_WORLD)
    call check(all(own == 1), 'an operation of the program')
    call MPI_Op_free(op)
    before = -1
    call MPI_Exscan([rank], before, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (rank > 0) call check(before(1) == rank * (rank - 1) / 2, 'those before')
    call MPI_Reduce_scatter_block([(i, i = 1, size)], before, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(before(1) == size * (rank + 1), 'each its sum')
  end subroutine

  subroutine first_of_both(invec, inoutvec, length, datatype)
    use, intrinsic :: iso_c_binding, only : c_ptr, c_f_pointer
    type(c_ptr), value :: invec, inoutvec
    integer :: length
    type(MPI_Datatype) :: datatype
    integer, pointer :: in(:), inout(:)
    if (datatype /= MPI_INTEGER) error stop 2
    call c_f_pointer(invec, in, [length])
    call c_f_pointer(inoutvec, inout, [length])
    inout = in
  end subroutine

  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    print *, 'wrong: ', what
    error stop 1
  end subroutine
end program
