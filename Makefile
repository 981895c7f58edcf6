# Builds Weft into build/{bin,lib,include,share,examples}. See CONTRIBUTING.md.
CARGO ?= cargo
BUILD ?= build
PREFIX ?= /usr/local
TARGET := $(or $(CARGO_TARGET_DIR),target)/release
PACKAGES := -p weft-capi -p weft-fortran -p weft-shim-mpich -p weft-shim-openmpi -p weft-node -p weft-launcher

.PHONY: all binaries run test test-all test-apps bench bench-net docs install wheel clean
all: binaries examples

include mk/examples.mk
$(EXAMPLES): | binaries

# cargo knows what is out of date; `copy` leaves a file alone that has not changed, so that nothing is rebuilt for it.
copy = mkdir -p $(dir $(2)) && { cmp -s $(1) $(2) || install -m $(or $(3),755) $(1) $(2); }

binaries:
	$(CARGO) build --release $(PACKAGES)
	@$(call copy,$(TARGET)/libmpi_abi.so,$(BUILD)/lib/libmpi_abi.so.1)
	@ln -sfn libmpi_abi.so.1 $(BUILD)/lib/libmpi_abi.so
	@$(call copy,$(TARGET)/libmpifort_abi.so,$(BUILD)/lib/libmpifort_abi.so.1)
	@ln -sfn libmpifort_abi.so.1 $(BUILD)/lib/libmpifort_abi.so
	@$(call copy,$(TARGET)/libweft_shim_mpich.so,$(BUILD)/lib/weft/abi/libmpi.so.12)
	@$(call copy,$(TARGET)/libweft_shim_openmpi.so,$(BUILD)/lib/weft/abi/libmpi.so.40)
	@$(MAKE) --no-print-directory $(BUILD)/lib/weft/abi/libmpich.so.12
	@$(call copy,$(TARGET)/weft-node,$(BUILD)/lib/weft/weft-node)
	@$(call copy,$(TARGET)/mpirun,$(BUILD)/bin/mpirun)
	@ln -sfn mpirun $(BUILD)/bin/mpiexec
	@$(call copy,$(TARGET)/weft,$(BUILD)/bin/weft)
	@for name in mpicc mpicxx mpic++ mpifort mpif90 mpif77; do $(call copy,$(TARGET)/weft-wrapper,$(BUILD)/bin/$$name); done
	@for file in thread-sanitizer.supp valgrind.supp; do $(call copy,share/$$file,$(BUILD)/lib/weft/$$file,644); done
	@mkdir -p $(BUILD)/include && for header in include/*.h; do $(call copy,$$header,$(BUILD)/$$header,644); done
	@mkdir -p $(BUILD)/share/weft/examples && for file in examples/*.c examples/*.cpp examples/*.f90; do $(call copy,$$file,$(BUILD)/share/weft/$$file,644); done
	@mkdir -p $(BUILD)/share/weft/fortran && for file in crates/fortran/modules/*.F90; do $(call copy,$$file,$(BUILD)/share/weft/fortran/$$(basename $$file),644); done
	@if command -v gfortran >/dev/null; then $(BUILD)/bin/mpifort -show >/dev/null; fi
	@$(BUILD)/bin/weft write-pages $(BUILD)
	@$(MAKE) --no-print-directory $(BUILD)/lib/weft/weft-tune-kernel

# MPICH's library as Debian names it: nothing but a need of the other name.
$(BUILD)/lib/weft/abi/libmpich.so.12:
	$(CC) -shared -nostdlib -Wl,-soname,libmpich.so.12 -Wl,--no-as-needed -Wl,-rpath,'$$ORIGIN' -o $@ -x c /dev/null -x none $(BUILD)/lib/weft/abi/libmpi.so.12

# What `weft tune` measures with.
$(BUILD)/lib/weft/weft-tune-kernel: crates/launcher/kernels/tune.c
	$(BUILD)/bin/mpicc -O2 -Wall -Wextra -o $@ $<

# What a fresh machine may lack.
TOOLS := gcc g++ python3
TEST_TOOLS := $(TOOLS) git gfortran nm:binutils cmake gdb valgrind munged:munge slurmctld slurmd srun:slurm-client \
	pkg-config groff mandoc zsh fish autoconf aclocal:automake m4 libtoolize:libtool /usr/share/aclocal/ax_mpi.m4:autoconf-archive

run:
	@.ci/setup $(TOOLS)
	@$(MAKE) --no-print-directory all run-examples

test:
	@.ci/setup $(TEST_TOOLS)
	tests/run --build

# The whole of each suite, where `test` runs a part.
test-all:
	@.ci/setup $(TEST_TOOLS) flang-new-19:flang-19
	tests/run --build --all

test-apps:
	@.ci/setup $(TEST_TOOLS)
	@$(MAKE) --no-print-directory all
	tests/apps/run

bench: all
	$(CARGO) run --release --quiet -p weft-bench

# Between hosts made of network namespaces; WEFT_BENCH_PEERS="mpich=BIN impi=BIN" names other MPIs to run beside.
bench-net: all
	bench/net

# The book, into build/docs. What it takes is installed into build/tools.
docs:
	@.ci/setup $(TOOLS)
	docs/make --build $(BUILD)

install: all
	@for file in $$(cd $(BUILD) && find bin lib include share ! -type d); do \
		mkdir -p "$(DESTDIR)$(PREFIX)/$$(dirname $$file)" && \
		cp -P "$(BUILD)/$$file" "$(DESTDIR)$(PREFIX)/$$file" || exit 1; \
	done
	@echo "installed in $(DESTDIR)$(PREFIX)"

# A package for Python, build/wheel/weft_mpi-*.whl. Needs pip, and setuptools from the package index.
wheel: binaries
	WEFT_BUILD="$(abspath $(BUILD))" python3 -m pip wheel --quiet --no-deps --wheel-dir $(BUILD)/wheel ./python

clean:
	$(CARGO) clean
	rm -rf $(BUILD)
