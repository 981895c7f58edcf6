//! Whether a program's ranks can be copies, and what is said if not.

mod workshop;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use weft_loader::{ErrorKind, Program, ReasonKind, Verdict, examine};
use workshop::{OURS, Workshop, each, lines_of};

const HELLO: &str = "#include <stdio.h>\nint main(void) { printf(\"%d\\n\", weft_rank()); return 0; }";

/// Asserts that ranks must be processes, for exactly these reasons, each with a remedy.
fn processes(path: &Path, expected: &[ReasonKind]) -> String {
    let verdict = examine(path, OURS);
    let Verdict::Processes { reasons, .. } = &verdict else { panic!("{}: {verdict:?}", path.display()) };
    let kinds: Vec<ReasonKind> = reasons.iter().map(|r| r.kind).collect();
    assert_eq!(kinds, expected, "{reasons:?}");
    assert!(reasons.iter().all(|r| !r.remedy.is_empty()), "{reasons:?}");
    assert!(!verdict.remedies().is_empty());
    reasons.iter().map(|r| format!("{r}\n")).collect()
}

/// Asserts that a file cannot be run at all, neither judged nor loaded.
fn refused(path: &Path, kind: ErrorKind) {
    match examine(path, OURS) {
        Verdict::NotLoadable(error) => assert_eq!(error.kind, kind, "{error}"),
        other => panic!("{}: {other:?}", path.display()),
    }
    let error = Program::prepare(path, OURS).expect_err("a refusal");
    assert_eq!(error.kind, kind, "{error}");
    assert!(error.to_string().contains(&*path.to_string_lossy()), "{error}");
}

fn threads(path: &Path) {
    let verdict = examine(path, OURS);
    assert!(matches!(verdict, Verdict::Threads { .. }), "{}: {verdict:?}", path.display());
}

#[test]
fn what_the_wrappers_make_can_run_as_threads() {
    let shop = Workshop::new("plain");
    threads(&shop.program("plain", HELLO, &[]));
    let cout = "#include <iostream>\nint main() { std::cout << weft_rank() << std::endl; }";
    threads(&shop.program_shared("g++", "cxx", cout, weft_loader::link::CXX_LINK));
    let local = "_Thread_local int x; int main(void) { return x + weft_rank(); }";
    threads(&shop.program_shared("gcc", "local", local, &[]));
}

#[test]
fn thread_local_data_of_an_executable_is_refused() {
    let shop = Workshop::new("local exec");
    let source = "_Thread_local int x = 5; int main(void) { return x + weft_rank(); }";
    let path = shop.program("local", source, &[]);
    let text = processes(&path, &[ReasonKind::StaticThreadLocal]);
    assert!(text.contains("thread-local"), "{text}");
    let error = Program::prepare(&path, OURS).expect_err("a refusal");
    assert_eq!(error.kind, ErrorKind::NeedsProcesses);
    assert!(weft_loader::link::needs_shared_link(&std::fs::read(&path).expect("the program")));
    let shared = shop.program_shared("gcc", "shared", source, &[]);
    assert!(!weft_loader::link::needs_shared_link(&std::fs::read(shared).expect("the program")));
    let plain = shop.program("plain", HELLO, &[]);
    assert!(!weft_loader::link::needs_shared_link(&std::fs::read(plain).expect("the program")));
}

#[test]
fn thread_local_data_of_the_initial_exec_model_is_refused() {
    let shop = Workshop::new("initial exec");
    let source = "_Thread_local int x = 5; int main(void) { return x + weft_rank(); }";
    let path = shop.program_shared(
        "gcc",
        "initial",
        source,
        &["-ftls-model=initial-exec", "-Wl,-z,nostart-stop-gc"],
    );
    processes(&path, &[ReasonKind::StaticThreadLocal]);
}

#[test]
fn copies_of_library_data_are_refused() {
    let shop = Workshop::new("copy relocations");
    let cout = "#include <iostream>\nextern \"C\" int weft_rank();\nint main() { std::cout << weft_rank(); }";
    let text =
        processes(&shop.build("g++", "cc", "cout", cout, &["-fPIE", "-pie"]), &[ReasonKind::CopyRelocation]);
    assert!(text.contains("_ZSt4cout"), "{text}");
    let tables = "#include <obstack.h>\nint weft_rank(void);
        int main(void) { obstack_alloc_failed_handler = 0; return weft_rank(); }";
    let path = shop.build("gcc", "c", "obstack", tables, &["-fPIE", "-pie"]);
    let text = processes(&path, &[ReasonKind::CopyRelocation]);
    assert!(text.contains("obstack_alloc_failed_handler"), "{text}");
    assert_eq!(Program::prepare(&path, OURS).expect_err("a refusal").kind, ErrorKind::NeedsProcesses);
}

