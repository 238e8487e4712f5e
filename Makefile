# Builds logjam in build/, or with SAN=... in build-thread/, build-address/ or build-undefined/.
#
#   make            build/logjam, and compile_commands.json for editors
#   make sim        build-sim/logjam, which runs on a simulated machine (--machine=NAME)
#   make demo       install what is missing, build, compare schemes on this disk (ALL=1: every scheme)
#   make figure ID=P7 [SIZE=full]    run a published result, draw it, check its claim
#   make machine [BUDGET=10m]        measure and simulate this machine (1h, night), write a file for others
#
#   make test       install what is missing, build, run the native program's tests
#                   [SAN=thread|address|undefined] [PARTS="logging cc"] [TEST_ARGS=--gtest_filter=...]
#   make test-sim   the same for the simulated program: its own tests, and searches of all schedules
#   make test-arm   the program for Arm (ARCH=aarch64), under qemu
#   make test-tools the tests of scripts/; installs servers and a browser
#   make test-all   these three, and the native tests under each sanitizer, with all combinations
#   make campaign [HOURS=8]          the tests that take nights; continues where it stopped
#   make explore [ROUNDS=1000] [SEED=1]     explore schedules and crashes of every log scheme
#   make fuzz [TARGET=manifest] [SECONDS=60] [SEED=1]    fuzz the readers of logs, histories, flags and rows
#   make lint | tidy | format        the project's rules and formatting; clang-tidy
#   make deps [JOB=build|test|demo]  install what is missing; with PREFIX=DIR in DIR, without root
#   make clean
#
# CXX=clang++ builds in build-clang/, BUILD=DIR in DIR. WERROR=1 makes warnings errors. CXXFLAGS
# (-O3 -march=native), CPPFLAGS and LDFLAGS are added to the flags that the sources need. Libraries are
# also looked for in PREFIX=DIR (make deps PREFIX=DIR), and by pkg-config if PKG_CONFIG_PATH is set.
# ARCH=aarch64 builds for Arm, on any machine, in build-aarch64/. Its libraries come from
# make deps ARCH=aarch64 PREFIX=build-aarch64/prefix.

.DEFAULT_GOAL := all
SAN ?=
ARCH ?=
ifneq ($(filter-out aarch64,$(ARCH)),)
$(error ARCH is aarch64 or empty, not "$(ARCH)")
endif
CXX := $(if $(ARCH),$(ARCH)-linux-gnu-)g++
CLANG := $(findstring clang,$(notdir $(CXX)))
# `make sim` sets SIM=1, and `make fuzz` sets FUZZ=1.
SIM ?=
FUZZ ?=
BUILD := build$(if $(ARCH),-$(ARCH))$(if $(FUZZ),-fuzz,$(if $(CLANG),-clang)$(if $(SAN),-$(SAN))$(if $(SIM),-sim))
BINARY := $(BUILD)/logjam
ifneq ($(words $(BUILD)),1)
$(error BUILD is a path without spaces, not "$(BUILD)")
endif
ifneq ($(filter-out thread address undefined,$(SAN)),)
$(error SAN is thread, address or undefined, not "$(SAN)")
endif

# ---- Flags

ifneq ($(SIM),)
ifneq ($(ARCH)$(filter-out x86_64,$(shell uname -m)),)
$(error the simulated machine is x86-64: only its instructions are known to sim/ and scripts/block_costs.py)
endif
ifneq ($(CLANG),)
$(error the simulated machine needs g++: only its instrumentation is known to sim/hooks.cc)
endif
# One instruction set on all hosts, so that the same run gives the same row on each host.
CXXFLAGS := -O3 -march=x86-64-v3 -fno-pie
SIM_INCLUDE := -Isim/include
endif
CXXFLAGS ?= -O3 -march=$(if $(ARCH),armv8-a,native)
# Only .ci/run sets WERROR, because a newer compiler has new warnings. g++ 12 has false warnings:
# about overlaps in "literal" + std::string (GCC bug 105651), about uninitialized values in its AVX-512
# intrinsics (105593) and in std::regex (105562), and about copies beyond the end of a std::string.
WERROR ?=
WARNINGS := -Wall -Wextra -Wpedantic $(if $(WERROR),-Werror) $(if $(CLANG),-Wreserved-identifier -Wthread-safety, \
            -Wno-restrict -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds)
