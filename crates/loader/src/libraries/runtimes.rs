//! Libraries that come with compilers, and what to do where one is missing.

/// A compiler's library: what its name begins with, what it is, and where it comes from.
struct Runtime {
    names: &'static [&'static str],
    what: &'static str,
    remedy: Remedy,
}

/// What to do where a library is missing.
enum Remedy {
    /// The library's name with its number is, in lower case, the name of its package in Debian, and the name without it elsewhere.
    Package,
    /// Something else, in words.
    Words(&'static str),
}

const INTEL: &str = "install the runtime of Intel's compilers, or run their setvars.sh before mpirun";
const LLVM: &str = "install the flang with which the program was compiled, and set LD_LIBRARY_PATH to the folder of its libraries";
const NVIDIA: &str =
    "install NVIDIA's compilers or their redistributable libraries, and set LD_LIBRARY_PATH to their folder";

/// What the names of other MPIs' libraries begin with.
const OTHER_MPI: &[&str] = &[
    "libmpi_mpifh.so",
    "libmpi_usempi",
    "libmpi_cxx.so",
    "libmpi.so",
    "libmpich",
    "libmpifort.so",
    "libmpicxx.so",
    "libmpi_ilp64.so",
];

/// Tells whether a library is one of another MPI, by its name.
pub(crate) fn is_of_other_mpi(library: &str) -> bool {
    OTHER_MPI.iter().any(|name| library.starts_with(name))
}

const RUNTIMES: &[Runtime] = &[
    Runtime { names: &["libgfortran.so."], what: "the runtime library of gfortran", remedy: Remedy::Package },
    Runtime { names: &["libquadmath.so."], what: "gfortran's library of REAL(16)", remedy: Remedy::Package },
    Runtime {
        names: &["libgomp.so."],
        what: "the OpenMP library of gcc and gfortran",
        remedy: Remedy::Package,
    },
    Runtime { names: &["libstdc++.so."], what: "the C++ library of g++", remedy: Remedy::Package },
    Runtime { names: &["libatomic.so."], what: "a library of gcc", remedy: Remedy::Package },
    Runtime {
        names: &[
            "libflang_rt",
            "libFortranRuntime.so",
            "libFortranDecimal.so",
            "libflang.so",
            "libflangrti.so",
            "libpgmath.so",
        ],
        what: "a runtime library of flang",
        remedy: Remedy::Words(LLVM),
    },
    Runtime {
        names: &[
            "libifcore",
            "libifport.so",
            "libimf.so",
            "libsvml.so",
            "libirng.so",
            "libintlc.so",
            "libiomp5.so",
        ],
        what: "a runtime library of Intel's compilers",
        remedy: Remedy::Words(INTEL),
    },
    Runtime {
        names: &["libnvf.so", "libnvc.so", "libnvomp.so", "libnvcpumath.so", "libnvhpcatm.so"],
        what: "a runtime library of NVIDIA's compilers",
        remedy: Remedy::Words(NVIDIA),
    },
    Runtime {
        names: &["libmpifort_abi.so"],
        what: "Weft's library for Fortran",
        remedy: Remedy::Words(
            "link the program with mpifort, or set LD_LIBRARY_PATH to the folder of libmpi_abi.so.1",
        ),
    },
    Runtime {
        names: OTHER_MPI,
        what: "a library of another MPI",
        remedy: Remedy::Words(
            "compile and link the program and its libraries with Weft's mpicc, mpicxx or mpifort",
        ),
    },
];

fn find(library: &str) -> Option<&'static Runtime> {
    RUNTIMES.iter().find(|runtime| runtime.names.iter().any(|name| library.starts_with(name)))
}

/// Tells what a library is, if it comes with a compiler.
pub(crate) fn of(library: &str) -> Option<&'static str> {
    find(library).map(|runtime| runtime.what)
}

/// Says that a library is missing, and what to do.
pub(crate) fn missing(library: &str) -> String {
    let Some(runtime) = find(library) else {
        return format!("needs {library}, which was not found; set LD_LIBRARY_PATH or link with -Wl,-rpath");
    };
    let remedy = match runtime.remedy {
        Remedy::Words(words) => words.to_owned(),
        Remedy::Package => {
            let (name, number) = library.split_once(".so.").unwrap_or((library, ""));
            format!(
                "install it (package {name}{number} of Debian and Ubuntu, {name} of other systems), or set LD_LIBRARY_PATH to the \
                 folder where it is"
            )
        }
    };
    format!("needs {library}, which was not found: {}; {remedy}", runtime.what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        let said = missing("libgfortran.so.5");
        assert!(said.contains("the runtime library of gfortran; install it (package libgfortran5"), "{said}");
        assert!(missing("libflang_rt.runtime.so").contains("install the flang"));
        assert!(missing("libmpi_mpifh.so.40").contains("a library of another MPI"));
        assert!(missing("libmpifort_abi.so.1").contains("Weft's library for Fortran"));
        assert!(missing("libother.so.1").contains("set LD_LIBRARY_PATH or link"));
    }
}
