//! `getopt`, `getopt_long` and `getopt_long_only` with the semantics of GNU: operands are moved behind the options
//! unless `POSIXLY_CORRECT` is set or the option string begins with `+` or `-`; `optind` 0 starts anew.
#![allow(unsafe_code)] // Reads the program's argument vector and option tables.

use core::ffi::{CStr, c_char, c_int};

/// The variables of the program.
#[repr(C)]
pub struct OptionVariables {
    /// `optarg`
    pub argument: *mut c_char,
    /// `optind`
    pub index: c_int,
    /// `opterr`
    pub errors: c_int,
    /// `optopt`
    pub character: c_int,
}

impl Default for OptionVariables {
    fn default() -> Self {
        Self { argument: core::ptr::null_mut(), index: 1, errors: 1, character: c_int::from(b'?') }
    }
}

/// `struct option`
#[repr(C)]
pub struct LongOption {
    name: *const c_char,
    has_argument: c_int,
    flag: *mut c_int,
    value: c_int,
}

/// Where the scan of one argument vector stands.
#[derive(Default)]
pub struct Scan {
    started: bool,
    order: Order,
    /// The rest of a cluster of short options, or null.
    rest: Option<*mut c_char>,
    /// Operands passed over so far: indices `[first, last)`.
    passed: (usize, usize),
    /// What `optopt` is set to by every call, whatever the program stored there.
    character: c_int,
}

// SAFETY: the pointer is into the program's arguments.
unsafe impl Send for Scan {}

#[derive(Default, Clone, Copy, PartialEq)]
enum Order {
    #[default]
    Permute,
    StopAtOperand,
    ReturnOperands,
}

/// What the caller passed, and how messages are printed.
pub struct Call<'a> {
    /// The argument vector, reordered in place.
    pub arguments: &'a mut [*mut c_char],
    /// The option characters.
    pub short: &'a [u8],
    /// The long options, or null.
    pub long: *const LongOption,
    /// Where the index of a long option found is stored, or null.
    pub long_index: *mut c_int,
    /// Long options may begin with one dash.
    pub long_only: bool,
    /// `POSIXLY_CORRECT` is set.
    pub posixly_correct: bool,
    /// Prints a message about a wrong option.
    pub print: &'a mut dyn FnMut(&[u8]),
}

/// # Safety
/// `text` is a C string.
unsafe fn bytes<'a>(text: *const c_char) -> &'a [u8] {
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_bytes()
}

impl Scan {
    /// Returns the next option's character or value, 1 for an operand in order, `?` or `:` for an error, -1 at the
    /// end.
    ///
    /// # Safety
    /// `call.arguments` are C strings, `call.long` is null or ends with an entry of zeros, `call.long_index` is null
    /// or may be written; `variables` is the rank's.
    pub unsafe fn next(&mut self, variables: &mut OptionVariables, call: &mut Call<'_>) -> c_int {
        // SAFETY: the caller's promise.
        let result = unsafe { self.step(variables, call) };
        variables.character = self.character;
        result
    }

    unsafe fn step(&mut self, variables: &mut OptionVariables, call: &mut Call<'_>) -> c_int {
        if call.arguments.is_empty() {
            return -1;
        }
        variables.argument = core::ptr::null_mut();
        if variables.index == 0 || !self.started {
            self.start(variables, call);
        }
        if let [b'-' | b'+', others @ ..] = call.short {
            call.short = others;
        }
        // SAFETY: the caller's promise holds for everything below.
        unsafe {
            if self.rest.is_none_or(|rest| *rest == 0)
                && let Some(result) = self.next_argument(variables, call)
            {
                return result;
            }
            self.next_character(variables, call)
        }
    }

    fn start(&mut self, variables: &mut OptionVariables, call: &Call<'_>) {
        if variables.index == 0 {
            variables.index = 1;
        }
        let index = variables.index as usize;
        *self = Scan { started: true, passed: (index, index), character: self.character, ..Scan::default() };
        self.order = match call.short.first() {
            Some(b'-') => Order::ReturnOperands,
            Some(b'+') => Order::StopAtOperand,
            _ if call.posixly_correct => Order::StopAtOperand,
            _ => Order::Permute,
        };
    }

