! Diffusion in a square plate whose edges are kept at 0, by the module mpi_f08: explicit steps, the plate cut into a grid of blocks.
!
! Rows and columns of the halo are sent as sections of the array: where a section is not contiguous, MPI gets a descriptor of it,
! and nobody copies it. The plate begins as a wave of which each step leaves the same part, so the answer is known: every
! block compares its points with it.
!
! usage: diffusion [POINTS-PER-SIDE [STEPS]]
program diffusion
  use, intrinsic :: iso_fortran_env, only: real64, error_unit
  use mpi_f08
  implicit none
  real(real64), parameter :: pi = acos(-1.0_real64), share = 0.2_real64
  real(real64), allocatable, asynchronous :: field(:, :)
  real(real64), allocatable :: next(:, :)
  type(MPI_Comm) :: grid
  type(MPI_Request) :: requests(8)
  integer :: points, steps, rank, ranks, blocks(2), place(2), first(2), last(2), low(2), high(2), step, row, column
  real(real64) :: begin, seconds, decay, error, worst

  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  points = argument(1, 512)
  steps = argument(2, 200)

  ! The grid of blocks, and who the neighbours are in both directions.
  blocks = 0
  call MPI_Dims_create(ranks, 2, blocks)
  call MPI_Cart_create(MPI_COMM_WORLD, 2, blocks, [.false., .false.], .true., grid)
  call MPI_Comm_rank(grid, rank)
  call MPI_Cart_coords(grid, rank, 2, place)
  call MPI_Cart_shift(grid, 0, 1, low(1), high(1))
  call MPI_Cart_shift(grid, 1, 1, low(2), high(2))
  if (any(blocks > points)) then
    if (rank == 0) then
      write(error_unit, '(2(a, i0), a)') 'diffusion: ', points, ' points per side are too few for ', ranks, ' ranks'
    end if
    call MPI_Finalize()
    stop 2, quiet=.true.
  end if

  ! The block's points, with a halo of one point around them.
  first = int(int(points, MPI_COUNT_KIND) * place / blocks) + 1
  last = int(int(points, MPI_COUNT_KIND) * (place + 1) / blocks)
  allocate(field(first(1) - 1:last(1) + 1, first(2) - 1:last(2) + 1), source=0.0_real64)
  allocate(next, source=field)
  do column = first(2), last(2)
    do row = first(1), last(1)
      field(row, column) = wave(row) * wave(column)
    end do
  end do

  call MPI_Barrier(grid)
  begin = MPI_Wtime()
  do step = 1, steps
    associate (top => first(1), bottom => last(1), left => first(2), right => last(2))
      call MPI_Irecv(field(top - 1, left:right), right - left + 1, MPI_REAL8, low(1), 1, grid, requests(1))
      call MPI_Irecv(field(bottom + 1, left:right), right - left + 1, MPI_REAL8, high(1), 2, grid, requests(2))
      call MPI_Irecv(field(top:bottom, left - 1), bottom - top + 1, MPI_REAL8, low(2), 3, grid, requests(3))
      call MPI_Irecv(field(top:bottom, right + 1), bottom - top + 1, MPI_REAL8, high(2), 4, grid, requests(4))
      call MPI_Isend(field(bottom, left:right), right - left + 1, MPI_REAL8, high(1), 1, grid, requests(5))
      call MPI_Isend(field(top, left:right), right - left + 1, MPI_REAL8, low(1), 2, grid, requests(6))
      call MPI_Isend(field(top:bottom, right), bottom - top + 1, MPI_REAL8, high(2), 3, grid, requests(7))
      call MPI_Isend(field(top:bottom, left), bottom - top + 1, MPI_REAL8, low(2), 4, grid, requests(8))
      call MPI_Waitall(8, requests, MPI_STATUSES_IGNORE)
      next(top:bottom, left:right) = (1 - 4 * share) * field(top:bottom, left:right) + share * ( &
        field(top - 1:bottom - 1, left:right) + field(top + 1:bottom + 1, left:right) + &
        field(top:bottom, left - 1:right - 1) + field(top:bottom, left + 1:right + 1))
      field(top:bottom, left:right) = next(top:bottom, left:right)
    end associate
  end do
  seconds = MPI_Wtime() - begin

  ! What a step leaves of the wave: its neighbours' mean is the wave itself, times a cosine.
  decay = (1 - 4 * share * (1 - cos(pi / (points + 1)))) ** steps
  error = 0
  do column = first(2), last(2)
    do row = first(1), last(1)
      error = max(error, abs(field(row, column) - decay * wave(row) * wave(column)))
    end do
  end do
  call MPI_Allreduce(error, worst, 1, MPI_REAL8, MPI_MAX, grid)
  if (rank == 0) then
    print '(5(a, i0), a)', 'diffusion: ', points, ' x ', points, ' points, ', steps, ' steps, ', &
      blocks(1), ' x ', blocks(2), ' blocks'
    print '(a, f9.4, a, es9.2)', '  seconds ', seconds, '   largest error ', worst
    print '(2a)', '  ', merge('right: all points are as they must be', &
      'WRONG: points are not as they must be', worst < 1e-12_real64)
  end if
  call MPI_Finalize()
  if (.not. worst < 1e-12_real64) stop 1, quiet=.true.
contains
  ! Returns a number on the command line, or what holds without it.
  integer function argument(number, otherwise)
    integer, intent(in) :: number, otherwise
    character(20) :: text
    integer :: code
    argument = otherwise
    if (command_argument_count() < number) return
    call get_command_argument(number, text)
    read(text, *, iostat=code) argument
    if (code /= 0 .or. argument < 1) then
      write(error_unit, '(3a)') 'diffusion: ', trim(text), ' is no number above 0'
      flush(error_unit)
      call MPI_Abort(MPI_COMM_WORLD, 2)
    end if
  end function

  ! Returns the wave at a point: half a sine from edge to edge.
  pure real(real64) function wave(point)
    integer, intent(in) :: point
    wave = sin(pi * point / (points + 1))
  end function
end program
