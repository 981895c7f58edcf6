! What callers in Fortran need: the recorder's functions, and handles.
module recorder
  use, intrinsic :: iso_c_binding
  implicit none
  integer(c_int), bind(c), target :: buffer_1(8), buffer_2(8), buffer_3(8)
  logical, private :: is_predefined = .false.
  interface
    subroutine expect(name) bind(c)
      import
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
    subroutine show(at, value) bind(c)
      import
      integer(c_int), value :: at
      integer(c_long), value :: value
    end subroutine
    subroutine show_words(at, words, count) bind(c)
      import
      integer(c_int), value :: at, count
      type(c_ptr), value :: words
    end subroutine
    subroutine fill(words, first, count) bind(c)
      import
      integer(c_int), value :: first, count
      type(c_ptr), value :: words
    end subroutine
    subroutine show_text(at, text, length) bind(c)
      import
      integer(c_int), value :: at, length
      character(kind=c_char) :: text(*)
    end subroutine
  end interface
contains
  subroutine use_predefined_handles()
    is_predefined = .true.
  end subroutine

  ! Returns a number for a handle: the given one, or one of an object that there always is.
  integer function given_handle(number, kind)
    integer, intent(in) :: number
    character(len=*), intent(in) :: kind
    given_handle = number
    if (is_predefined) given_handle = predefined(kind)
  end function

  integer function predefined(kind)
    use mpi
    character(len=*), intent(in) :: kind
    select case (kind)
    case ('Comm')
      predefined = MPI_COMM_WORLD
    case ('Datatype')
      predefined = MPI_INTEGER
    case ('Errhandler')
      predefined = MPI_ERRORS_RETURN
    case ('File')
      predefined = MPI_FILE_NULL
    case ('Group')
      predefined = MPI_GROUP_EMPTY
    case ('Info')
      predefined = MPI_INFO_NULL
    case ('Message')
      predefined = MPI_MESSAGE_NULL
    case ('Op')
      predefined = MPI_SUM
    case ('Request')
      predefined = MPI_REQUEST_NULL
    case ('Session')
      predefined = MPI_SESSION_NULL
    case default
      predefined = MPI_WIN_NULL
    end select
  end function
end module
