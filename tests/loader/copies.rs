//! What is private in a copy, what is shared between copies, and how copies start and end.

mod workshop;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use workshop::{Workshop, each, lines_of};

#[test]
fn globals_and_statics_of_a_program_are_private() {
    let shop = Workshop::new("globals");
    let source = r#"
        #include <stdio.h>
        int zero, one = 1, *place = &one;
        int main(int argc, char **argv) {
            static int calls;
            zero += weft_rank(), *place += weft_rank(), calls++;
            printf("%d %d %d %d %d\n", weft_rank(), zero, one, calls, argc);
            return 0;
        }"#;
    let program = shop.program("globals", source, &[]);
    // More copies than descriptors are ever open, so that descriptor numbers repeat.
    assert_eq!(shop.run(100, &program), each(100, |r| format!("{r} {r} {} 1 1", r + 1)));
}

#[test]
fn large_tables_and_zeroed_memory_are_private() {
    let shop = Workshop::new("tables");
    let source = r#"
        #include <stdio.h>
        static double table[50000] = {1, 2, [49999] = 3};
        static char zeroed[300001];
        int main(void) {
            double sum = 0;
            for (int i = 0; i < 50000; i++) sum += table[i], table[i] = weft_rank();
            for (int i = 0; i < 300001; i++) sum += zeroed[i], zeroed[i] = 1;
            printf("%d %g\n", weft_rank(), sum);
            return 0;
        }"#;
    let program = shop.program("tables", source, &[]);
    assert_eq!(shop.run(10, &program), each(10, |r| format!("{r} 6")));
}

#[test]
fn inline_and_template_statics_are_private() {
    let shop = Workshop::new("unique");
    let header = r#"
        template <class T> struct Count { static int value; };
        template <class T> int Count<T>::value = 0;
        inline int &local() { static int value; return value; }
        inline int common = 5;
    "#;
    shop.write("header.h", header);
    let library = "#include \"header.h\"\nint add(int n) { Count<int>::value += n, local() += n, common += n; return common; }";
    shop.write("adds.cc", library);
    shop.compile(
        "g++",
        &["-std=c++17", "-shared", "-fPIC", "adds.cc", "-o", "libadds.so", "-Wl,-soname,libadds.so"],
    );
    let source = r#"
        #include "header.h"
        #include <cstdio>
        int add(int);
        int main() {
            int rank = weft_rank();
            Count<int>::value += rank, local() += rank;
            int sum = add(rank);
            std::printf("%d %d %d %d %d\n", rank, Count<int>::value, local(), common, sum);
        }"#;
    let flags = ["-std=c++17", "-L.", "-l:libadds.so"];
    let line = |r| format!("{r} {0} {0} {1} {1}", 2 * r, r + 5);
    let program = shop.program_cxx("unique", source, &[&flags[..], &["-rdynamic"]].concat());
    assert_eq!(shop.run(8, &program), each(8, line));
    let program = shop.program_shared("g++", "unique-shared", source, &flags);
    assert_eq!(shop.run(8, &program), each(8, line));
}

#[test]
fn unique_symbols_stay_private_for_later_lookups() {
    let shop = Workshop::new("unique later");
    let source = r#"
        #include <cstdio>
        #include <dlfcn.h>
        inline int counter = 5;
        int main() {
            counter += weft_rank();
            int own = dlsym(RTLD_DEFAULT, "counter") == (void *)&counter;
            std::printf("%d %d %d\n", weft_rank(), counter, own);
        }"#;
    let program = shop.program_cxx("later", source, &["-rdynamic", "-std=c++17", "-ldl"]);
    assert_eq!(shop.run(4, &program), each(4, |r| format!("{r} {} 1", r + 5)));
}

#[test]
fn thread_local_data_works_in_an_executable_shared_object() {
    let shop = Workshop::new("thread local");
    let source = r#"
        #include <cstdio>
        #include <thread>
        thread_local int number = 40;
        static thread_local struct Slow { int value; Slow() : value(weft_rank()) {} } slow;
        int main() {
            int rank = weft_rank(), other = 0;
            number += rank;
            std::thread([&] { other = number; }).join();
            std::printf("%d %d %d %d\n", rank, number, slow.value, other);
        }"#;
    let program = shop.program_shared("g++", "local", source, &["-pthread"]);
    assert_eq!(shop.run(20, &program), each(20, |r| format!("{r} {} {r} 40", r + 40)));
    let direct = Command::new(&program).output().expect("a direct run");
    assert_eq!(lines_of(&direct), ["0 40 0 40"], "the same file runs by itself");
}

