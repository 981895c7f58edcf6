! Datatypes: what they are made of is told again; packing, also with a text that says how; those of a precision or a size.
program datatypes
  use, intrinsic :: iso_c_binding, only : c_char, c_double, c_int
  use mpi_f08
  implicit none
  integer :: rank, size, i
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  call structures()
  call parts_of_arrays()
  call contents()
  call packing()
  call sizes()
  call MPI_Finalize()
contains
  subroutine structures()
    type, bind(c) :: particle
      real(c_double) :: place(3)
      integer(c_int) :: kind
      character(kind=c_char) :: name(4)
    end type
    type(particle), target, asynchronous :: out(5), in(5)
    type(particle), allocatable, asynchronous :: many(:, :)
    type(particle), pointer, asynchronous :: view(:)
    type(MPI_Datatype) :: plain, datatype
    type(MPI_Request) :: request
    integer(kind=MPI_ADDRESS_KIND) :: offsets(3), base, next
    call MPI_Get_address(out(1), base)
    call MPI_Get_address(out(1)%place, offsets(1))
    call MPI_Get_address(out(1)%kind, offsets(2))
    call MPI_Get_address(out(1)%name, offsets(3))
    call MPI_Get_address(out(2), next)
    offsets = [(MPI_Aint_diff(offsets(i), base), i = 1, 3)]
    call MPI_Type_create_struct(3, [3, 1, 4], offsets, [MPI_DOUBLE_PRECISION, MPI_INTEGER, MPI_CHARACTER], plain)
    call MPI_Type_create_resized(plain, 0_MPI_ADDRESS_KIND, MPI_Aint_diff(next, base), datatype)
    call MPI_Type_commit(datatype)
    do i = 1, 5
      out(i) = particle([1, 2, 3] * i * 0.5d0, 10 * i, ['p', 'a', 'r', char(48 + i)])
    end do
    in = particle(0, 0, '.')
    view => in(5:1:-2)
    call MPI_Irecv(view, 3, datatype, 0, 1, MPI_COMM_SELF, request)
    call MPI_Send(out(1:3), 3, datatype, 0, 1, MPI_COMM_SELF)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(in(5)%kind == 10 .and. in(3)%kind == 20 .and. in(1)%name(4) == '3' .and. in(2)%kind == 0, 'through a pointer')
    allocate(many(2, 3))
    many = particle(0, 0, '.')
    call MPI_Irecv(many(2, :), 3, datatype, 0, 2, MPI_COMM_SELF, request)
    call MPI_Send(out(5:1:-2), 3, datatype, 0, 2, MPI_COMM_SELF)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(many(2, :)%kind == [50, 30, 10]) .and. all(many(1, :)%kind == 0), 'a row of what is allocated')
    call MPI_Type_free(plain)
    call MPI_Type_free(datatype)
  end subroutine

  subroutine parts_of_arrays()
    integer :: whole(6, 5), part(4), count
    integer(kind=MPI_COUNT_KIND) :: bytes
    type(MPI_Datatype) :: datatype
    type(MPI_Status) :: status
    whole = reshape([(i, i = 1, 30)], [6, 5])
    call MPI_Type_create_subarray(2, [6, 5], [2, 2], [1, 3], MPI_ORDER_FORTRAN, MPI_INTEGER, datatype)
    call MPI_Type_commit(datatype)
    call MPI_Sendrecv(whole, 1, datatype, 0, 1, part, 4, MPI_INTEGER, 0, 1, MPI_COMM_SELF, status)
    call check(all(part == [20, 21, 26, 27]), 'a part of an array')
    call MPI_Get_count(status, datatype, count)
    call MPI_Type_size(datatype, bytes)
    call check(count == 1 .and. bytes == 16, 'and its size')
    call MPI_Type_free(datatype)
    call MPI_Type_create_darray(2, 1, 2, [6, 5], [MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE], &
                                [MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG], [2, 1], MPI_ORDER_FORTRAN, &
                                MPI_INTEGER, datatype)
    call MPI_Type_size(datatype, bytes)
    call check(bytes == 60, 'a half of an array')
    call MPI_Type_free(datatype)
  end subroutine

  subroutine contents()
    integer :: integers, addresses, datatypes, combiner, numbers(7), length
    integer(kind=MPI_ADDRESS_KIND) :: offsets(2)
    integer(kind=MPI_COUNT_KIND) :: lower, extent
    type(MPI_Datatype) :: datatype, parts(2)
    character(len=MPI_MAX_OBJECT_NAME) :: name
    call MPI_Type_create_hindexed(2, [2, 3], [0_MPI_ADDRESS_KIND, 40_MPI_ADDRESS_KIND], MPI_REAL, datatype)
    call MPI_Type_get_envelope(datatype, integers, addresses, datatypes, combiner)
    call check(integers == 3 .and. addresses == 2 .and. datatypes == 1 .and. combiner == MPI_COMBINER_HINDEXED, 'how it was made')
    parts = MPI_DATATYPE_NULL
    numbers = -1
    call MPI_Type_get_contents(datatype, 7, 2, 2, numbers, offsets, parts)
    call check(all(numbers == [2, 2, 3, -1, -1, -1, -1]) .and. all(offsets == [0, 40]) .and. parts(1) == MPI_REAL, 'of what')
    call check(parts(2) == MPI_DATATYPE_NULL, 'and no more')
    call MPI_Type_get_extent(datatype, lower, extent)
    call check(lower == 0 .and. extent == 52, 'how far it reaches')
    call MPI_Type_set_name(datatype, 'two pieces   ')
    call MPI_Type_get_name(datatype, name, length)
    call check(name == 'two pieces' .and. length == 10, 'its name')
    call MPI_Type_free(datatype)
  end subroutine

  subroutine packing()
    integer :: numbers(6), back(6), position, bytes
    integer(kind=MPI_ADDRESS_KIND) :: at, space
    character(len=100) :: buffer
    numbers = [(rank * 10 + i, i = 1, 6)]
    position = 0
    call MPI_Pack_size(3, MPI_INTEGER, MPI_COMM_WORLD, bytes)
    call MPI_Pack(numbers(1:6:2), 3, MPI_INTEGER, buffer, len(buffer), position, MPI_COMM_WORLD)
    call check(position <= bytes, 'packed into a text')
    position = 0
    back = -1
    call MPI_Unpack(buffer, len(buffer), position, back(6:1:-2), 3, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(back == [-1, numbers(5), -1, numbers(3), -1, numbers(1)]), 'unpacked into a section')
    at = 0
    call MPI_Pack_external_size('external32  ', 3, MPI_INTEGER, space)
    call MPI_Pack_external('external32  ', numbers(2:6:2), 3, MPI_INTEGER, buffer, int(len(buffer), MPI_ADDRESS_KIND), at)
    call check(at == 12 .and. space == 12, 'packed for everybody')
    call check(ichar(buffer(4:4)) == numbers(2), 'the last byte is the smallest part')
    at = 0
    back = -1
    call MPI_Unpack_external('external32', buffer, int(len(buffer), MPI_ADDRESS_KIND), at, back(1:5:2), 3, MPI_INTEGER)
    call check(all(back(1:5:2) == numbers(2:6:2)) .and. back(2) == -1, 'unpacked again')
  end subroutine

  subroutine sizes()
    integer, parameter :: wide = selected_real_kind(15, 200)
    real(kind=wide) :: value, sum_of_all
    complex(kind=wide) :: pair
    integer(kind=selected_int_kind(18)) :: long
    integer :: bytes, wanted
    type(MPI_Datatype) :: datatype
    call MPI_Type_create_f90_real(15, 200, datatype)
    value = rank + 0.5
    call MPI_Allreduce(value, sum_of_all, 1, datatype, MPI_SUM, MPI_COMM_WORLD)
    call check(sum_of_all == size * (size - 1) / 2 + size * 0.5, 'a sum of a precision')
    call MPI_Type_create_f90_complex(15, 200, datatype)
    call MPI_Type_size(datatype, bytes)
    call MPI_Sizeof(pair, wanted)
    call check(bytes == wanted .and. bytes == 16, 'a complex number of a precision')
    call MPI_Type_create_f90_integer(18, datatype)
    call MPI_Type_size(datatype, bytes)
    call MPI_Sizeof(long, wanted)
    call check(bytes == wanted .and. bytes == 8, 'an integer of a range')
    call MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, datatype)
    call MPI_Type_size(datatype, bytes)
    call check(bytes == 16, 'what has a size')
  end subroutine

  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    print *, 'wrong: ', what
    error stop 1
  end subroutine
end program
