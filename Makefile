# logjam's build. Objects, dependency files and the binaries live under build/ (build-thread/,
# build-address/, build-undefined/ for SAN=...).
#
#   make            build/logjam, and compile_commands.json for editors
#   make sim        build-sim/logjam, the same on a simulated machine (--machine=NAME)
#   make demo       install what is missing, build, compare schemes on this disk (ALL=1: every scheme)
#   make figure ID=P7 [SIZE=full]    run a published result, draw it, check its claim
#
#   make test       install what is missing, build, run the native program's tests
#                   [SAN=thread|address|undefined] [PARTS="logging cc"] [TEST_ARGS=--gtest_filter=...]
#   make test-sim   the same for the simulated program: its own tests, searches of all schedules
#   make test-tools the tests of scripts/; installs servers and a browser
#   make test-all   all three and the native tests under each sanitizer, with every combination
#   make campaign [HOURS=8]          what takes nights; it goes on where it stopped
#   make explore [ROUNDS=1000] [SEED=1]     explore schedules and crashes of every log scheme
#   make fuzz [TARGET=manifest] [SECONDS=60] [SEED=1]    fuzz what reads logs, histories, flags and rows
#   make lint | tidy | format        the project's rules and formatting; clang-tidy
#   make deps | clean
#
# CXX=clang++ builds in build-clang/. WERROR=1 makes warnings errors. CXXFLAGS (-O3 -march=native),
# CPPFLAGS and LDFLAGS are added to what the sources need.

.DEFAULT_GOAL := all
SAN ?=
CXX := g++
CLANG := $(findstring clang,$(notdir $(CXX)))
# SIM=1 is the simulated machine's build, which `make sim` asks for; FUZZ=1 that of `make fuzz`.
SIM ?=
FUZZ ?=
BUILD := build$(if $(FUZZ),-fuzz,$(if $(CLANG),-clang)$(if $(SAN),-$(SAN))$(if $(SIM),-sim))
BINARY := $(BUILD)/logjam
ifneq ($(filter-out thread address undefined,$(SAN)),)
$(error SAN is thread, address or undefined, not "$(SAN)")
endif

# ---- Flags

ifneq ($(SIM),)
ifneq ($(CLANG),)
$(error the simulated machine needs g++: only its instrumentation is known to sim/hooks.cc)
endif
# The same instructions on every host, so that the same flags give the same rows.
CXXFLAGS := -O3 -march=x86-64-v3 -fno-pie
SIM_INCLUDE := -Isim/include
endif
CXXFLAGS ?= -O3 -march=native
# Warnings are errors where WERROR is set, as in .ci/run: a newer compiler has new warnings. g++ 12
# sees an overlap in "literal" + std::string where there is none (GCC bug 105651), and uninitialized
# values in its own AVX-512 intrinsics (105593) and, with sanitizers, in std::regex (105562); copies
# beyond the end of a std::string, where there are none.
WERROR ?=
WARNINGS := -Wall -Wextra -Wpedantic $(if $(WERROR),-Werror) $(if $(CLANG),-Wreserved-identifier -Wthread-safety, \
            -Wno-restrict -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds)
# g++ collects no garbage below 2 GB: looking for it takes a tenth of a unit's time, and a unit needs
# less than 1 GB.
COMPILE = $(CXX) $(SIM_INCLUDE) -I. $(CPPFLAGS) -std=c++20 -g1 $(WARNINGS) -fno-omit-frame-pointer \
          $(if $(CLANG),,--param ggc-min-heapsize=2000000) $(CXXFLAGS)
LDLIBS := -lglog -lgflags -luring -lnuma -lhwloc -ltbb -lxxhash -lpthread
ifneq ($(SIM),)
LDLIBS += -lboost_context
# Library calls that touch the program's memory, and main(), go to sim/ first.
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
# The sources look for g++'s macro.
COMPILE += -O1 -DLOGJAM_ASSERTS=1 -fsanitize=$(SAN) -fno-sanitize-recover=all \
           $(if $(CLANG),-D__SANITIZE_$(shell echo $(SAN) | tr a-z A-Z)__)