#[test]
fn threadprivate_data_works_in_an_executable_shared_object() {
    let shop = Workshop::new("threadprivate");
    let source = r#"
        #include <omp.h>
        #include <stdio.h>
        static int mine = 7;
        #pragma omp threadprivate(mine)
        int main(void) {
            int sum = 0, rank = weft_rank();
            #pragma omp parallel num_threads(3) reduction(+:sum) copyin(mine)
            { mine += rank; sum += mine + omp_get_thread_num(); }
            printf("%d %d\n", rank, sum);
            return 0;
        }"#;
    let program = shop.program_shared("gcc", "private", source, &["-fopenmp"]);
    assert_eq!(shop.run(6, &program), each(6, |r| format!("{r} {}", 24 + 3 * r)));
}

#[test]
fn sections_that_nobody_uses_may_be_dropped_but_the_interpreter_stays() {
    let shop = Workshop::new("gc sections");
    let source =
        "#include <stdio.h>\n_Thread_local int x = 3;\nint main(void) { printf(\"%d\\n\", x); return 0; }";
    let program =
        shop.program_shared("gcc", "dropped", source, &["-Wl,--gc-sections", "-ffunction-sections"]);
    assert_eq!(lines_of(&Command::new(&program).output().expect("a direct run")), ["3"]);
    assert_eq!(shop.run(2, &program), ["3", "3"]);
}

#[test]
fn constructors_and_destructors_run_in_order_on_the_ranks_own_thread() {
    let shop = Workshop::new("order");
    let part = |name: &str, needs: &str| {
        format!(
            r#"
            #include <stdio.h>
            extern char **environ;
            void note(const char *what);
            {needs}
            __attribute__((constructor)) static void begin(int c, char **v, char **e)
            {{ note(c == 1 && v[0] && e == environ ? "+{name}" : "+{name}?"); }}
            __attribute__((destructor)) static void end(void) {{ note("-{name}"); }}
            void use_{name}(void) {{}}"#
        )
    };
    let notes = r#"
        #include <stdio.h>
        #include <string.h>
        static char notes[99];
        void note(const char *what) {
            strcat(notes, what);
            if (!strcmp(what, "-inner")) printf("%d %s\n", weft_rank(), notes), fflush(stdout);
        }"#;
    shop.library("libnotes.so", notes, &["-L.", "-l:libmpi_abi.so.1"]);
    let inner = part("inner", "");
    shop.library("libinner.so", &inner, &["-L.", "-l:libnotes.so"]);
    let outer = part("outer", "void use_inner(void); void go(void) { use_inner(); }");
    shop.library("libouter.so", &outer, &["-L.", "-l:libinner.so", "-l:libnotes.so"]);
    let main = "void use_outer(void); int main(void) { use_outer(); use_inner(); note(\"main\"); return 0; }";
    let main = part("program", "void use_inner(void);").replace("environ;", "environ; ") + main;
    // The program names the inner library first: the order must come from who needs whom.
    let program = shop.program(
        "order",
        &main,
        &["-Wl,--no-as-needed", "-L.", "-l:libinner.so", "-l:libouter.so", "-l:libnotes.so"],
    );
    let line = "+inner+outer+programmain-program-outer-inner";
    assert_eq!(shop.run(5, &program), each(5, |r| format!("{r} {line}")));
}

#[test]
fn global_objects_are_built_and_destroyed_by_their_rank() {
    let shop = Workshop::new("objects");
    let source = r#"
        #include <cstdio>
        #include <string>
        struct Noisy {
            std::string name;
            int rank = weft_rank();
            Noisy(const char *n) : name(n) {}
            ~Noisy() { std::printf("%d %s %d\n", weft_rank(), name.c_str(), rank); std::fflush(stdout); }
        } first("first of a name too long to be kept inside the string itself");
        int main() { static Noisy second("second"); }"#;
    let program = shop.program_cxx("objects", source, &[]);
    let mut expected =
        each(6, |r| format!("{r} first of a name too long to be kept inside the string itself {r}"));
    expected.extend(each(6, |r| format!("{r} second {r}")));
    expected.sort();
    assert_eq!(shop.run(6, &program), expected);
}