# Debian's names of directories, which the packages in PREFIX have on every Linux.
PREFIX ?=
ifneq ($(PREFIX),)
override PREFIX := $(if $(filter /%,$(firstword $(PREFIX))),,$(CURDIR)/)$(PREFIX)
PREFIX_TRIPLE := $(firstword $(subst -, ,$(shell $(CXX) -dumpmachine)))-linux-gnu
PREFIX_INCLUDE := -isystem '$(PREFIX)/usr/include' -isystem '$(PREFIX)/usr/include/$(PREFIX_TRIPLE)'
# An rpath, not a runpath, is also searched for the libraries of libraries.
PREFIX_LIBRARIES := -Wl,--disable-new-dtags $(foreach at,usr/lib lib,\
  -L'$(PREFIX)/$(at)/$(PREFIX_TRIPLE)' -Wl,-rpath,'$(PREFIX)/$(at)/$(PREFIX_TRIPLE)')
ifneq ($(shell test -d '$(PREFIX)/venv' && echo yes),)
export VIRTUAL_ENV := $(PREFIX)/venv
endif
endif
LIBRARIES := libglog gflags liburing numa hwloc tbb libxxhash jemalloc
ifneq ($(PKG_CONFIG_PATH),)
PKG_CONFIG = $(foreach library,$(LIBRARIES),$(shell pkg-config $(1) $(library) 2>/dev/null))
PREFIX_INCLUDE += $(call PKG_CONFIG,--cflags)
PREFIX_LIBRARIES += $(call PKG_CONFIG,--libs-only-L --libs-only-other)
endif
# Garbage collection takes a tenth of g++'s time. A unit needs less than 1 GB, so g++ collects none.
COMPILE = $(CXX) $(SIM_INCLUDE) -I. $(CPPFLAGS) $(PREFIX_INCLUDE) -std=c++20 -g1 $(WARNINGS) -fno-omit-frame-pointer \
          $(if $(CLANG),,--param ggc-min-heapsize=2000000) $(CXXFLAGS)
LDLIBS := -lglog -lgflags -luring -lnuma -lhwloc -ltbb -lxxhash -lpthread
ifneq ($(SIM),)
LDLIBS += -lboost_context
# The linker redirects main(), and these library functions, which access memory, to sim/.
comma := ,
LINK_FLAGS := -no-pie -Wl,--build-id $(foreach call,main memcpy memmove memset memcmp memchr strnlen pow,-Wl$(comma)--wrap=$(call))
else ifneq ($(FUZZ),)
FUZZED ?= -O1 -DLOGJAM_ASSERTS=1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -D__SANITIZE_ADDRESS__ \
  -fsanitize-coverage-ignorelist=tests/fuzz/uncounted.txt
COMPILE += $(FUZZED)
LINK_FLAGS := $(FUZZED) -fsanitize=fuzzer
else ifeq ($(SAN),)
LDLIBS += -ljemalloc
else
# The sources test the macro that g++ defines and clang does not.
COMPILE += -O1 -DLOGJAM_ASSERTS=1 -fsanitize=$(SAN) -fno-sanitize-recover=all \
           $(if $(CLANG),-D__SANITIZE_$(shell echo $(SAN) | tr a-z A-Z)__)
LINK_FLAGS := -fsanitize=$(SAN)
endif
LINK = $(CXX) $(LINK_FLAGS) $(PREFIX_LIBRARIES) $(LDFLAGS) -o $@ $(filter %.o,$^)
ifeq ($(SAN),thread)
# g++ warns that ThreadSanitizer ignores fences. platform/atomic.h's full_fence() models them.
COMPILE += $(if $(CLANG),,-Wno-tsan)
# oneTBB's own code, in its library and in its headers, is not instrumented: platform/tbb_tasks.h.
$(BUILD)/platform/tbb_tasks.o: ADDED := -fno-sanitize=thread
endif