#[test]
fn copies_of_what_a_rank_has_of_its_own_are_harmless() {
    let shop = Workshop::new("copies of variables");
    let source = "#include <unistd.h>\nint weft_rank(void); int main(void) { return weft_rank() + optind; }";
    threads(&shop.build("gcc", "c", "optind", source, &["-fPIE", "-pie"]));
    shop.library("libvalues.so", "int value = 1;", &[]);
    let source = "extern int value; int weft_rank(void); int main(void) { return weft_rank() + value; }";
    threads(&shop.build("gcc", "c", "value", source, &["-fPIE", "-pie", "-L.", "-l:libvalues.so"]));
    // A table of virtual functions is a constant.
    let source = "struct Base { virtual ~Base() {} }; struct Derived : Base {}; extern \"C\" int weft_rank();
        int main() { Base *made = new Derived; bool is = dynamic_cast<Derived *>(made); delete made; return weft_rank() * is; }";
    threads(&shop.build("g++", "cc", "virtual", source, &["-fPIE", "-pie"]));
}

#[test]
fn copies_of_the_standard_streams_are_harmless() {
    let shop = Workshop::new("standard streams");
    let source = "#include <stdio.h>\nint weft_rank(void);
        int main(void) { fprintf(stdout, \"%d\\n\", weft_rank()); fflush(stdout); return stderr == stdin; }";
    let path = shop.build("gcc", "c", "streams", source, &["-fPIE", "-pie"]);
    threads(&path);
    assert_eq!(shop.run(4, &path), each(4, |r| r.to_string()));
}

#[test]
fn programs_with_fixed_addresses_and_static_ones_are_refused() {
    let shop = Workshop::new("fixed");
    let fixed = shop.build(
        "gcc",
        "c",
        "fixed",
        "int weft_rank(void); int main(void) { return weft_rank(); }",
        &["-no-pie"],
    );
    processes(&fixed, &[ReasonKind::FixedAddress]);
    shop.write("static.c", "int main(void) { return 0; }");
    shop.compile("gcc", &["static.c", "-static", "-o", "static"]);
    assert!(processes(&shop.path("static"), &[ReasonKind::Static]).contains("statically"));
    shop.compile("gcc", &["static.c", "-static-pie", "-o", "static-pie"]);
    processes(&shop.path("static-pie"), &[ReasonKind::Static]);
    let error = Program::prepare(&shop.path("static"), OURS).expect_err("a refusal");
    assert_eq!(error.kind, ErrorKind::NeedsProcesses);
}

#[test]
fn a_program_without_our_library_is_no_mpi_program() {
    let shop = Workshop::new("not ours");
    shop.write("other.c", "int main(void) { return 0; }");
    shop.compile("gcc", &["other.c", "-o", "other"]);
    let text = processes(&shop.path("other"), &[ReasonKind::NotOurProgram]);
    assert!(text.contains("not an MPI program"), "{text}");
    // It needs the library through one of its own: that is one.
    shop.library("libuses.so", "int uses(void) { return weft_rank(); }", &["-L.", "-l:libmpi_abi.so.1"]);
    shop.write("through.c", "int uses(void); int main(void) { return uses(); }");
    shop.compile(
        "gcc",
        &["through.c", "-L.", "-l:libuses.so", "-Wl,-rpath,$ORIGIN", "-Wl,-rpath-link,.", "-o", "through"],
    );
    threads(&shop.path("through"));
}

#[test]
fn a_program_of_another_implementation_is_named_as_such() {
    let shop = Workshop::new("other library");
    shop.library("libmpi.so.40", "int other_init(void) { return 0; }", &[]);
    shop.write("foreign.c", "int other_init(void); int main(void) { return other_init(); }");
    shop.compile("gcc", &["foreign.c", "-L.", "-l:libmpi.so.40", "-Wl,-rpath,$ORIGIN", "-o", "foreign"]);
    let text = processes(&shop.path("foreign"), &[ReasonKind::OtherLibrary]);
    assert!(text.contains("libmpi.so.40"), "{text}");
}

#[test]
fn calls_for_a_process_of_its_own_are_found_also_in_libraries() {
    let shop = Workshop::new("process calls");
    let source = "#include <unistd.h>\nint main(void) { return fork() + setuid(0) + weft_rank(); }";
    let path = shop.program("forks", source, &[]);
    let text = processes(&path, &[ReasonKind::ProcessCall, ReasonKind::ProcessCall]);
    assert!(text.contains("fork") && text.contains("setuid"), "{text}");
    // Whoever insists may have it loaded.
    Program::prepare(&path, OURS).expect("a loadable program");
    shop.library("libchroot.so", "int chroot(const char *); int jail(void) { return chroot(\"/\"); }", &[]);
    let path = shop.program(
        "jails",
        "int jail(void); int main(void) { return jail() + weft_rank(); }",
        &["-L.", "-l:libchroot.so"],
    );
    let text = processes(&path, &[ReasonKind::ProcessCall]);
    assert!(text.contains("libchroot.so"), "{text}");
}

#[test]
fn calls_that_act_on_all_ranks_are_reasons_a_line_for_each_effect() {
    let shop = Workshop::new("shared calls");
    let source = "#include <unistd.h>\n#include <signal.h>\n#include <sys/stat.h>
        int main(void) { signal(SIGUSR1, SIG_IGN); umask(0); return chdir(\"/\") + fchdir(0) + weft_rank(); }";
    let path = shop.program("shared", source, &[]);
    let text = processes(&path, &[ReasonKind::ProcessCall; 3]);
    assert!(text.contains("uses chdir, fchdir (changes the working directory of all ranks)"), "{text}");
    assert!(text.contains("uses umask (") && text.contains("uses signal ("), "{text}");
}

#[test]
fn a_function_of_the_programs_own_is_not_libcs() {
    let shop = Workshop::new("own functions");
    let source =
        "int chdir(const char *p) { return !p; } int main(void) { return chdir(\"/\") + weft_rank(); }";
    threads(&shop.program("own", source, &["-fno-builtin"]));
    // Nor is one that a library of the program's brings.
    shop.library("libours.so", "int umask(int m) { return m; }", &["-fno-builtin"]);
    let source = "int umask(int); int main(void) { return umask(0) + weft_rank(); }";
    threads(&shop.program("theirs", source, &["-L.", "-l:libours.so", "-fno-builtin"]));
}

#[test]
fn a_known_library_may_use_what_others_may_not() {
    let shop = Workshop::new("exceptions");
    let library = "int chdir(const char *); int _gfortran_chdir_i4(void) { return chdir(\"/\"); }
        int _gfortran_other(void) { return 0; }";
    shop.library("libgfortran.so.5", library, &[]);
    let program = |name, function: &str| {
        let source = format!("int {function}(void); int main(void) {{ return {function}() + weft_rank(); }}");
        shop.program(name, &source, &["-L.", "-l:libgfortran.so.5"])
    };
    threads(&program("other", "_gfortran_other"));
    let text = processes(&program("changes", "_gfortran_chdir_i4"), &[ReasonKind::ProcessCall]);
    assert!(text.contains("changes: uses _gfortran_chdir_i4 ("), "{text}");
}

#[test]
fn what_a_static_cxx_library_has_but_nobody_calls_is_no_reason() {
    let shop = Workshop::new("static runtime");
    let mut flags = vec!["-std=c++17"];
    flags.extend(weft_loader::link::CXX_LINK);
    let cxx = |name, source: &str| shop.program_shared("g++", name, source, &flags);
    let prelude = "#include <iostream>\n#include <filesystem>\nint main() { std::cout << weft_rank();";
    let path = cxx("plain", &format!("{prelude} return !std::filesystem::exists(\"/\"); }}"));
    let verdict = examine(&path, OURS);
    let Verdict::Threads { notes } = &verdict else { panic!("{verdict:?}") };
    assert!(notes.is_empty(), "{notes:?}");
    let path = cxx("moves", &format!("{prelude} std::filesystem::current_path(\"/\"); }}"));
    assert!(processes(&path, &[ReasonKind::ProcessCall]).contains("uses chdir"));
}

#[test]
fn a_heap_of_its_own_is_a_reason() {
    let shop = Workshop::new("heap");
    let source = "#include <stddef.h>\n#include <stdlib.h>\nstatic char pool[9999]; static size_t used;
        void *malloc(size_t n) { used += (n + 15) & ~15ul; return pool + used - ((n + 15) & ~15ul); }
        void free(void *p) { (void)p; }
        int main(void) { char *volatile p = malloc(9); free(p); return weft_rank(); }";
    processes(&shop.program("heap", source, &["-fno-builtin"]), &[ReasonKind::OwnAllocator]);
}

#[test]
fn a_replaced_operator_new_is_a_reason() {
    let shop = Workshop::new("operator new");
    let source = "#include <cstdlib>\n#include <new>\n#include <stdexcept>
        void *operator new(size_t n) { return std::malloc(n); }
        int main() { try { throw std::runtime_error(\"new\"); } catch (std::exception &) { return *new int(weft_rank()); } }";
    let text = processes(&shop.program_cxx("new", source, &["-rdynamic"]), &[ReasonKind::OwnAllocator]);
    assert!(text.contains("_Znwm"), "{text}");
    // With a C++ library of its own the program's operator is the one that is used.
    let mut flags = vec!["-rdynamic"];
    flags.extend(weft_loader::link::CXX_LINK);
    threads(&shop.program_shared("g++", "own", source, &flags));
}

#[test]
fn streams_of_the_shared_library_are_a_reason() {
    let shop = Workshop::new("streams");
    let source = "#include <iostream>\nint main() { std::cout << weft_rank(); }";
    let text = processes(&shop.program_cxx("shared", source, &[]), &[ReasonKind::ProcessCall]);
    assert!(text.contains("uses std::cout ("), "{text}");
    threads(&shop.program_shared("g++", "own", source, weft_loader::link::CXX_LINK));
}

#[test]
fn relocations_in_code_are_refused() {
    let shop = Workshop::new("text relocations");
    shop.write("code.s", ".text\n.globl place\nplace: .quad outside\n.data\n.globl outside\noutside: .quad 1\n.section .note.GNU-stack,\"\",%progbits\n");
    shop.compile("gcc", &["-c", "code.s", "-o", "code.o"]);
    let source = "extern long place; int main(void) { return place == 0 && weft_rank(); }";
    let path = shop.program("code", source, &["code.o", "-Wl,-z,notext"]);
    processes(&path, &[ReasonKind::TextRelocation]);
}

#[test]
fn private_libraries_are_noted_and_shared_ones_are_not() {
    let shop = Workshop::new("private");
    shop.library("libprivate.so", "int state; int next(void) { return ++state; }", &[]);
    let source = "int next(void); int main(void) { return next() + weft_rank() - 1; }";
    let path = shop.program("uses", source, &["-L.", "-l:libprivate.so", "-lm", "-Wl,--no-as-needed"]);
    let Verdict::Threads { notes } = examine(&path, OURS) else { panic!("no threads") };
    assert!(notes.iter().any(|n| n.object.ends_with("libprivate.so")), "{notes:?}");
    assert_eq!(notes.len(), 1, "{notes:?}");
    let program = Program::prepare(&path, OURS).expect("a loadable program");
    assert_eq!(program.private_libraries().collect::<Vec<_>>(), [shop.path("libprivate.so")]);
}

#[test]
fn the_need_for_an_executable_stack_is_known() {
    let shop = Workshop::new("stack");
    let program = |name, flags: &[&str]| {
        Program::prepare(&shop.program(name, HELLO, flags), OURS)
            .expect("a loadable program")
            .needs_executable_stack()
    };
    assert!(!program("plain", &[]));
    assert!(program("executable", &["-Wl,-z,execstack"]));
}

#[test]
fn a_missing_library_is_named() {
    let shop = Workshop::new("missing");
    shop.library("libgone.so", "int gone(void) { return 0; }", &[]);
    let path = shop.program(
        "lonely",
        "int gone(void); int main(void) { return gone() + weft_rank(); }",
        &["-L.", "-l:libgone.so"],
    );
    std::fs::remove_file(shop.path("libgone.so")).expect("removed");
    refused(&path, ErrorKind::MissingLibrary);
}

#[test]
fn files_that_are_no_programs_are_told_apart() {
    let shop = Workshop::new("no programs");
    let executable = |name: &str, content: &[u8]| {
        let path = shop.write(name, content);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("permissions");
        path
    };
    refused(&shop.path("nothing here"), ErrorKind::Unreadable);
    refused(&shop.folder, ErrorKind::Unreadable);
    refused(&executable("empty", b""), ErrorKind::NotElf);
    refused(&executable("text", b"hello"), ErrorKind::NotElf);
    let script = executable("a script", b"#!/bin/sh\nexit 0\n");
    processes(&script, &[ReasonKind::Script]);
    assert_eq!(Program::prepare(&script, OURS).expect_err("a refusal").kind, ErrorKind::Script);
    refused(&shop.write("plain.txt", "hello"), ErrorKind::NotExecutable);
    let program = shop.program("program", HELLO, &[]);
    let bytes = std::fs::read(&program).expect("the program");
    let changed = |name: &str, at: usize, with: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[at..at + with.len()].copy_from_slice(with);
        executable(name, &bytes)
    };
    refused(&changed("for 32 bits", 4, &[1]), ErrorKind::Not64Bit);
    refused(&changed("for big endian", 5, &[2]), ErrorKind::OtherMachine);
    refused(&changed("for riscv", 18, &[243, 0]), ErrorKind::OtherMachine);
    refused(&changed("a core dump", 16, &[4, 0]), ErrorKind::NotAProgram);
    refused(&changed("entry at nothing", 24, &[0; 8]), ErrorKind::Malformed);
    let name = b"/lib64/ld-linux";
    let at = bytes.windows(name.len()).position(|w| w == name).expect("an interpreter");
    refused(&changed("interpreter", at, b"/lib65"), ErrorKind::NoInterpreter);
    shop.compile("gcc", &["-c", "-fPIC", "program.c", "-o", "object.o"]);
    refused(
        &executable("object", &std::fs::read(shop.path("object.o")).expect("an object")),
        ErrorKind::NotAProgram,
    );
    refused(&shop.path("libmpi_abi.so.1"), ErrorKind::NotAProgram);
}

#[test]
fn truncated_programs_are_refused_at_every_length() {
    let shop = Workshop::new("truncated");
    let program = shop.program("whole", HELLO, &[]);
    let bytes = std::fs::read(&program).expect("the program");
    let needed = {
        let image = weft_loader::image::Image::parse(&bytes).expect("an image");
        image.loads().map(|s| s.offset + s.file_size).max().expect("a segment") as usize
    };
    let path = shop.write("cut", &bytes[..0]);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("permissions");
    for length in (4..needed).step_by(61).chain([needed - 1]) {
        std::fs::write(&path, &bytes[..length]).expect("a written file");
        refused(&path, ErrorKind::Truncated);
    }
    // What follows the segments is for debuggers; the program runs without.
    std::fs::write(&path, &bytes[..needed]).expect("a written file");
    threads(&path);
    let output = shop.host(&[], 2, &path).output().expect("a run");
    assert_eq!(lines_of(&output), ["0", "1"]);
}

#[test]
fn a_library_that_is_older_than_the_program_is_named() {
    let shop = Workshop::new("older");
    shop.write("new", "OLD_1 { global: old; }; NEW_2 { global: fresh; };");
    shop.write("old", "OLD_1 { global: old; };");
    let source = "int old(void) { return 0; } int fresh(void) { return 0; }";
    let library = |versions| {
        let script = format!("-Wl,--version-script,{versions}");
        shop.library("libgfortran.so.77", source, &[&script, "-Wl,-soname,libgfortran.so.77"]);
    };
    library("new");
    let flags = ["-L.", "-l:libgfortran.so.77", "-Wl,-rpath,$ORIGIN"];
    let program = |name, call| {
        shop.program(
            name,
            &format!("int {call}(void); int main(void) {{ return {call}() + weft_rank(); }}"),
            &flags,
        )
    };
    let (old, fresh) = (program("content", "old"), program("demanding", "fresh"));
    threads(&fresh);
    library("old");
    threads(&old);
    let Verdict::NotLoadable(error) = examine(&fresh, OURS) else { panic!("not refused") };
    assert_eq!(error.kind, ErrorKind::MissingVersion);
    let said = error.to_string();
    assert!(
        said.contains("version NEW_2 of libgfortran.so.77 (the runtime library of gfortran), which"),
        "{said}"
    );
    // A library without versions passes, as with the dynamic linker.
    shop.library("libgfortran.so.77", source, &["-Wl,-soname,libgfortran.so.77"]);
    threads(&fresh);
}