#[test]
fn exceptions_cross_frames_of_program_and_libraries() {
    let shop = Workshop::new("exceptions");
    shop.write("thrower.cc", "#include <stdexcept>\n#include <string>\nvoid thrower(int r) { throw std::runtime_error(std::to_string(r)); }");
    shop.compile(
        "g++",
        &["-shared", "-fPIC", "thrower.cc", "-o", "libthrower.so", "-Wl,-soname,libthrower.so"],
    );
    let source = r#"
        #include <cstdio>
        #include <cstdlib>
        #include <stdexcept>
        void thrower(int);
        struct Guard { int &n; ~Guard() { n++; } };
        struct Own { int value; };
        __attribute__((noinline)) void deep(int depth, int &n) {
            Guard guard{n};
            if (depth == 0) thrower(weft_rank());
            deep(depth - 1, n);
        }
        int main() {
            int n = 0, caught = -1, own = -1;
            for (int i = 0; i < 20; i++) try { deep(10, n); } catch (const std::runtime_error &e) { caught = atoi(e.what()); }
            try { throw Own{weft_rank()}; } catch (Own &e) { own = e.value; }
            std::printf("%d %d %d %d\n", weft_rank(), caught, n, own);
        }"#;
    let program = shop.program_cxx("exceptions", source, &["-L.", "-lthrower"]);
    assert_eq!(shop.run(40, &program), each(40, |r| format!("{r} {r} 220 {r}")));
}

#[test]
fn references_to_library_data_can_be_redirected() {
    let shop = Workshop::new("redirect");
    shop.library(
        "libreader.so",
        "#include <unistd.h>\nint *optind_place = &optind; int read_it(void) { return optind; }",
        &[],
    );
    let source = r#"
        #include <stdio.h>
        #include <unistd.h>
        int read_it(void);
        extern int *optind_place;
        int main(void) { printf("%d %d %d %d\n", weft_rank(), optind, read_it(), *optind_place); return 0; }"#;
    let program = shop.program("redirect", source, &["-L.", "-l:libreader.so"]);
    let output = shop.host(&["--redirect-getopt"], 5, &program).output().expect("a run");
    let line = |r| format!("{r} {0} {0} {0}", 1000 + r);
    assert_eq!(lines_of(&output), each(5, line));
}

#[test]
fn variables_of_private_libraries_may_be_in_the_program() {
    let shop = Workshop::new("copied variables");
    // The variable has references in itself: to the library's own data, to a variable of the program, and to one of libc.
    let library = r#"
        #include <unistd.h>
        int counter = 5, shadowed = 1;
        struct record { int value; int *counter, *shadowed, *index; } record = {7, &counter, &shadowed, &optind};
        struct record *where(void) { return &record; }
        int *count(void) { ++*record.counter; return &counter; }
        __attribute__((constructor)) static void begin(void) { record.value += weft_rank(); }"#;
    shop.library("librecord.so", library, &["-L.", "-l:libmpi_abi.so.1"]);
    let source = r#"
        #include <stdio.h>
        int weft_rank(void), shadowed = 40, *count(void);
        extern int counter;
        extern struct record { int value; int *counter, *shadowed, *index; } record;
        struct record *where(void);
        int main(void) {
            int is_one = where() == &record && count() == &counter && record.counter == &counter;
            printf("%d %d %d %d %d %d\n", weft_rank(), is_one, record.value, counter, *record.shadowed, *record.index);
            return 0;
        }"#;
    let program = shop.build("gcc", "c", "copied", source, &["-fPIE", "-pie", "-L.", "-l:librecord.so"]);
    let output = shop.host(&["--redirect-getopt"], 5, &program).output().expect("a run");
    assert_eq!(lines_of(&output), each(5, |r| format!("{r} 1 {} 6 40 {}", 7 + r, 1000 + r)));
}

#[test]
fn functions_named_like_libcs_are_the_programs_own() {
    let shop = Workshop::new("same names");
    shop.library(
        "libclash.so",
        "int y0f(int x) { return x + 1; } int index(int x) { return x + 2; } int both(int x) { return y0f(index(x)); }",
        &["-fno-builtin"],
    );
    let source = r#"
        #include <stdio.h>
        int both(int), index(int);
        int y0f(int x) { return x + 100; }
        int main(void) { printf("%d %d %d\n", weft_rank(), both(weft_rank()), index(0)); return 0; }"#;
    let program = shop.program("clash", source, &["-fno-builtin", "-L.", "-l:libclash.so"]);
    assert_eq!(shop.run(3, &program), each(3, |r| format!("{r} {} 2", r + 102)));
}

