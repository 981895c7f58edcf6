! Starting programs: arrays of commands, of arguments for each, of numbers, of info objects, and of error codes; or none of these.
! weft-test: ranks=1,2
program spawning
  use mpi_f08
  implicit none
  integer :: rank, length, i
  character(len=400) :: command
  type(MPI_Comm) :: parent
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call get_command_argument(0, command, length)
  call check(length > 0 .and. length <= len(command), 'the name of the program')
  call MPI_Comm_get_parent(parent)
  if (parent == MPI_COMM_NULL) then
    call several()
    call one()
  else
    call child()
  end if
  call MPI_Finalize()
contains
  subroutine several()
    character(len=len(command)) :: commands(2)
    character(len=12) :: words(2, 3)
    integer :: codes(3), total
    integer(kind=MPI_ADDRESS_KIND) :: value
    type(MPI_Info) :: infos(2)
    type(MPI_Comm) :: children
    logical :: flag
    commands = command
    ! The first one gets one word, with a blank in it; the second one two.
    words(1, :) = [character(len=12) :: 'two words', '', '']
    words(2, :) = [character(len=12) :: 'second', '  blanks  ', '']
    call MPI_Info_create(infos(1))
    call MPI_Info_set(infos(1), 'wdir', '/')
    infos(2) = MPI_INFO_NULL
    codes = -1
    call MPI_Comm_spawn_multiple(2, commands, words, [1, 2], infos, 0, MPI_COMM_SELF, children, codes)
    call check(all(codes == MPI_SUCCESS), 'each one is started')
    call MPI_Info_free(infos(1))
    call MPI_Comm_remote_size(children, total)
    call check(total == 3, 'so many')
    call MPI_Reduce(0, total, 1, MPI_INTEGER, MPI_SUM, MPI_ROOT, children)
    call check(total == 1 + 2 + 2, 'what they know')
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, value, flag)
    call check(.not. flag .or. value > 0, 'how many there may be')
    call MPI_Comm_disconnect(children)
  end subroutine

  subroutine one()
    type(MPI_Comm) :: children
    integer :: total, code
    call MPI_Comm_spawn(command, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, children, MPI_ERRCODES_IGNORE)
    if (rank == 0) then
      call MPI_Reduce(0, total, 1, MPI_INTEGER, MPI_SUM, MPI_ROOT, children)
      call check(total == 0, 'without arguments')
    else
      call MPI_Reduce(0, total, 1, MPI_INTEGER, MPI_SUM, MPI_PROC_NULL, children)
    end if
    call MPI_Comm_disconnect(children)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Comm_spawn('/no such program', ['word ', '     '], 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, children, &
                        MPI_ERRCODES_IGNORE, code)
    call check(code /= MPI_SUCCESS, 'what there is not')
  end subroutine

  subroutine child()
    character(len=20) :: word
    integer :: count, number
    integer(kind=MPI_ADDRESS_KIND) :: value
    logical :: flag
    count = command_argument_count()
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, value, flag)
    call check(flag, 'the number of the program')
    number = int(value)
    do i = 1, count
      call get_command_argument(i, word, length)
      select case (10 * number + i)
      case (1)
        call check(word == 'two words' .and. length == 9, 'a word with a blank')
      case (11)
        call check(word == 'second' .and. length == 6, 'the first word of the second')
      case (12)
        call check(word == 'blanks' .and. length == 6, 'without the blanks around it')
      case default
        call check(.false., 'a word too many')
      end select
    end do
    call MPI_Reduce(count, i, 1, MPI_INTEGER, MPI_SUM, 0, parent)
    call MPI_Comm_disconnect(parent)
  end subroutine

  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    print *, 'wrong: ', what
    error stop 1
  end subroutine
end program
