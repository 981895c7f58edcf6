! Groups, attributes, info objects, errors, sessions and memory: what procedures without buffers take and give.
program environment
  use, intrinsic :: iso_c_binding
  use mpi_f08
  implicit none
  integer :: rank, size, i, calls = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  call groups()
  call infos()
  call errors()
  call sessions()
  call memory()
  call MPI_Finalize()
contains
  subroutine groups()
    type(MPI_Group) :: all_of, part, other
    type(MPI_Comm) :: comm
    integer :: ranges(3, 1), places(1), result, count
    integer, allocatable :: members(:)
    character(len=MPI_MAX_OBJECT_NAME) :: name
    call MPI_Comm_group(MPI_COMM_WORLD, all_of)
    ranges(:, 1) = [size - 1, 0, -1]
    call MPI_Group_range_incl(all_of, 1, ranges, part)
    call MPI_Group_translate_ranks(part, 1, [0], all_of, places)
    call check(places(1) == size - 1, 'the last is the first')
    call MPI_Group_compare(all_of, part, result)
    call check(result == merge(MPI_IDENT, MPI_SIMILAR, size == 1), 'the same ones')
    members = [(i, i = 0, size - 1, 2)]
    call MPI_Group_incl(all_of, ubound(members, 1), members, other)
    call MPI_Comm_create_group(MPI_COMM_WORLD, part, 5, comm)
    call MPI_Comm_rank(comm, count)
    call check(count == size - 1 - rank, 'backwards')
    call MPI_Comm_set_name(comm, ' backwards')
    call MPI_Comm_get_name(comm, name, count)
    call check(name == ' backwards' .and. count == 10, 'a name keeps the blank before it')
    call MPI_Comm_free(comm)
    call check(comm == MPI_COMM_NULL, 'it is gone')
    call MPI_Group_free(part)
    call MPI_Group_free(other)
    call MPI_Group_free(all_of)
  end subroutine

  subroutine infos()
    type(MPI_Info) :: info, copy
    character(len=MPI_MAX_INFO_KEY) :: key
    character(len=12) :: value
    character(len=3) :: short
    integer :: count, length
    logical :: flag
    call MPI_Info_create(info)
    call MPI_Info_set(info, ' one  ', '  1  ')
    call MPI_Info_set(info, 'two', 'a value of many words')
    call MPI_Info_dup(info, copy)
    call MPI_Info_delete(info, '  two ')
    call MPI_Info_get_nkeys(info, count)
    call check(count == 1, 'one is left')
    call MPI_Info_get_nthkey(info, 0, key)
    call MPI_Info_get_valuelen(copy, 'two  ', length, flag)
    call check(key == 'one' .and. flag .and. length == 21, 'names and lengths')
    length = 12
    call MPI_Info_get_string(copy, 'two', length, value, flag)
    call check(flag .and. value == 'a value of m' .and. length == 21, 'as much as there is room for')
    length = 0
    short = 'abc'
    call MPI_Info_get_string(copy, 'two', length, short, flag)
    call check(flag .and. short == 'abc' .and. length == 21, 'only the length')
    length = 3
    call MPI_Info_get_string(copy, 'one', length, short, flag)
    call check(flag .and. short == '1' .and. length == 1, 'with blanks behind it')
    call MPI_Info_free(info)
    call MPI_Info_free(copy)
    call check(info == MPI_INFO_NULL, 'no object')
  end subroutine

  subroutine errors()
    type(MPI_Errhandler) :: handler
    integer :: code, class, length, new
    character(len=MPI_MAX_ERROR_STRING) :: text
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Send(i, -1, MPI_INTEGER, 0, 0, MPI_COMM_SELF, code)
    call MPI_Error_class(code, class)
    call MPI_Error_string(code, text, length)
    call check(class == MPI_ERR_COUNT .and. index(text, 'count') > 0 .and. text(length + 1:) == ' ', 'what is wrong')
    call MPI_Add_error_class(class)
    call MPI_Add_error_code(class, new)
    call MPI_Add_error_string(new, 'an error of ours   ')
    call MPI_Error_string(new, text, length)
    call check(text == 'an error of ours' .and. length == 16, 'an error of the program')
    call MPI_Comm_create_errhandler(count_errors, handler)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, handler)
    call MPI_Comm_call_errhandler(MPI_COMM_SELF, new)
    call MPI_Recv(i, 1, MPI_INTEGER, 7, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE, code)
    call check(calls == 2 .and. code /= MPI_SUCCESS, 'a handler of the program')
    call MPI_Errhandler_free(handler)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL)
  end subroutine

  subroutine count_errors(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    if (comm == MPI_COMM_SELF .and. error_code /= MPI_SUCCESS) calls = calls + 1
  end subroutine

  subroutine sessions()
    type(MPI_Session) :: session
    type(MPI_Group) :: group
    type(MPI_Comm) :: comm
    integer :: count, length, members
    character(len=40) :: name
    call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session)
    call MPI_Session_get_num_psets(session, MPI_INFO_NULL, count)
    call check(count >= 2, 'sets of processes')
    do i = 0, count - 1
      length = len(name)
      call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, length, name)
      if (name == 'mpi://WORLD') exit
    end do
    call check(i < count, 'the set of all')
    call MPI_Group_from_session_pset(session, 'mpi://WORLD   ', group)
    call MPI_Comm_create_from_group(group, 'a tag', MPI_INFO_NULL, MPI_ERRORS_RETURN, comm)
    call MPI_Comm_size(comm, members)
    call check(members == size, 'all of them')
    call MPI_Comm_free(comm)
    call MPI_Group_free(group)
    call MPI_Session_finalize(session)
  end subroutine

  subroutine memory()
    type(c_ptr) :: address
    type(MPI_Win) :: win
    integer, pointer :: words(:)
    integer(kind=MPI_ADDRESS_KIND) :: bytes
    integer :: unit
    logical :: flag
    call MPI_Alloc_mem(400_MPI_ADDRESS_KIND, MPI_INFO_NULL, address)
    call c_f_pointer(address, words, [100])
    words = rank
    call check(sum(words) == 100 * rank, 'memory of its own')
    call MPI_Free_mem(words)
    call MPI_Win_allocate(40_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, address, win)
    call c_f_pointer(address, words, [10])
    words = 5
    call MPI_Win_get_attr(win, MPI_WIN_SIZE, bytes, flag)
    call check(flag .and. bytes == 40, 'how large a window is')
    call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, bytes, flag)
    call check(flag .and. bytes == 4, 'its unit')
    call MPI_Win_free(win)
    call MPI_Win_allocate_shared(40_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_SELF, address, win)
    call c_f_pointer(address, words, [10])
    words = [(i, i = 1, 10)]
    nullify(words)
    call MPI_Win_shared_query(win, 0, bytes, unit, address)
    call c_f_pointer(address, words, [10])
    call check(bytes == 40 .and. unit == 4 .and. sum(words) == 55, 'shared memory')
    call MPI_Win_free(win)
    call check(win == MPI_WIN_NULL, 'no window')
  end subroutine

  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    print *, 'wrong: ', what
    error stop 1
  end subroutine
end program