#[test]
fn what_a_program_defines_itself_is_not_redirected() {
    let shop = Workshop::new("own definition");
    shop.library("libreader.so", "#include <unistd.h>\nint read_it(void) { return optind; }", &[]);
    let source = r#"
        #include <stdio.h>
        int read_it(void), optind = 7;
        int main(void) { printf("%d %d %d\n", weft_rank(), optind, read_it()); return 0; }"#;
    let program = shop.program("defines", source, &["-L.", "-l:libreader.so"]);
    let output = shop.host(&["--redirect-getopt"], 2, &program).output().expect("a run");
    assert_eq!(lines_of(&output), each(2, |r| format!("{r} 7 7")));
}

#[test]
fn libraries_of_the_user_are_private_also_transitive_ones() {
    let shop = Workshop::new("libraries");
    shop.write("versions", "BASE_1 { global: *; };");
    let deep = "int deep_count; int deep(void) { return deep_count += weft_rank(); }";
    shop.library("libdeep.so", deep, &["-L.", "-l:libmpi_abi.so.1", "-Wl,--version-script,versions"]);
    let near = "int deep(void); int near_count; int near(void) { near_count += weft_rank(); return deep() + near_count; }";
    shop.library("libnear.so", near, &["-L.", "-l:libdeep.so"]);
    let source = r#"
        #include <stdio.h>
        int near(void), deep(void);
        extern int near_count;
        int main(void) {
            int a = near(), b = deep();
            printf("%d %d %d %d\n", weft_rank(), a, b, near_count);
            return 0;
        }"#;
    let program = shop.program("libraries", source, &["-L.", "-l:libnear.so", "-l:libdeep.so"]);
    assert_eq!(shop.run(30, &program), each(30, |r| format!("{r} {} {} {r}", 2 * r, 2 * r)));
}

#[test]
fn a_program_overrides_functions_of_its_private_libraries() {
    let shop = Workshop::new("override");
    shop.library("libasks.so", "int answer(void) { return 1; } int ask(void) { return answer(); }", &[]);
    let source = r#"
        #include <stdio.h>
        int ask(void);
        int answer(void) { return 100 + weft_rank(); }
        int main(void) { printf("%d %d\n", weft_rank(), ask()); return 0; }"#;
    let program = shop.program("override", source, &["-L.", "-l:libasks.so"]);
    assert_eq!(shop.run(3, &program), each(3, |r| format!("{r} {}", 100 + r)));
}

#[test]
fn functions_chosen_at_load_time_work() {
    let shop = Workshop::new("indirect");
    let source = r#"
        #include <stdio.h>
        static const int constant = 11;
        static int fast(void) { return constant; }
        static int (*choose(void))(void) { return fast; }
        int pick(void) __attribute__((ifunc("choose")));
        int main(void) { printf("%d %d\n", weft_rank(), pick()); return 0; }"#;
    let program = shop.program("indirect", source, &[]);
    assert_eq!(shop.run(3, &program), each(3, |r| format!("{r} 11")));
}

#[test]
fn programs_of_other_layouts_load() {
    let shop = Workshop::new("layouts");
    let source = r#"
        #include <stdio.h>
        int here = 3;
        const char *const words[] = {"none", "one"};
        int main(void) { here += weft_rank(); printf("%d %d %s\n", weft_rank(), here, words[here > 2]); return 0; }"#;
    let layouts: &[(&str, &[&str])] = &[
        ("together", &["-Wl,-z,noseparate-code"]),
        ("strict", &["-Wl,-z,relro,-z,now"]),
        ("large", &["-Wl,-z,max-page-size=65536"]),
        ("packed", &["-Wl,-z,pack-relative-relocs"]),
        ("old_hash", &["-Wl,--hash-style=sysv"]),
        ("stripped", &["-s"]),
        ("lazy", &["-Wl,-z,lazy"]),
    ];
    for (name, flags) in layouts {
        let program = shop.program(name, source, flags);
        assert_eq!(shop.run(3, &program), each(3, |r| format!("{r} {} one", r + 3)), "{name}");
    }
}

#[test]
fn names_with_spaces_and_signs_are_names_like_others() {
    let shop = Workshop::new("it's a folder of ünusual names");
    let source = r#"
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdio.h>
        #include <string.h>
        int main(int argc, char **argv) {
            Dl_info info;
            int named = dladdr((void *)&main, &info) && !strcmp(info.dli_fname, argv[0]);
            printf("%d %d %s\n", weft_rank(), named, strrchr(argv[0], '/'));
            return 0;
        }"#;
    let program = shop.program("a program, %s", source, &["-ldl"]);
    assert_eq!(shop.run(2, &program), each(2, |r| format!("{r} 1 /a program, %s")));
}

