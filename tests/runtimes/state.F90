! What a rank does to its Fortran runtime, by its first argument. The second argument names a file; '%' in it is the rank.
module variables
  implicit none
  integer :: in_module = 1
  integer, save :: table(4) = [1, 2, 3, 4]
  integer, allocatable :: grown(:)
  character(20) :: word = 'unset'
contains
  integer function counted()
    integer :: calls = 0
    calls = calls + 1
    counted = calls
  end function
end module

module nested
  use ranks
  implicit none
contains
  ! Calls of an internal procedure that sees its host's variables need code on the stack.
  subroutine pass_an_internal_procedure
    integer :: mine, i
    mine = 0
    do i = 1, 10
      call apply(add, i)
      call barrier
    end do
    print '(i0, a, i0)', rank, ' added ', mine
  contains
    subroutine add(value)
      integer, intent(in) :: value
      mine = mine + value * rank
    end subroutine
  end subroutine

  subroutine apply(action, value)
    interface
      subroutine action(value)
        integer, intent(in) :: value
      end subroutine
    end interface
    integer, intent(in) :: value
    call action(value)
  end subroutine
end module

program state
  use ranks
  use variables
  use nested
  implicit none
  character(4000) :: what, name
  call start
  call get_command_argument(1, what)
  call get_command_argument(2, name)
  call put_rank(name)
  select case (what)
  case ('variables'); call change_variables
  case ('arguments'); call show_arguments
  case ('units'); call use_units
  case ('preconnected'); call turn_units_away
  case ('streams'); call use_other_access
  case ('asynchronous'); call write_while_computing
  case ('namelist'); call use_namelist
  case ('input'); call read_input
  case ('random'); call draw
  case ('seeded'); call draw_seeded
  case ('repeatable'); call draw_repeatable
  case ('floating'); call use_flags
  case ('rounding'); call use_rounding
  case ('halting'); call trap
#ifdef __GFORTRAN__
  case ('quadruple'); call compute_in_quadruple
  case ('old-random'); call draw_in_the_old_way
#endif
  case ('internal'); call pass_an_internal_procedure
  case ('clock'); call tell_time
  case ('errors'); call recover
  case ('environment'); call ask_environment
  case ('stop'); call end_normally
  case ('stop-early'); if (rank == 3) stop
  case ('stop-code'); call barrier; if (rank == 3) stop 9
  case ('error-stop'); call barrier; if (rank == 3) error stop 'the end'
  case ('exit'); call barrier; call finish; call exit(merge(7, 0, rank == 3))
  case ('runtime-error'); call barrier; if (rank == 3) call fail
  case ('fault'); call barrier; if (rank == 3) call crash
  case ('stack'); call use_stack(200000)
  case default; error stop 'what?'
  end select
  call finish