# ---- Sources

# Sources with flags of their own, or with a main() that the tests must not link.
SEPARATE := platform/tbb_tasks.cc cli/revision.cc cli/main.cc
# The disk in memory (proof/disk/) is neither simulated nor explored.
PLATFORM := $(wildcard platform/*.cc proof/disk/*.cc sim/measure/*.cc)
SIMULATION_SOURCES := $(wildcard sim/*.cc sim/machine/*.cc sim/explore/*.cc)
# Only tests link proof/rounds/.
ROOMS := $(filter-out proof/disk/% proof/rounds/%,$(sort $(shell find logging engine cc workloads proof cli -name '*.cc')))
ifneq ($(SIM),)
# The files of platform/ that sim/ replaces.
REPLACED := clock exploration host device_irq memory park persist tbb_tasks thread worker_class
PLATFORM := $(filter-out $(REPLACED:%=platform/%.cc),$(PLATFORM))
SIMULATION := $(SIMULATION_SOURCES)
endif
ifneq ($(FUZZ),)
# In a fuzzer, a fatal error does not end the process, and each row is allocated separately.
PLATFORM := $(filter-out platform/fatal.cc,$(PLATFORM)) tests/fuzz/replaced/fatal.cc
ROOMS := $(filter-out engine/storage/arena.cc,$(ROOMS)) tests/fuzz/replaced/arena.cc
endif
# The sources of the simulation that tests/sim/ tests without the instrumented program.
TESTED_SIMULATION := sim/kernel.cc sim/region.cc sim/symbols.cc \
  $(addprefix sim/machine/,caches.cc charge.cc machine.cc profile.cc scheduler.cc) \
  $(addprefix sim/explore/,data_races.cc explored_heap.cc explorer.cc explorer_findings.cc \
    explorer_turns.cc order.cc search.cc)

# scripts/batches.py joins the sources into units, unless JOIN is empty. The sources that execute
# transactions (HOT) are compiled alone: g++ inlines less in a large unit, which costs up to 6 %.
JOIN ?= 1
HOT := $(filter $(ROOMS),$(wildcard cc/*.cc engine/storage/*.cc) engine/run/worker.cc)
joined = $(if $(JOIN),$(shell scripts/batches.py $(BUILD)/units/$(1) $(2)),$(filter-out --tests,$(2)))
# A unit's source is already in $(BUILD), so its object's path must not get $(BUILD) twice.
objects = $(patsubst $(BUILD)/$(BUILD)/%,$(BUILD)/%,$(patsubst %.cc,$(BUILD)/%.o,$(1)))

SEPARATE_OBJECTS := $(call objects,$(filter $(SEPARATE),$(PLATFORM) $(ROOMS)))
MAIN := $(BUILD)/cli/main.o
ifeq ($(SIM),)
OBJECTS := $(call objects,$(HOT) $(call joined,program,$(filter-out $(SEPARATE) $(HOT),$(ROOMS) $(PLATFORM))))
else
# The instrumented objects come first, because the linker keeps an inline function's first copy.
INSTRUMENTED := $(call objects,$(HOT) $(call joined,program,$(filter-out $(SEPARATE) $(HOT),$(ROOMS))))
OBJECTS := $(INSTRUMENTED) $(call objects,$(call joined,platform,$(filter-out $(SEPARATE),$(PLATFORM))) $(SIMULATION))
endif
OBJECTS += $(filter-out $(MAIN),$(SEPARATE_OBJECTS))

# One binary has the tests of all NATIVE_PARTS (folders of tests/), or of PARTS="logging cc". Separate
# binaries have tests/sim/, which tests the simulation's classes, and tests/explored/, which is compiled
# like the simulated program and explores its classes.
PARTS ?=
binary = $(BUILD)/$(if $(SIM),,tests/)$(1)
tests_of = $(filter %_test.cc,$(sort $(foreach part,$(1),$(wildcard tests/$(part)/*.cc))))
# The tests' helpers. All tests get those of tests/workloads/, because they load its small scales.
support_of = $(wildcard tests/*.cc proof/rounds/*.cc) $(filter-out %_test.cc,$(sort $(foreach part,$(1) workloads,$(wildcard tests/$(part)/*.cc))))
test_objects = $(call objects,$(call joined,$(2),--tests $(call tests_of,$(1))) $(call support_of,$(1)))
ifneq ($(SIM),)
TEST_BINARY := $(BUILD)/explored
TEST_OBJECTS := $(call objects,$(call joined,tests,--tests $(call tests_of,explored)) tests/main.cc)
INSTRUMENTED += $(TEST_OBJECTS)
else
NATIVE_PARTS := cc cli engine fuzz logging platform proof workloads
TEST_BINARY := $(BUILD)/tests/$(if $(PARTS),only-$(subst $() ,-,$(strip $(PARTS))),all)
TEST_OBJECTS := $(call test_objects,$(or $(PARTS),$(NATIVE_PARTS)),$(notdir $(TEST_BINARY)))
$(BUILD)/tests/simulation: $(call test_objects,sim,sim) $(call objects,$(TESTED_SIMULATION))
$(BUILD)/tests/simulation: LDLIBS += -lboost_context
endif

# Tests are compiled more often than run, hence -O0. In the simulated build they have its flags.
$(BUILD)/tests/%.o $(BUILD)/proof/rounds/%.o $(BUILD)/units/$(notdir $(TEST_BINARY))/%.o $(BUILD)/units/sim/%.o: ADDED := $(if $(SIM)$(FUZZ),,-O0) $(if $(CLANG),-Wno-thread-safety)
ifneq ($(SIM),)
# The compiler calls sim/hooks.cc at each access, atomic operation and basic block. Headers that test
# for ThreadSanitizer must not find it.
$(INSTRUMENTED) $(MAIN) $(BUILD)/cli/revision.o: ADDED := -fsanitize=thread -Wno-tsan \
  -fsanitize-coverage=trace-pc --param tsan-instrument-func-entry-exit=0 -U__SANITIZE_THREAD__
# A loop of the simulation must not become a call of memmove(), which the simulation would charge.
# Hooks without calls, or with only a tail call, need no frame.
$(call objects,$(SIMULATION)): ADDED := -fno-tree-loop-distribute-patterns
$(BUILD)/sim/hooks.o $(BUILD)/sim/machine/charge.o: ADDED += -momit-leaf-frame-pointer
endif

# ---- Rules

.PHONY: all sim deps demo figure machine test test-sim test-arm test-tools test-all campaign explore fuzz format lint tidy clean
# A tree that may only be read has no file for editors.
all: $(BINARY) $(if $(shell test -w . && echo yes),compile_commands.json)

$(BINARY): $(OBJECTS) $(MAIN)
	$(LINK) $(LDLIBS)

$(TEST_BINARY): $(TEST_OBJECTS)
$(TEST_BINARY) $(BUILD)/tests/simulation: $(OBJECTS)
	$(LINK) -lgtest $(LDLIBS)

# One program has all fuzz targets. The environment variable LOGJAM_FUZZ names the target to run.
build-fuzz/fuzz: $(OBJECTS) $(call objects,$(filter-out %_test.cc,$(wildcard tests/fuzz/*.cc)) tests/fuzz/replaced/driver.cc)
	$(LINK) -lgtest $(LDLIBS)

# Runs a program for another processor. Its C library is the cross compiler's.
$(BUILD)/%.qemu: $(BUILD)/%
	@printf '#!/bin/sh\nexport QEMU_LD_PREFIX=$${QEMU_LD_PREFIX:-%s}\nexec qemu-$(ARCH) "%s" "$$@"\n' \
	  '$(abspath $(dir $(shell $(CXX) -print-file-name=libc.so.6))..)' '$(abspath $<)' > $@
	@chmod +x $@

$(BUILD)/%.blocks: $(BUILD)/% scripts/block_costs.py
	scripts/block_costs.py $< $@

# If the flags change, all objects are compiled again, so that no program mixes two sets of flags.
$(shell mkdir -p $(BUILD))
ifneq ($(file <$(BUILD)/flags),$(COMPILE))
$(file >$(BUILD)/flags,$(COMPILE))
endif

$(BUILD)/%.o: %.cc $(BUILD)/flags
	@mkdir -p $(@D)
	$(COMPILE) $(ADDED) -MMD -MP -c -o $@ $<

$(BUILD)/units/%.o: $(BUILD)/units/%.cc $(BUILD)/flags
	$(COMPILE) $(ADDED) -MMD -MP -c -o $@ $<

# The version has its only place in CITATION.cff. `git archive` writes the commit into that file, so
# an archive knows its revision. Its end says that no git could tell whether the files have changed.
VERSION := $(shell sed -n 's/^version: //p' CITATION.cff)
ARCHIVED := $(shell sed -nE 's/^commit: "([0-9a-f]{12}).*/\1-archive/p' CITATION.cff)

# The revision in a CSV row. Its object is compiled again only if the revision changes. Changed rows,
# texts and figures do not make the revision dirty, because they do not change the program.
REVISION := $(or $(ARCHIVED),$(shell git describe --always --abbrev=12 2>/dev/null || echo unknown)$(shell \
  git status --porcelain -uno -- . ':!results' ':!docs' ':!config/figures' 2>/dev/null | grep -q . && \
  echo -dirty))
REVISION_FLAGS := -DLOGJAM_REVISION='"$(REVISION)"' -DLOGJAM_VERSION='"$(VERSION)"'
$(shell echo '$(VERSION) $(REVISION)' | cmp -s - $(BUILD)/revision || echo '$(VERSION) $(REVISION)' > $(BUILD)/revision)
$(BUILD)/cli/revision.o: ADDED += $(REVISION_FLAGS)
$(BUILD)/cli/revision.o: $(BUILD)/revision

compile_commands.json $(BUILD)/compile_commands.json: $(BUILD)/flags scripts/compile_commands.py
	@scripts/compile_commands.py $@ $(COMPILE) $(REVISION_FLAGS)

MAKE_QUIET := $(MAKE) --no-print-directory
MAKE_ALL := $(MAKE_QUIET) -j$(shell nproc)

# A cross compiler finds the headers of this machine's libraries, too: only those in PREFIX count.
DEPS := PREFIX='$(PREFIX)' COMPILE="$(CXX) $(if $(ARCH),-nostdinc -I.) $(CPPFLAGS) $(PREFIX_INCLUDE)" scripts/install_deps.sh

sim:
	@$(DEPS) sim
	@$(MAKE_ALL) SIM=1 build-sim/logjam.blocks

JOB ?= build
deps:
	$(if $(ARCH),$(if $(PREFIX),,$(error libraries for $(ARCH) go into a PREFIX: make deps ARCH=$(ARCH) PREFIX=build-$(ARCH)/prefix)))@$(DEPS) $(JOB)

# Each target first installs its dependencies, then starts a fresh make. So it works on a new machine.
RUN_TESTS = LOGJAM="$(if $(filter /%,$(BINARY)),,$(CURDIR)/)$(BINARY)" scripts/run_tests.py
test:
	@$(DEPS) test
	@$(MAKE_ALL) $(if $(filter cli proof,$(or $(PARTS),proof)),$(BINARY)) $(TEST_BINARY)
	@$(RUN_TESTS) $(TEST_BINARY) "$(SAN)" $(TEST_ARGS)

test-sim:
	@$(DEPS) sim
	@$(MAKE_ALL) $(BINARY) $(BUILD)/tests/simulation simulated-tests
	@$(RUN_TESTS) tests/simulated/main.py:build-sim/explored:$(BUILD)/tests/simulation "" $(TEST_ARGS)

# The simulated and the native build run at once: while one links, the other uses the cores.
.PHONY: simulated-tests
simulated-tests:
	+@$(MAKE_QUIET) SIM=1 build-sim/logjam.blocks build-sim/explored.blocks

# The native program lists the schemes, and exchanges logs with the program for Arm. Files of the hot
# path are joined with the others, because nobody measures under qemu. Of the unit tests only those run
# that depend on the processor and take seconds under qemu; GTEST_FILTER='*' runs all.
ARM := ARCH=aarch64 PREFIX=build-aarch64/prefix PARTS="platform cc"
ARM_TESTS := CacheLines.*:Clock.*:ProcessorName.*:MirroredMemory.*:AtomicMax.*:EventCount.*:RowLockTest.*:WaitsForTest.*:StoreRow.*:All/RowVectorsTest.*:Protocols/ReadStampsTest.*
test-arm: export GTEST_FILTER ?= $(ARM_TESTS)
test-arm:
	@scripts/install_deps.sh arm
	@$(MAKE_QUIET) $(ARM) JOB=test deps
	@$(MAKE_ALL) $(BINARY)
	@CXXFLAGS="-O0 -g0" $(MAKE_ALL) $(ARM) HOT= build-aarch64/logjam.qemu build-aarch64/tests/only-platform-cc.qemu
	@$(RUN_TESTS) build-aarch64/tests/only-platform-cc.qemu:tests/arm/main.py "" $(TEST_ARGS)

test-tools:
	@$(DEPS) tools
	@$(MAKE_ALL) $(BINARY)
	@$(RUN_TESTS) tests/scripts/main.py "" $(TEST_ARGS)

# Crash rounds kill and recover the release build's program, so the sanitizers omit proof/.
test-all: export LOGJAM_TEST_ALL := 1
test-all:
	@$(MAKE_QUIET) test
	@$(MAKE_QUIET) test-sim
	@$(MAKE_QUIET) test-tools
	@for sanitizer in thread address undefined; do \
	  $(MAKE_QUIET) test SAN=$$sanitizer PARTS="cc cli engine logging workloads" || exit 1; \
	done

HOURS ?= 8
campaign:
	@scripts/campaign.py --hours=$(HOURS)

SEED ?= 1
ROUNDS ?= 1000
explore: sim
	@proof/explore.py --rounds=$(ROUNDS) --seed=$(SEED)

TARGET ?=
SECONDS ?= 60
fuzz:
	@$(DEPS) fuzz
	@$(MAKE_ALL) FUZZ=1 CXX=clang++ build-fuzz/fuzz
	@scripts/fuzz.py --seconds=$(SECONDS) --seed=$(SEED) $(TARGET)

demo:
	@$(DEPS) demo
	@$(MAKE_ALL) $(BINARY)
	@scripts/demo.py --logjam $(BINARY) --out $(BUILD)/demo $(if $(ALL),--all)

SIZE ?= quick
figure:
	@$(DEPS) demo
	@$(MAKE_ALL) $(BINARY)
	@scripts/figures.py run $(ID) --$(SIZE) --plot --logjam=$(BINARY)

# Without a simulator the machine is only measured, and the file says so.
BUDGET ?= 10m
machine:
	@$(DEPS) demo
	@$(MAKE_ALL) $(BINARY)
	-@$(MAKE_QUIET) sim
	@scripts/machine.py --logjam=$(BINARY) --budget=$(BUDGET)

# Also lists new files, which git does not know yet. Without git, lists all files.
SOURCES = { git ls-files -coz --exclude-standard '*.cc' '*.h' 2>/dev/null || \
  find . -path './build*' -prune -o -name '*.cc' -print0 -o -name '*.h' -print0; }

format:
	$(SOURCES) | xargs -0 -r clang-format -i

lint:
	@$(DEPS) developer
	@tests/scripts/lint_test.py
	@scripts/lint.py
	$(SOURCES) | xargs -0 -r clang-format --dry-run -Werror

# SINCE=REVISION checks only changed sources. For one file: clang-tidy -p build-clang cli/run.cc.
tidy:
	@$(MAKE_QUIET) CXX=clang++ build-clang/compile_commands.json
	SIMULATED="$(filter-out $(TESTED_SIMULATION),$(SIMULATION_SOURCES) $(wildcard tests/sim/*.cc tests/explored/*.cc))" scripts/tidy.py $(SINCE)

clean:
	rm -rf build build-*

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