/// Runs copies that have ended but whose process waits; gives the process and what it printed before.
fn paused(shop: &Workshop, count: usize, program: &std::path::Path) -> (Child, Vec<String>) {
    let mut command = shop.host(&["--pause"], count, program);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a run");
    let mut lines = Vec::new();
    for line in BufReader::new(child.stdout.take().expect("its output")).lines() {
        match line.expect("a line") {
            line if line == "paused" => break,
            line => lines.push(line),
        }
    }
    (child, lines)
}

#[test]
fn code_of_all_copies_is_the_same_memory() {
    let shop = Workshop::new("sharing");
    let source = r#"
        #include <stdio.h>
        static const char text[70000] = "words";
        int main(void) { printf("%p\n", (void *)(text + weft_rank())); return fflush(stdout); }"#;
    let program = shop.program("sharing", source, &[]);
    let (mut child, _) = paused(&shop, 12, &program);
    let mut smaps = String::new();
    let file = std::fs::File::open(format!("/proc/{}/smaps", child.id())).expect("the process's maps");
    BufReader::new(file).read_to_string(&mut smaps).expect("the maps' text");
    drop(child.stdin.take());
    child.wait().expect("its end");
    let name = program.to_str().expect("a name");
    let mut code = 0;
    let mut of_program = false;
    for line in smaps.lines() {
        let protection = line.split(' ').nth(1).unwrap_or("");
        if protection.len() == 4 && protection.ends_with('p') {
            of_program = line.ends_with(name);
            code += usize::from(of_program && protection == "r-xp");
        }
        // Not one page of the program's file was copied, and no memory file is left behind any mapping.
        assert!(!of_program || !line.starts_with("Anonymous:") || line.ends_with(" 0 kB"), "{smaps}");
        assert!(!line.contains("memfd:"), "{line}");
    }
    assert_eq!(code, 12, "{smaps}");
}

#[test]
fn a_debugger_names_functions_in_a_copy() {
    if Command::new("gdb").arg("--version").output().is_err() {
        eprintln!("skipped: gdb is not installed");
        return;
    }
    let shop = Workshop::new("debugger");
    shop.library("libtool.so", "int tool_of_the_library(int x) { return x + 1; }", &[]);
    let source = r#"
        #include <stdio.h>
        int tool_of_the_library(int);
        int function_of_the_copy(int x) { return tool_of_the_library(x) * 2; }
        int main(void) {
            if (weft_rank() == 2) printf("%p %p\n", (void *)&function_of_the_copy, (void *)&tool_of_the_library);
            return fflush(stdout);
        }"#;
    let program = shop.program("debugged", source, &["-L.", "-l:libtool.so"]);
    let (mut child, lines) = paused(&shop, 3, &program);
    let (function, tool) = lines[0].split_once(' ').expect("two addresses");
    // A debugger that is told a wrong file name may wait for that file for ever.
    let output = Command::new("timeout")
        .args(["-s", "KILL", "60", "gdb", "-nx", "-batch", "-p", &child.id().to_string()])
        .args(["-ex", &format!("info symbol {function}"), "-ex", &format!("info symbol {tool}")])
        .args(["-ex", &format!("info line *{function}")])
        .env("DEBUGINFOD_URLS", "")
        .stdin(Stdio::null())
        .output()
        .expect("a run of gdb");
    drop(child.stdin.take());
    child.wait().expect("its end");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("ptrace: Operation not permitted") {
        eprintln!("skipped: gdb may not look into processes here");
        return;
    }
    assert!(text.contains("function_of_the_copy"), "{text}\n{errors}");
    assert!(text.contains("tool_of_the_library"), "{text}\n{errors}");
    assert!(text.contains("debugged.c"), "the line of the source is known\n{text}\n{errors}");
}

#[test]
fn copies_need_no_more_than_a_few_mappings() {
    let shop = Workshop::new("mappings");
    let program = shop.program("small", "int main(void) { return 0; }", &[]);
    let maps = |count| {
        let output = shop.host(&["--time"], count, &program).output().expect("a run");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let number =
            text.split(", ").nth(1).and_then(|t| t.split(' ').next()).and_then(|n| n.parse::<usize>().ok());
        number.unwrap_or_else(|| panic!("no number of mappings in {text}"))
    };
    // Ten thousand copies must fit into the 65530 mappings a process has by default, stacks included.
    let (few, many) = (maps(10), maps(210));
    assert!(many - few <= 200 * 3, "{few} mappings with 10 copies, {many} with 210");
}
