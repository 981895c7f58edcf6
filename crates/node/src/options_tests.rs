//! Compares with libc's `getopt` family on random argument vectors.

use super::*;
use std::ffi::CString;

unsafe extern "C" {
    static mut optarg: *mut c_char;
    static mut optind: c_int;
    static mut opterr: c_int;
    static mut optopt: c_int;
    fn getopt_long(
        count: c_int,
        arguments: *const *mut c_char,
        short: *const c_char,
        long: *const LongOption,
        index: *mut c_int,
    ) -> c_int;
    fn getopt_long_only(
        count: c_int,
        arguments: *const *mut c_char,
        short: *const c_char,
        long: *const LongOption,
        index: *mut c_int,
    ) -> c_int;
}

/// A linear congruential generator: enough to choose among words.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

type Step = (c_int, Option<String>, c_int, c_int, c_int);

fn step(result: c_int, argument: *mut c_char, index: c_int, character: c_int, long: c_int) -> Step {
    // SAFETY: an option's argument is a C string.
    let text =
        (!argument.is_null()).then(|| unsafe { CStr::from_ptr(argument) }.to_str().unwrap().to_owned());
    (result, text, index, character, long)
}

/// One test: libc's state is the process's.
#[test]
fn results_equal_those_of_libc() {
    let words = [
        "prog",
        "-a",
        "-b",
        "-bx",
        "-ab",
        "-c",
        "-cval",
        "--",
        "-",
        "x",
        "y",
        "--alpha",
        "--alp",
        "--al",
        "--beta",
        "--beta=1",
        "--beta=",
        "--gamma",
        "--gamma=2",
        "--wrong",
        "-z",
        "-alpha",
        "-beta",
        "-al",
        "--alpha=3",
        "-azb",
        "-:",
        "-W",
        "alpha",
    ];
    let shorts = [c"ab:c::", c"+ab:c::", c"-ab:c::", c":ab:c::", c"+:ab:c::", c"ab:c::W;", c"", c":"];
    let mut flag = 0;
    let option = |name: &'static CStr, has_argument, flag: *mut c_int, value| LongOption {
        name: name.as_ptr(),
        has_argument,
        flag,
        value,
    };
    let null = core::ptr::null_mut();
    let end = LongOption { name: core::ptr::null(), has_argument: 0, flag: null, value: 0 };
    let long = [
        option(c"alpha", 0, null, 300),
        option(c"alps", 0, null, 301),
        option(c"beta", 1, null, 302),
        option(c"gamma", 2, &raw mut flag, 303),
        end,
    ];
    let seed = 20_261_120;
    println!("seed {seed}");
    let mut dice = Dice(seed);
    let mut scan = Scan::default();
    for round in 0..20_000 {
        let count = 1 + dice.roll(6);
        let mut chosen: Vec<CString> =
            (0..count).map(|_| CString::new(words[dice.roll(words.len())]).unwrap()).collect();
        chosen[0] = c"prog".to_owned();
        let short = shorts[dice.roll(shorts.len())];
        let long_only = dice.roll(2) == 0;
        let mut theirs: Vec<*mut c_char> = chosen.iter().map(|word| word.as_ptr().cast_mut()).collect();
        let mut ours = theirs.clone();
        theirs.push(null.cast());
        let (mut expected, mut got) = (Vec::new(), Vec::new());
        // SAFETY: libc's getopt, used by this test only, on vectors of C strings.
        unsafe {
            (optind, opterr, optopt) = (0, 0, 63);
            for _ in 0..20 {
                let mut at = -1;
                let function = if long_only { getopt_long_only } else { getopt_long };
                let result =
                    function(count as c_int, theirs.as_ptr(), short.as_ptr(), long.as_ptr(), &mut at);
                expected.push(step(result, optarg, optind, optopt, at));
                if result == -1 {
                    break;
                }
            }
            let mut variables = OptionVariables { index: 0, errors: 0, ..OptionVariables::default() };
            for _ in 0..20 {
                let mut at = -1;
                let mut call = Call {
                    arguments: &mut ours,
                    short: short.to_bytes(),
                    long: long.as_ptr(),
                    long_index: &mut at,
                    long_only,
                    posixly_correct: false,
                    print: &mut |_| panic!("opterr is 0"),
                };
                let result = scan.next(&mut variables, &mut call);
                got.push(step(result, variables.argument, variables.index, variables.character, at));
                if result == -1 {
                    break;
                }
            }
        }
        let case = format!("round {round}: {chosen:?} {short:?} long_only {long_only}");
        assert_eq!(got, expected, "{case}");
        assert_eq!(ours, theirs[..count], "{case}: order of arguments");
    }
}

#[test]
fn a_wrong_option_is_reported_unless_forbidden() {
    let arguments = [c"prog", c"-q"];
    for (short, errors, expected) in [
        (&b"a"[..], 1, "prog: invalid option -- 'q'\n"),
        (b"a", 0, ""),
        (b":a", 1, ""),
        (b"q:", 1, "prog: option requires an argument -- 'q'\n"),
    ] {
        let mut vector = arguments.map(|word| word.as_ptr().cast_mut());
        let mut printed = Vec::new();
        let mut variables = OptionVariables { errors, ..OptionVariables::default() };
        let mut call = Call {
            arguments: &mut vector,
            short,
            long: core::ptr::null(),
            long_index: core::ptr::null_mut(),
            long_only: false,
            posixly_correct: false,
            print: &mut |text| printed.extend_from_slice(text),
        };
        // SAFETY: a vector of C strings.
        let result = unsafe { Scan::default().next(&mut variables, &mut call) };
        assert_eq!(result, c_int::from(b'?'));
        assert_eq!(variables.character, c_int::from(b'q'));
        assert_eq!(String::from_utf8(printed).unwrap(), expected);
    }
}