    /// Moves the operands passed over behind the options found after them.
    fn exchange(&mut self, index: usize, arguments: &mut [*mut c_char]) {
        let (first, last) = self.passed;
        arguments[first..index].rotate_left(last - first);
        self.passed = (first + index - last, index);
    }

    /// Goes to the next argument. Returns a result, or `None` when `self.rest` is a cluster of short options.
    unsafe fn next_argument(
        &mut self,
        variables: &mut OptionVariables,
        call: &mut Call<'_>,
    ) -> Option<c_int> {
        let count = call.arguments.len();
        let mut index = (variables.index.max(1) as usize).min(count);
        self.passed = (self.passed.0.min(index), self.passed.1.min(index));
        // SAFETY: arguments are C strings, by the caller's promise.
        let is_operand =
            |argument: *mut c_char| unsafe { *argument != b'-' as c_char || *argument.add(1) == 0 };
        if self.order == Order::Permute {
            if self.passed.0 != self.passed.1 && self.passed.1 != index {
                self.exchange(index, call.arguments);
            } else if self.passed.1 != index {
                self.passed.0 = index;
            }
            while index < count && is_operand(call.arguments[index]) {
                index += 1;
            }
            self.passed.1 = index;
        }
        // SAFETY: `index` is below `count`, and arguments are C strings.
        if index < count && unsafe { bytes(call.arguments[index]) } == b"--" {
            index += 1;
            if self.passed.0 != self.passed.1 && self.passed.1 != index {
                self.exchange(index, call.arguments);
            } else if self.passed.0 == self.passed.1 {
                self.passed.0 = index;
            }
            self.passed.1 = count;
            index = count;
        }
        variables.index = index as c_int;
        if index == count {
            if self.passed.0 != self.passed.1 {
                variables.index = self.passed.0 as c_int;
            }
            return Some(-1);
        }
        let argument = call.arguments[index];
        if is_operand(argument) {
            if self.order == Order::StopAtOperand {
                return Some(-1);
            }
            variables.argument = argument;
            variables.index += 1;
            return Some(1);
        }
        // SAFETY: the argument has at least two characters; the option table is the caller's.
        unsafe {
            if !call.long.is_null() {
                if *argument.add(1) == b'-' as c_char {
                    return self.long_option(argument.add(2), "--", variables, call);
                }
                let is_short = call.short.contains(&(*argument.add(1) as u8));
                if call.long_only && (*argument.add(2) != 0 || !is_short) {
                    let result = self.long_option(argument.add(1), "-", variables, call);
                    if result.is_some() {
                        return result;
                    }
                }
            }
            self.rest = Some(argument.add(1));
        }
        None
    }

    /// Takes the next character of a cluster of short options.
    unsafe fn next_character(&mut self, variables: &mut OptionVariables, call: &mut Call<'_>) -> c_int {
        let rest = self.rest.expect("a cluster was begun");
        // SAFETY: `rest` is inside an argument, before its end; option strings end as slices do.
        unsafe {
            let character = *rest as u8;
            let rest = rest.add(1);
            self.rest = Some(rest);
            if *rest == 0 {
                variables.index += 1;
            }
            let at = call.short.iter().position(|one| *one == character);
            let Some(at) = at.filter(|_| character != b':' && character != b';') else {
                self.complain(variables, call, &[b"invalid option -- '", &[character], b"'"]);
                self.character = c_int::from(character);
                return c_int::from(b'?');
            };
            let mode = &call.short[at + 1..];
            if mode.first() == Some(&b';') && character == b'W' && !call.long.is_null() {
                let text = if *rest != 0 {
                    rest
                } else if variables.index as usize >= call.arguments.len() {
                    return self.missing_argument(variables, call, character);
                } else {
                    call.arguments[variables.index as usize]
                };
                self.rest = None;
                return self.long_option(text, "-W ", variables, call).unwrap_or(c_int::from(b'?'));
            }
            if mode.first() == Some(&b':') {
                self.rest = None;
                if *rest != 0 {
                    variables.argument = rest;
                    variables.index += 1;
                } else if mode.get(1) != Some(&b':') {
                    if variables.index as usize >= call.arguments.len() {
                        return self.missing_argument(variables, call, character);
                    }
                    variables.argument = call.arguments[variables.index as usize];
                    variables.index += 1;
                }
            }
            c_int::from(character)
        }
    }