contains
  subroutine put_rank(text)
    character(*), intent(inout) :: text
    character(20) :: number
    integer :: at
    at = index(text, '%')
    write(number, '(i0)') rank
    if (at > 0) text = text(:at - 1) // trim(number) // text(at + 1:)
  end subroutine

  subroutine change_variables
    integer :: first, second, i
    common /shared/ first, second
    integer, save :: saved = 5
    do i = 1, 100
      in_module = in_module + rank
      table = table + rank
      saved = saved + rank
      if (i == 1) first = rank
      second = first * 2
      write(word, '(a, i0)') 'word ', rank
      if (allocated(grown)) deallocate(grown)
      allocate(grown(i), source=rank)
      if (counted() /= i) error stop 'counted'
      if (mod(i, 10) == 0) call barrier
    end do
    print '(*(i0, 1x))', rank, in_module, table, saved, first, second, sum(grown), rank
    print '(2a)', trim(word), ' of a rank'
  end subroutine

  subroutine show_arguments
    character(4000) :: text
    integer :: i, length
    do i = 1, command_argument_count()
      call get_command_argument(i, text, length)
      print '(i0, a, i0, 2a)', rank, ' argument ', i, ' ', text(:length)
    end do
    call get_command(text, length)
    print '(i0, 3a)', rank, ' command ', trim(text(index(text, ' arguments'):length))
  end subroutine

  subroutine use_units
    integer :: unit, other, i, value, code
    logical :: is_open
    inquire(10, opened=is_open)
    if (is_open) error stop 'unit 10 is open at the start'
    open(10, status='scratch')
    open(newunit=unit, file=name, status='replace')
    open(newunit=other, status='scratch', form='unformatted')
    do i = 1, 200
      write(10, *) rank * 1000 + i
      write(unit, '(i0, 1x, i0)') rank, i
      write(other) rank, i
      if (mod(i, 50) == 0) call barrier
    end do
    inquire(10, opened=is_open)
    if (.not. is_open) error stop 'unit 10 was closed'
    rewind(10); rewind(other)
    do i = 1, 200
      read(10, *) value
      if (value /= rank * 1000 + i) error stop 'another rank wrote to unit 10'
      read(other) value
      if (value /= rank) error stop 'another rank wrote to the unformatted unit'
    end do
    read(10, *, iostat=code) value
    print '(i0, a, i0, a, i0, a, l1)', rank, ' units ', unit, ' ', other, ' end ', is_iostat_end(code)
    close(unit)
  end subroutine

  subroutine turn_units_away
    if (rank /= 0) open(6, file=name, status='replace')
    print '(i0, a)', rank, ' to unit 6'
    call barrier
    write(*, '(i0, a)', advance='no') rank, ' in '
    call barrier
    write(*, '(a)') 'pieces'
    if (rank == 1) close(6)
    call barrier
    write(6, '(i0, a)') rank, ' after closing'
    if (rank == 1) close(6, status='delete')
  end subroutine

  subroutine use_other_access
    integer :: unit, i, value
    real(8) :: record(3)
    open(newunit=unit, file=name, access='stream', status='replace')
    do i = 1, 100
      write(unit) rank, i
    end do
    read(unit, pos=4 * 2 * 49 + 5) value
    close(unit)
    print '(i0, a, i0)', rank, ' stream ', value
    open(newunit=unit, status='scratch', access='direct', recl=24)
    do i = 100, 1, -1
      write(unit, rec=i) real(rank, 8), real(i, 8), 0.5d0
    end do
    call barrier
    read(unit, rec=37) record
    print '(i0, a, 3(1x, f0.1))', rank, ' direct', record
  end subroutine

  subroutine write_while_computing
    integer :: unit, i
    integer, asynchronous :: values(1000)
    open(newunit=unit, file=name, status='replace', asynchronous='yes', form='unformatted', access='stream')
    do i = 1, 20
      values = rank + i
      write(unit, asynchronous='yes') values
      wait(unit)
    end do
    close(unit)
    open(newunit=unit, file=name, form='unformatted', access='stream')
    do i = 1, 20
      read(unit) values
      if (any(values /= rank + i)) error stop 'wrong values'
    end do
    close(unit)
    print '(i0, a)', rank, ' asynchronous'
  end subroutine

  subroutine use_namelist
    integer :: count = 0
    real :: values(3) = 0
    character(200) :: text
    namelist /setting/ count, values
    write(text, '(a, i0, a)') '&setting count=', rank, ' values=3*1.5 /'
    read(text, nml=setting)
    call barrier
    write(text, '(i0, 3(1x, f4.1))', decimal='comma') count, values
    print '(a)', trim(text)
  end subroutine

  subroutine read_input
    character(100) :: line
    integer :: code, number
    read(*, '(a)', iostat=code) line
    if (rank == 0) print '(i0, 2a)', rank, ' line ', trim(line)
    if (rank /= 0) print '(i0, a, l1)', rank, ' end ', is_iostat_end(code)
    if (rank == 0) then
      read(*, *) number, line
      print '(i0, a, i0, 2a)', rank, ' number ', number, ' word ', trim(line)
      read(*, '(a)', iostat=code) line
      print '(i0, a, l1)', rank, ' end ', is_iostat_end(code)
    end if
  end subroutine

  ! Every rank seeds itself from the system, so that no two draw the same.
  subroutine draw
    real(8) :: values(3)
    integer :: i
    do i = 1, 3
      call random_number(values(i))
      call barrier
    end do
    print '(a, 3(1x, z16.16))', 'drawn', values
  end subroutine

  subroutine draw_seeded
    integer :: n, i, again
    integer, allocatable :: seed(:)
    real(8) :: total, value, sums(2)
    call random_seed(size=n)
    allocate(seed(n))
    do again = 1, 2
      seed = [(rank + 37 * i, i = 1, n)]
      call random_seed(put=seed)
      total = 0
      do i = 1, 1000
        call random_number(value)
        total = total + value
        if (mod(i, 100) == 0 .and. again == 1) call barrier
      end do
      sums(again) = total
    end do
    if (sums(1) /= sums(2)) error stop 'another rank drew from the same numbers'
    print '(i0, 1x, f0.12)', rank, total
  end subroutine

  subroutine draw_repeatable
    real(8) :: value
    call random_init(.true., .false.)
    call barrier
    call random_number(value)
    call barrier
    call random_number(value)
    print '(z16.16)', value
  end subroutine

  subroutine use_flags
    use, intrinsic :: ieee_arithmetic
    use, intrinsic :: ieee_exceptions
    logical :: flags(5)
    integer :: i
    real(8), volatile :: zero = 0, one = 1, result
    call ieee_set_flag(ieee_all, .false.)
    do i = 1, 20
      call barrier
      if (mod(rank, 2) == 1) result = one / zero
      if (mod(rank, 3) == 1) result = sqrt(-one)
      call barrier
    end do
    call ieee_get_flag(ieee_all, flags)
    print '(i0, 5(1x, l1))', rank, flags
    call ieee_set_flag(ieee_all, .false.)
  end subroutine

  subroutine use_rounding
    use, intrinsic :: ieee_arithmetic
    type(ieee_round_type) :: mode
    real(8), volatile :: one = 1, three = 3, result
    integer :: i
    if (mod(rank, 2) == 1) call ieee_set_rounding_mode(ieee_up)
    if (mod(rank, 4) == 2) call ieee_set_rounding_mode(ieee_down)
    do i = 1, 20
      call barrier
      result = one / three
    end do
    call ieee_get_rounding_mode(mode)
    print '(i0, 1x, z16.16, 2(1x, l1))', rank, result, mode == ieee_up, mode == ieee_down
    call ieee_set_rounding_mode(ieee_nearest)
  end subroutine

  subroutine trap
    use, intrinsic :: ieee_arithmetic
    use, intrinsic :: ieee_exceptions
    real(8), volatile :: zero = 0, one = 1, result
    call ieee_set_halting_mode(ieee_divide_by_zero, rank == 3)
    call barrier
    if (rank /= 3) result = one / zero
    call barrier
    if (rank == 3) result = one / zero
    call barrier
  end subroutine