LINK_FLAGS := -fsanitize=$(SAN)
endif
LINK = $(CXX) $(LINK_FLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^)
ifeq ($(SAN),thread)
# Stand-alone fences are modelled by platform/atomic.h's full_fence() in this build.
COMPILE += $(if $(CLANG),,-Wno-tsan)
# oneTBB's own code, in its library and in its headers, is not instrumented: platform/tbb_tasks.h.
$(BUILD)/platform/tbb_tasks.o: ADDED := -fno-sanitize=thread
endif

# ---- Sources

# These have flags of their own, or a main() that the tests lack.
SEPARATE := platform/tbb_tasks.cc cli/revision.cc cli/main.cc
# The disk in memory is no part of what is simulated or explored.
PLATFORM := $(wildcard platform/*.cc proof/disk/*.cc sim/measure/*.cc)
SIMULATION_SOURCES := $(wildcard sim/*.cc sim/machine/*.cc sim/explore/*.cc)
# Only tests play the rounds of proof/rounds.
ROOMS := $(filter-out proof/disk/% proof/rounds/%,$(sort $(shell find logging engine cc workloads proof cli -name '*.cc')))
ifneq ($(SIM),)
# What the simulated machine has itself. The rest of platform/ is the same.
REPLACED := clock exploration host device_irq memory park persist tbb_tasks thread worker_class
PLATFORM := $(filter-out $(REPLACED:%=platform/%.cc),$(PLATFORM))
SIMULATION := $(SIMULATION_SOURCES)
endif
ifneq ($(FUZZ),)
# A fuzzer goes on after a sentence that ends the process, and each row has memory of its own.
PLATFORM := $(filter-out platform/fatal.cc,$(PLATFORM)) tests/fuzz/replaced/fatal.cc
ROOMS := $(filter-out engine/storage/arena.cc,$(ROOMS)) tests/fuzz/replaced/arena.cc
endif
# What of the simulation is tested alone, without the instrumented program.
TESTED_SIMULATION := sim/kernel.cc sim/region.cc sim/symbols.cc \
  $(addprefix sim/machine/,caches.cc charge.cc machine.cc profile.cc scheduler.cc) \
  $(addprefix sim/explore/,data_races.cc explored_heap.cc explorer.cc explorer_findings.cc \
    explorer_turns.cc order.cc search.cc)

# Sources are compiled joined: scripts/batches.py. JOIN= compiles each alone. So are those that each
# transaction runs through: g++ inlines less in a large unit, which costs a transaction up to 6 %.
JOIN ?= 1
HOT := $(filter $(ROOMS),$(wildcard cc/*.cc engine/storage/*.cc) engine/run/worker.cc)
joined = $(if $(JOIN),$(shell scripts/batches.py $(BUILD)/units/$(1) $(2)),$(filter-out --tests,$(2)))
# A unit lies in the build's folder, as its object does.
objects = $(patsubst $(BUILD)/$(BUILD)/%,$(BUILD)/%,$(patsubst %.cc,$(BUILD)/%.o,$(1)))

SEPARATE_OBJECTS := $(call objects,$(filter $(SEPARATE),$(PLATFORM) $(ROOMS)))
MAIN := $(BUILD)/cli/main.o
ifeq ($(SIM),)
OBJECTS := $(call objects,$(HOT) $(call joined,program,$(filter-out $(SEPARATE) $(HOT),$(ROOMS) $(PLATFORM))))
else
# The instrumented rooms come first: of an inline function the linker takes the first copy.
INSTRUMENTED := $(call objects,$(HOT) $(call joined,program,$(filter-out $(SEPARATE) $(HOT),$(ROOMS))))
OBJECTS := $(INSTRUMENTED) $(call objects,$(call joined,platform,$(filter-out $(SEPARATE),$(PLATFORM))) $(SIMULATION))
endif
OBJECTS += $(filter-out $(MAIN),$(SEPARATE_OBJECTS))

# The folders of tests/ whose tests one binary has: with PARTS="logging cc" those. Others have a binary
# of their own: tests/sim looks at the simulation's classes; tests/explored is compiled as the simulated
# program is, whose classes it explores.
PARTS ?=
binary = $(BUILD)/$(if $(SIM),,tests/)$(1)
tests_of = $(filter %_test.cc,$(sort $(foreach part,$(1),$(wildcard tests/$(part)/*.cc))))
# Helpers of any test: of tests/workloads too, whose small scales others load.
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

# Tests are compiled more often than they are run. Those of the simulated build have the program's
# flags.
$(BUILD)/tests/%.o $(BUILD)/proof/rounds/%.o $(BUILD)/units/$(notdir $(TEST_BINARY))/%.o $(BUILD)/units/sim/%.o: ADDED := $(if $(SIM)$(FUZZ),,-O0) $(if $(CLANG),-Wno-thread-safety)
ifneq ($(SIM),)
# The compiler's calls at each access, atomic and basic block land in sim/hooks.cc. Headers that look
# whether ThreadSanitizer is there must not find it.
$(INSTRUMENTED) $(MAIN) $(BUILD)/cli/revision.o: ADDED := -fsanitize=thread -Wno-tsan \
  -fsanitize-coverage=trace-pc --param tsan-instrument-func-entry-exit=0 -U__SANITIZE_THREAD__
# The simulation's own loops must not become calls of memmove(), which it charges for. The hooks that
# call nothing, or jump to what they call, need no frame.
$(call objects,$(SIMULATION)): ADDED := -fno-tree-loop-distribute-patterns
$(BUILD)/sim/hooks.o $(BUILD)/sim/machine/charge.o: ADDED += -momit-leaf-frame-pointer
endif

# ---- Rules

.PHONY: all sim deps demo figure test test-sim test-tools test-all campaign explore fuzz format lint tidy clean
all: $(BINARY) compile_commands.json

$(BINARY): $(OBJECTS) $(MAIN)
	$(LINK) $(LDLIBS)

# The command line's own logic is tested too; its main() is not linked into the tests.
$(TEST_BINARY): $(TEST_OBJECTS)
$(TEST_BINARY) $(BUILD)/tests/simulation: $(OBJECTS)
	$(LINK) -lgtest $(LDLIBS)

# The fuzzers' targets are in one program, and LOGJAM_FUZZ names the one that runs.
build-fuzz/fuzz: $(OBJECTS) $(call objects,$(filter-out %_test.cc,$(wildcard tests/fuzz/*.cc)) tests/fuzz/replaced/driver.cc)
	$(LINK) -lgtest $(LDLIBS)

# How many instructions each basic block has without its instrumentation.
$(BUILD)/%.blocks: $(BUILD)/% scripts/block_costs.py
	scripts/block_costs.py $< $@

# Objects of other flags are made anew, so that no program is linked of two kinds.
$(shell mkdir -p $(BUILD); echo '$(COMPILE)' | cmp -s - $(BUILD)/flags || echo '$(COMPILE)' > $(BUILD)/flags)

$(BUILD)/%.o: %.cc $(BUILD)/flags
	@mkdir -p $(@D)
	$(COMPILE) $(ADDED) -MMD -MP -c -o $@ $<

$(BUILD)/units/%.o: $(BUILD)/units/%.cc $(BUILD)/flags
	$(COMPILE) $(ADDED) -MMD -MP -c -o $@ $<

# The revision a CSV row names; rewritten, and its object rebuilt, only when it changes.
# New rows, texts and figures do not make another program.
REVISION := $(shell git describe --always --abbrev=12 2>/dev/null || echo unknown)$(shell \
  git status --porcelain -uno -- . ':!results' ':!docs' ':!config/figures' 2>/dev/null | grep -q . && \
  echo -dirty)
$(shell echo '$(REVISION)' | cmp -s - $(BUILD)/revision || echo '$(REVISION)' > $(BUILD)/revision)
$(BUILD)/cli/revision.o: ADDED += -DLOGJAM_REVISION='"$(REVISION)"'
$(BUILD)/cli/revision.o: $(BUILD)/revision

# For editors, and for clang-tidy in build-clang/: each source alone.
compile_commands.json $(BUILD)/compile_commands.json: $(BUILD)/flags scripts/compile_commands.py
	@scripts/compile_commands.py $@ $(COMPILE) -DLOGJAM_REVISION='"$(REVISION)"'

MAKE_QUIET := $(MAKE) --no-print-directory
MAKE_ALL := $(MAKE_QUIET) -j$(shell nproc)

# The simulated machine: build-sim/logjam, from the same sources.
sim:
	@scripts/install_deps.sh sim
	@$(MAKE_ALL) SIM=1 build-sim/logjam.blocks

deps:
	@scripts/install_deps.sh build

# Dependencies first, then a fresh make, so that each command works alone on a new machine. Some tests
# start the program itself.
RUN_TESTS = LOGJAM=$(CURDIR)/$(BINARY) scripts/run_tests.py
test:
	@scripts/install_deps.sh test
	@$(MAKE_ALL) $(if $(filter cli proof,$(or $(PARTS),proof)),$(BINARY)) $(TEST_BINARY)
	@$(RUN_TESTS) $(TEST_BINARY) "$(SAN)" $(TEST_ARGS)

test-sim:
	@scripts/install_deps.sh sim
	@$(MAKE_ALL) $(BINARY) $(BUILD)/tests/simulation simulated-tests
	@$(RUN_TESTS) tests/simulated/main.py:build-sim/explored:$(BUILD)/tests/simulation "" $(TEST_ARGS)

# The simulated build shares the cores with the native one: where one waits for a link, the other
# goes on.
.PHONY: simulated-tests
simulated-tests:
	+@$(MAKE_QUIET) SIM=1 build-sim/logjam.blocks build-sim/explored.blocks

test-tools:
	@scripts/install_deps.sh tools
	@$(MAKE_ALL) $(BINARY)
	@$(RUN_TESTS) tests/scripts/main.py "" $(TEST_ARGS)

# A crash round forks, kills and recovers a whole program: the release build's, not a sanitizer's.
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
	@scripts/install_deps.sh fuzz
	@$(MAKE_ALL) FUZZ=1 CXX=clang++ build-fuzz/fuzz
	@scripts/fuzz.py --seconds=$(SECONDS) --seed=$(SEED) $(TARGET)

demo:
	@scripts/install_deps.sh demo
	@$(MAKE_ALL) $(BINARY)
	@scripts/demo.py --logjam $(BINARY) --out build/demo $(if $(ALL),--all)

SIZE ?= quick
figure:
	@scripts/install_deps.sh demo
	@$(MAKE_ALL) $(BINARY)
	@scripts/figures.py run $(ID) --$(SIZE) --plot --logjam=$(BINARY)

format:
	git ls-files '*.cc' '*.h' | xargs clang-format -i

lint:
	@scripts/install_deps.sh developer
	@tests/scripts/lint_test.py
	@scripts/lint.py
	git ls-files -z '*.cc' '*.h' | xargs -0 -r clang-format --dry-run -Werror

# Of one file: clang-tidy -p build-clang cli/run.cc. SINCE=REVISION: of what has changed since then.
tidy:
	@$(MAKE_QUIET) CXX=clang++ build-clang/compile_commands.json
	SIMULATED="$(filter-out $(TESTED_SIMULATION),$(SIMULATION_SOURCES) $(wildcard tests/sim/*.cc tests/explored/*.cc))" scripts/tidy.py $(SINCE)

clean:
	rm -rf build build-*

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