    fn missing_argument(
        &mut self,
        variables: &mut OptionVariables,
        call: &mut Call<'_>,
        character: u8,
    ) -> c_int {
        self.rest = None;
        self.complain(variables, call, &[b"option requires an argument -- '", &[character], b"'"]);
        self.character = c_int::from(character);
        c_int::from(if call.short.first() == Some(&b':') { b':' } else { b'?' })
    }

    /// Takes a long option whose text, after `prefix`, is `text`. Returns `None` if it may be short options.
    unsafe fn long_option(
        &mut self,
        text: *mut c_char,
        prefix: &str,
        variables: &mut OptionVariables,
        call: &mut Call<'_>,
    ) -> Option<c_int> {
        // SAFETY: `text` is a C string; the table ends with an entry without name.
        unsafe {
            let whole = bytes(text);
            let name = whole.split(|byte| *byte == b'=').next().unwrap_or_default();
            let mut found: Option<(usize, &LongOption)> = None;
            let (mut ambiguous, mut exact) = (false, false);
            for at in 0.. {
                let option = &*call.long.add(at);
                if option.name.is_null() {
                    break;
                }
                let candidate = bytes(option.name);
                if candidate == name {
                    (found, exact) = (Some((at, option)), true);
                    break;
                }
                if candidate.starts_with(name) {
                    match found {
                        None => found = Some((at, option)),
                        Some((_, other)) => {
                            ambiguous |= call.long_only
                                || other.has_argument != option.has_argument
                                || other.flag != option.flag
                                || other.value != option.value;
                        }
                    }
                }
            }
            let invalid = Some(c_int::from(b'?'));
            if ambiguous && !exact {
                self.complain(variables, call, &[b"option '", prefix.as_bytes(), whole, b"' is ambiguous"]);
                self.rest = None;
                variables.index += 1;
                self.character = 0;
                return invalid;
            }
            let Some((at, option)) = found else {
                let first = whole.first().copied().unwrap_or(0);
                if call.long_only && prefix == "-" && call.short.contains(&first) {
                    return None;
                }
                self.complain(variables, call, &[b"unrecognized option '", prefix.as_bytes(), whole, b"'"]);
                self.rest = None;
                variables.index += 1;
                self.character = 0;
                return invalid;
            };
            self.rest = None;
            variables.index += 1;
            let full_name = bytes(option.name);
            if name.len() < whole.len() {
                if option.has_argument == 0 {
                    let parts = [b"option '", prefix.as_bytes(), full_name, b"' doesn't allow an argument"];
                    self.complain(variables, call, &parts);
                    self.character = option.value;
                    return invalid;
                }
                variables.argument = text.add(name.len() + 1);
            } else if option.has_argument == 1 {
                let Some(argument) = call.arguments.get(variables.index as usize) else {
                    let parts = [b"option '", prefix.as_bytes(), full_name, b"' requires an argument"];
                    self.complain(variables, call, &parts);
                    self.character = option.value;
                    return Some(c_int::from(if call.short.first() == Some(&b':') { b':' } else { b'?' }));
                };
                variables.argument = *argument;
                variables.index += 1;
            }
            if !call.long_index.is_null() {
                *call.long_index = at as c_int;
            }
            if option.flag.is_null() {
                return Some(option.value);
            }
            *option.flag = option.value;
            Some(0)
        }
    }

    fn complain(&self, variables: &OptionVariables, call: &mut Call<'_>, parts: &[&[u8]]) {
        if variables.errors == 0 || call.short.first() == Some(&b':') {
            return;
        }
        // SAFETY: the first argument is a C string.
        let program = unsafe { bytes(call.arguments[0]) };
        (call.print)(&[program, b": ", &parts.concat(), b"\n"].concat());
    }
}

#[cfg(test)]
#[path = "options_tests.rs"]
mod tests;
