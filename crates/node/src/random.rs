//! The random numbers of libc, one sequence of each kind per rank, equal to what a process with the same seed gets.
#![allow(unsafe_code)] // Calls libc's `_r` functions.

use core::ffi::{c_char, c_double, c_int, c_long, c_uint, c_ushort};

/// `struct random_data` of glibc.
#[repr(C)]
struct RandomData {
    front: *mut i32,
    rear: *mut i32,
    state: *mut i32,
    kind: c_int,
    degree: c_int,
    separation: c_int,
    end: *mut i32,
}

/// `struct drand48_data` of glibc.
#[repr(C)]
#[derive(Default)]
struct Drand48Data {
    x: [c_ushort; 3],
    old_x: [c_ushort; 3],
    c: c_ushort,
    init: c_ushort,
    a: u64,
}

unsafe extern "C" {
    fn initstate_r(seed: c_uint, state: *mut c_char, size: usize, data: *mut RandomData) -> c_int;
    fn setstate_r(state: *mut c_char, data: *mut RandomData) -> c_int;
    fn srandom_r(seed: c_uint, data: *mut RandomData) -> c_int;
    fn random_r(data: *mut RandomData, result: *mut i32) -> c_int;
    fn srand48_r(seed: c_long, data: *mut Drand48Data) -> c_int;
    fn seed48_r(seed: *mut c_ushort, data: *mut Drand48Data) -> c_int;
    fn lcong48_r(parameter: *mut c_ushort, data: *mut Drand48Data) -> c_int;
    fn erand48_r(x: *mut c_ushort, data: *mut Drand48Data, result: *mut c_double) -> c_int;
    fn nrand48_r(x: *mut c_ushort, data: *mut Drand48Data, result: *mut c_long) -> c_int;
    fn jrand48_r(x: *mut c_ushort, data: *mut Drand48Data, result: *mut c_long) -> c_int;
}

/// The generators of one rank, made when first used.
#[derive(Default)]
pub struct Random {
    random: Option<Box<Generator>>,
    drand48: Drand48Data,
}

/// `random` and `rand`, which share their state.
struct Generator {
    data: RandomData,
    /// The state a process starts with: 31 words and a header.
    initial: [i32; 32],
}

// SAFETY: the pointers point into the box itself or to the program's `initstate` buffer.
unsafe impl Send for Random {}

impl Random {
    fn data(&mut self) -> &mut RandomData {
        let generator = self.random.get_or_insert_with(|| {
            let null = core::ptr::null_mut();
            let data = RandomData {
                front: null,
                rear: null,
                state: null,
                kind: 0,
                degree: 0,
                separation: 0,
                end: null,
            };
            let mut generator = Box::new(Generator { data, initial: [0; 32] });
            let state = generator.initial.as_mut_ptr().cast();
            // SAFETY: 128 bytes, aligned for words, which stay in place in the box.
            unsafe { initstate_r(1, state, 128, &mut generator.data) };
            generator
        });
        &mut generator.data
    }

    /// `random`, `rand`
    pub fn draw(&mut self) -> i32 {
        let mut result = 0;
        // SAFETY: initialised data and a place for the result.
        unsafe { random_r(self.data(), &mut result) };
        result
    }

    /// `srandom`, `srand`
    pub fn seed(&mut self, seed: c_uint) {
        // SAFETY: initialised data.
        unsafe { srandom_r(seed, self.data()) };
    }

    /// `initstate`: returns the state used before, or null.
    ///
    /// # Safety
    /// `state` has `size` bytes, aligned for words, and stays in place until another state is set.
    pub unsafe fn init_state(&mut self, seed: c_uint, state: *mut c_char, size: usize) -> *mut c_char {
        let data = self.data();
        let previous = data.state.wrapping_sub(1).cast();
        // SAFETY: the caller's promise.
        if unsafe { initstate_r(seed, state, size, data) } == 0 { previous } else { core::ptr::null_mut() }
    }

    /// `setstate`: returns the state used before, or null.
    ///
    /// # Safety
    /// `state` was given to `initstate` or returned by it or this.
    pub unsafe fn set_state(&mut self, state: *mut c_char) -> *mut c_char {
        let data = self.data();
        let previous = data.state.wrapping_sub(1).cast();
        // SAFETY: the caller's promise.
        if unsafe { setstate_r(state, data) } == 0 { previous } else { core::ptr::null_mut() }
    }

    /// `srand48`
    pub fn seed48(&mut self, seed: c_long) {
        // SAFETY: plain data.
        unsafe { srand48_r(seed, &mut self.drand48) };
    }

