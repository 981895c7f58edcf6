# Builds the examples with Weft's own compiler wrappers. Included by the top Makefile, whose `all` makes the wrappers.
BUILD ?= build
EXAMPLES_CC ?= $(BUILD)/bin/mpicc
EXAMPLES_CXX ?= $(BUILD)/bin/mpicxx
EXAMPLES_FC ?= $(BUILD)/bin/mpifort
EXAMPLES_OUT ?= $(BUILD)/examples
EXAMPLES := $(patsubst examples/%,$(EXAMPLES_OUT)/%,$(basename $(wildcard examples/*.c examples/*.cpp)))

# Those in Fortran where there is a compiler.
ifneq ($(shell command -v gfortran),)
EXAMPLES += $(patsubst examples/%.f90,$(EXAMPLES_OUT)/%,$(wildcard examples/*.f90))
endif

$(EXAMPLES_OUT)/hybrid: EXAMPLES_FLAGS := -fopenmp

$(EXAMPLES_OUT)/%: examples/%.c | $(EXAMPLES_OUT)
	$(EXAMPLES_CC) -O2 -Wall -Wextra $(EXAMPLES_FLAGS) -o $@ $< -lm

$(EXAMPLES_OUT)/%: examples/%.cpp | $(EXAMPLES_OUT)
	$(EXAMPLES_CXX) -O2 -Wall -Wextra $(EXAMPLES_FLAGS) -o $@ $<

$(EXAMPLES_OUT)/%: examples/%.f90 | $(EXAMPLES_OUT)
	$(EXAMPLES_FC) -O2 -Wall -Wextra $(EXAMPLES_FLAGS) -o $@ $<

$(EXAMPLES_OUT):
	mkdir -p $@

.PHONY: examples run-examples
examples: $(EXAMPLES)

# heat on 1000 ranks beside the serial run.
run-examples: examples
	python3 examples/show --build $(BUILD)