#ifdef __GFORTRAN__
  subroutine compute_in_quadruple
    integer, parameter :: quadruple = selected_real_kind(30)
    real(quadruple) :: value
    character(60) :: text
    value = sqrt(real(rank + 2, quadruple)) + exp(real(rank, quadruple) / 7)
    call barrier
    write(text, '(f60.30)') value
    read(text, *) value
    print '(i0, 1x, a, 1x, es40.30)', rank, trim(adjustl(text)), value
  end subroutine

  subroutine draw_in_the_old_way
    integer :: i, total
    call srand(rank + 1)
    total = 0
    do i = 1, 50
      total = ieor(total, irand())
      if (mod(i, 10) == 0) call barrier
    end do
    print '(i0, 1x, i0)', rank, total
  end subroutine
#endif

  subroutine tell_time
    integer :: values(8), count, rate
    integer(8) :: ticks
    real :: seconds
    character(5) :: zone
    call date_and_time(zone=zone, values=values)
    call system_clock(count, rate)
    call system_clock(ticks)
    call cpu_time(seconds)
    print '(i0, 1x, a, 1x, i0, 4(1x, l1))', rank, zone, values(4), values(1) > 2000, count > 0, ticks > 0, seconds >= 0
  end subroutine

  subroutine recover
    integer :: unit, code, value
    integer, allocatable :: huge_one(:)
    character(100) :: text
    open(newunit=unit, file='/no/such/file', status='old', iostat=code, iomsg=text)
    print '(i0, a, l1, 2a)', rank, ' open ', code > 0, ' ', trim(text)
    text = 'x'
    read(text, *, iostat=code, iomsg=text) value
    print '(i0, a, l1, 2a)', rank, ' read ', code > 0, ' ', trim(text)
    allocate(huge_one(huge(1_8) / 64), stat=code, errmsg=text)
    print '(i0, a, l1, 2a)', rank, ' allocate ', code > 0, ' ', trim(text)
    call barrier
    print '(i0, a, l1)', rank, ' still here ', .not. allocated(huge_one)
  end subroutine

  subroutine ask_environment
    character(200) :: text
    integer :: code
    call get_environment_variable('STATE_WORD', text, status=code)
    print '(i0, 2a, 1x, i0)', rank, ' environment ', trim(text), code
    call get_environment_variable('STATE_NONE', text, status=code)
    print '(i0, a, 1x, i0)', rank, ' none', code
  end subroutine

  subroutine end_normally
    use, intrinsic :: ieee_exceptions
    print '(i0, a)', rank, ' before the end'
    open(10, file=name, status='replace')
    write(10, '(i0, a)') rank, ' is flushed'
    call finish
    call ieee_set_flag(ieee_all, .false.)
    if (rank == 2) stop 'with a word'
    stop
  end subroutine

  subroutine fail
    integer :: value
    character :: text = 'x'
    read(text, *) value
    print *, value
  end subroutine

  subroutine crash
    integer, pointer :: nothing
    type(c_ptr) :: address
    address = transfer(8_c_intptr_t, address)
    call c_f_pointer(address, nothing)
    nothing = 1
  end subroutine

  ! An automatic array lies on the stack.
  recursive subroutine use_stack(length)
    integer, intent(in) :: length
    real(8) :: automatic(length)
    integer :: i
    automatic = [(rank + i, i = 1, length)]
    call barrier
    if (length < 220000) call use_stack(length + 10000)
    if (automatic(length) /= rank + length) error stop 'the stack is another rank''s'
    if (length == 200000) print '(i0, a)', rank, ' stack'
  end subroutine
end program