    /// `seed48`: returns where the former seed was saved.
    ///
    /// # Safety
    /// `seed` has three elements.
    pub unsafe fn seed48_words(&mut self, seed: *mut c_ushort) -> *mut c_ushort {
        // SAFETY: the caller's promise.
        unsafe { seed48_r(seed, &mut self.drand48) };
        self.drand48.old_x.as_mut_ptr()
    }

    /// `lcong48`
    ///
    /// # Safety
    /// `parameter` has seven elements.
    pub unsafe fn lcong48(&mut self, parameter: *mut c_ushort) {
        // SAFETY: the caller's promise.
        unsafe { lcong48_r(parameter, &mut self.drand48) };
    }

    /// `erand48`, or `drand48` if `x` is null
    ///
    /// # Safety
    /// `x` is null or has three elements.
    pub unsafe fn erand48(&mut self, x: *mut c_ushort) -> c_double {
        let (x, mut result) = (self.words(x), 0.0);
        // SAFETY: three elements, the caller's or the state's own.
        unsafe { erand48_r(x, &mut self.drand48, &mut result) };
        result
    }

    /// `nrand48`, or `lrand48` if `x` is null
    ///
    /// # Safety
    /// `x` is null or has three elements.
    pub unsafe fn nrand48(&mut self, x: *mut c_ushort) -> c_long {
        let (x, mut result) = (self.words(x), 0);
        // SAFETY: three elements, the caller's or the state's own.
        unsafe { nrand48_r(x, &mut self.drand48, &mut result) };
        result
    }

    /// `jrand48`, or `mrand48` if `x` is null
    ///
    /// # Safety
    /// `x` is null or has three elements.
    pub unsafe fn jrand48(&mut self, x: *mut c_ushort) -> c_long {
        let (x, mut result) = (self.words(x), 0);
        // SAFETY: three elements, the caller's or the state's own.
        unsafe { jrand48_r(x, &mut self.drand48, &mut result) };
        result
    }

    fn words(&mut self, x: *mut c_ushort) -> *mut c_ushort {
        if x.is_null() { self.drand48.x.as_mut_ptr() } else { x }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" {
        fn random() -> c_long;
        fn srandom(seed: c_uint);
        fn drand48() -> c_double;
        fn lrand48() -> c_long;
        fn mrand48() -> c_long;
        fn srand48(seed: c_long);
        fn seed48(seed: *mut c_ushort) -> *mut c_ushort;
        fn lcong48(parameter: *mut c_ushort);
        fn erand48(x: *mut c_ushort) -> c_double;
    }

    /// One test: libc's own state is the process's.
    #[test]
    fn sequences_equal_those_of_a_process() {
        let null = core::ptr::null_mut();
        let (mut one, mut two) = (Random::default(), Random::default());
        // SAFETY: libc's generators, used by this test only; arrays have the documented lengths.
        unsafe {
            for _ in 0..50 {
                let expected = random();
                assert_eq!(c_long::from(one.draw()), expected);
                assert_eq!(c_long::from(two.draw()), expected);
                assert_eq!(one.erand48(null), drand48());
            }
            srandom(42);
            srand48(42);
            one.seed(42);
            one.seed48(42);
            for _ in 0..50 {
                assert_eq!(c_long::from(one.draw()), random());
                assert_eq!(one.nrand48(null), lrand48());
                assert_eq!(one.jrand48(null), mrand48());
            }
            let mut seed = [1, 2, 3];
            let theirs = *seed48(seed.as_mut_ptr()).cast::<[c_ushort; 3]>();
            assert_eq!(*one.seed48_words(seed.as_mut_ptr()).cast::<[c_ushort; 3]>(), theirs);
            let mut parameter = [1, 2, 3, 4, 5, 6, 7];
            lcong48(parameter.as_mut_ptr());
            one.lcong48(parameter.as_mut_ptr());
            let (mut x, mut y) = ([9, 8, 7], [9, 8, 7]);
            for _ in 0..10 {
                assert_eq!(one.erand48(x.as_mut_ptr()), erand48(y.as_mut_ptr()));
                assert_eq!(one.erand48(null), drand48());
            }
            let mut buffer = [0i32; 16];
            let before = one.init_state(5, buffer.as_mut_ptr().cast(), 64);
            let first = one.draw();
            assert!(!one.set_state(before).is_null());
            assert_eq!(c_long::from(one.draw()), random(), "the first sequence goes on");
            one.set_state(buffer.as_mut_ptr().cast());
            one.seed(5);
            assert_eq!(one.draw(), first);
        }
    }
}
