//! Errors of constructors name the argument and its value.

use weft_base::Result;
use weft_base::constants as c;
use weft_datatype::Datatype;

fn message(result: Result<Datatype>, class: i32) -> String {
    let Err(error) = result else { panic!("the call should fail") };
    let (found, message) = (error.class, error.message.clone());
    assert_eq!(found, class, "{message}");
    message.into_owned()
}

#[test]
fn messages_name_argument_and_value() {
    let int = &Datatype::predefined(c::MPI_INT).unwrap().clone();
    let (count, arg) = (c::MPI_ERR_COUNT, c::MPI_ERR_ARG);
    let c_order = c::MPI_ORDER_C;
    let block = [c::MPI_DISTRIBUTE_BLOCK];
    for (result, class, words) in [
        (Datatype::contiguous(-1, int), count, "count is -1"),
        (Datatype::vector(-2, 1, 1, int), count, "count is -2"),
        (Datatype::hvector(2, -3, 1, int), arg, "blocklength is -3"),
        (Datatype::indexed(&[1, -1], &[0, 0], int), arg, "array_of_blocklengths[1] is -1"),
        (Datatype::hindexed_block(-7, &[0], int), arg, "blocklength is -7"),
        (Datatype::structure(&[-4], &[0], std::slice::from_ref(int)), arg, "array_of_blocklengths[0] is -4"),
        (Datatype::subarray(&[], &[], &[], c_order, int), arg, "ndims is 0"),
        (Datatype::subarray(&[4], &[0], &[0], c_order, int), arg, "array_of_subsizes[0] is 0"),
        (Datatype::subarray(&[4], &[2], &[-1], c_order, int), arg, "array_of_starts[0] is -1"),
        (Datatype::subarray(&[4], &[2], &[3], c_order, int), arg, "array_of_starts[0] is 3"),
        (Datatype::subarray(&[4], &[2], &[1], 5, int), arg, "order is 5"),
        (Datatype::darray(2, 2, &[8], &block, &[4], &[2], c_order, int), arg, "rank is 2; with size 2"),
        (Datatype::darray(3, 0, &[8], &block, &[4], &[2], c_order, int), arg, "[2]"),
        (Datatype::darray(2, 0, &[8], &block, &[3], &[2], c_order, int), arg, "array_of_dargs[0] is 3"),
        (Datatype::darray(2, 0, &[8], &[1], &[4], &[2], c_order, int), arg, "array_of_distribs[0] is 1"),
        (Datatype::contiguous(i64::MAX, int), count, "size does not fit 63 bits"),
        (Datatype::hvector(3, 1, i64::MAX, int), count, "bound does not fit 63 bits"),
        (Datatype::resized(i64::MAX, 1, int), count, "upper bound does not fit 63 bits"),
    ] {
        let text = message(result, class);
        assert!(text.contains(words), "{text:?} does not say {words:?}");
    }
}

#[test]
fn extreme_bounds_are_refused_without_overflow() {
    let int = Datatype::predefined(c::MPI_INT).unwrap();
    let low = Datatype::resized(i64::MIN, i64::MAX, int).unwrap();
    for (stride, length) in [(i64::MIN, 3), (i64::MAX, i64::MAX), (i64::MIN, i64::MAX)] {
        let _ = Datatype::vector(i64::MAX, length, stride, &low);
        let _ = Datatype::hvector(i64::MAX, length, stride, &low);
        let _ = Datatype::indexed(&[length, length], &[stride, i64::MAX], &low);
        let _ = Datatype::hindexed(&[length, 1], &[stride, i64::MAX], int);
        let _ = Datatype::resized(stride, stride, int);
    }
    // No block, however long, is nothing.
    for ty in [Datatype::vector(0, i64::MAX, 3, int), Datatype::hvector(0, i64::MAX, 3, int)] {
        assert_eq!(ty.unwrap().size(), 0);
    }
    let down = Datatype::resized(0, i64::MIN, int).unwrap();
    assert!(Datatype::contiguous(i64::MAX, &down).is_err());
    assert!(Datatype::subarray(&[2], &[1], &[1], c::MPI_ORDER_C, &down).is_err());
    // Products of process numbers and block lengths that no element is at.
    let double = Datatype::predefined(c::MPI_DOUBLE).unwrap();
    let (n, cyclic) = (i32::MAX, [c::MPI_DISTRIBUTE_CYCLIC]);
    for rank in [0, 1, n - 1] {
        let ty = Datatype::darray(n, rank, &[1 << 58], &cyclic, &[n], &[n], c::MPI_ORDER_C, double).unwrap();
        // 2^27 blocks of doubles: the last process has none.
        assert_eq!((ty.size() > 0, ty.extent()), (rank < n - 1, 1 << 61));
        let ty = Datatype::darray(n, rank, &[5], &cyclic, &[n], &[n], c::MPI_ORDER_C, double).unwrap();
        assert_eq!(ty.size(), if rank == 0 { 40 } else { 0 });
    }
}
