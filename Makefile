# logjam's build. Objects, dependency files and the binaries live under build/ (build-thread/,
# build-address/, build-undefined/ for SAN=...).
#
#   make            build/logjam
#   make sim        build-sim/logjam, the same on a simulated machine (--machine=NAME)
#   make SIM=1 build-sim/explored.blocks     the tests of tests/explored/
#   make demo       install what is missing, build, compare the schemes on this machine's disk
#   make figure ID=P7 [SIZE=full]    run a published result, draw it, check its claim
#   make test       install what is missing, build, run what every change needs
#                   [SAN=thread|address|undefined] [PARTS="logging cc"] [TEST_ARGS=--gtest_filter=...]
#   make test-all   every crash round, and the other tests under each sanitizer
#   make explore [ROUNDS=1000] [SEED=1]     explore schedules and crashes of every log scheme
#   make mutants [N=30] [SEED=1]     plant small bugs drawn by a seed, count those that the tests see
#   make tidy       clang-tidy over all sources but the tests, with the checks of .clang-tidy
#   make compile_commands.json     for editors and clang's tools
#   make deps | format | lint | clean
#
# CXX=clang++ builds in build-clang/; scripts/install_deps.sh --developer installs clang and
# clang-tidy.

SAN ?=
CXX := g++
CLANG := $(findstring clang,$(notdir $(CXX)))
# SIM=1 is the simulated machine's build, which `make sim` asks for.
SIM ?=
BUILD := build$(if $(CLANG),-clang)$(if $(SAN),-$(SAN))$(if $(SIM),-sim)

ifneq ($(SIM),)
ifneq ($(CLANG),)
$(error the simulated machine needs g++: only its instrumentation is known to sim/hooks.cc)
endif
# The same instructions on every host, so that the same flags give the same rows.
CXXFLAGS := -O3 -march=x86-64-v3 -fno-pie -Isim/include
endif
CXXFLAGS ?= -O3 -march=native
CXXFLAGS += -std=c++20 -g1 -Wall -Wextra -Wpedantic -Werror -fno-omit-frame-pointer -I.
# g++ 12 sees an overlap in "literal" + std::string where there is none (GCC bug 105651), and
# uninitialized values in its own AVX-512 intrinsics (105593) and, with sanitizers, in std::regex
# (105562); copies beyond the end of a std::string, where there are none.
CXXFLAGS += $(if $(CLANG),-Wreserved-identifier,-Wno-restrict -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds)
LDLIBS := -lglog -lgflags -luring -lnuma -lhwloc -ltbb -lxxhash -lpthread
ifneq ($(SIM),)
LDLIBS += -lboost_context
# Library calls that touch the program's memory, and main(), go to sim/ first.
comma := ,
LDFLAGS += -no-pie -Wl,--build-id $(foreach call,main memcpy memmove memset memcmp memchr strnlen pow,-Wl$(comma)--wrap=$(call))
else ifeq ($(SAN),)
LDLIBS += -ljemalloc
else ifneq ($(filter $(SAN),thread address undefined),)
CXXFLAGS := $(subst -O3,-O1,$(CXXFLAGS)) -fsanitize=$(SAN) -fno-sanitize-recover=all
# The sources look for g++'s macro.
CXXFLAGS += $(if $(CLANG),-D__SANITIZE_$(shell echo $(SAN) | tr a-z A-Z)__)
LDFLAGS += -fsanitize=$(SAN)
else
$(error SAN is thread, address or undefined, not "$(SAN)")
endif
ifeq ($(SAN),thread)
# Stand-alone fences are modelled by platform/atomic.h's full_fence() in this build.
CXXFLAGS += $(if $(CLANG),,-Wno-tsan)
# oneTBB's own code, in its library and in its headers, is not instrumented: platform/tbb_tasks.h.
$(BUILD)/platform/tbb_tasks.o: CXXFLAGS += -fno-sanitize=thread
endif

# Tests are compiled more often than they are run, but those of the simulated build have the program's
# flags. g++ collects no garbage below 2 GB: a unit of tests needs less, and looking for garbage would
# take an eighth of its time.
TEST_OPTIMIZATION := $(if $(SIM),-O3,-O0)
$(BUILD)/tests/%.o: CXXFLAGS := $(patsubst -O%,$(TEST_OPTIMIZATION),$(CXXFLAGS)) $(if $(CLANG),,--param ggc-min-heapsize=2000000)
# The lints look at every line of the tree: that would be too slow without any optimization.
OPTIMIZED_TESTS := $(foreach file,style/docs style/lint style/prose,$(BUILD)/tests/$(file).o)
$(OPTIMIZED_TESTS): private CXXFLAGS += -O1

CLI := $(sort $(wildcard cli/*.cc))
INSTRUMENTED := logging engine cc workloads proof
# The disk in memory is no part of what is simulated or explored.
PLATFORM := $(sort $(wildcard platform/*.cc proof/disk/*.cc sim/measure/*.cc))
SIMULATION := $(sort $(wildcard sim/*.cc))
ifneq ($(SIM),)
REPLACED := clock exploration host device_irq mapped_file memory memory_node park persist process_use tbb_tasks this_machine thread \
            worker_class
# What the simulated machine has itself. The rest of platform/ is the same.
PLATFORM := $(filter-out $(REPLACED:%=platform/%.cc),$(PLATFORM)) $(SIMULATION)
endif
# What of the simulation is tested alone, without the instrumented program. The sanitizers that follow
# stacks do not know its fibers.
TESTED_SIMULATION := $(if $(SIM)$(filter thread address,$(SAN)),,$(addprefix sim/, \
                       caches.cc charge.cc data_races.cc explorer.cc explorer_crashes.cc explorer_races.cc \
                       explorer_words.cc freed_memory.cc kernel.cc machine.cc \
                       miss_price.cc order.cc profile.cc region.cc scheduler.cc search.cc store_buffer.cc symbols.cc))
# The instrumented rooms come first: of an inline function the linker takes the first copy.
SOURCES := $(filter-out proof/disk/%,$(sort $(shell find $(INSTRUMENTED) -name '*.cc'))) $(PLATFORM)
# With PARTS="logging cc", the tests are those in these folders of tests/, in a binary of their own.
PARTS ?=
TEST_BINARY := $(BUILD)/$(if $(SIM),explored,tests/$(if $(PARTS),only-$(subst $() ,-,$(strip $(PARTS))),all))
TEST_ROOMS := $(if $(PARTS),$(PARTS:%=tests/%),tests)
TEST_SOURCES := $(sort $(shell find $(wildcard $(TEST_ROOMS) tests/workloads) -name '*.cc'))
# The tests of the simulated build are instrumented as the program is, whose classes they explore.
EXPLORED_TESTS := $(filter tests/main.cc tests/explored/%,$(TEST_SOURCES))
TEST_SOURCES := $(filter-out tests/explored/%,$(TEST_SOURCES))
TEST_SOURCES := $(if $(TESTED_SIMULATION),$(TEST_SOURCES), \
                  $(filter-out tests/sim/%,$(TEST_SOURCES)) $(filter tests/sim/measure_test.cc,$(TEST_SOURCES)))
TEST_SOURCES := $(if $(SIM),$(EXPLORED_TESTS),$(TEST_SOURCES))
TESTS := $(foreach room,$(TEST_ROOMS),$(filter $(room)/%_test.cc,$(TEST_SOURCES)))
# Clang compiles each test alone, so that a test that lacks an include is found.
ifeq ($(CLANG)$(if $(TESTS),,none),)
TEST_UNITS := $(shell tests/units.sh $(TEST_BINARY).units $(TESTS))
endif
TEST_SUPPORT := $(sort $(wildcard tests/*.cc) $(filter-out %_test.cc,$(TEST_SOURCES)))

OBJECTS := $(SOURCES:%.cc=$(BUILD)/%.o)
UNINSTRUMENTED := $(addprefix $(BUILD)/,platform/% proof/disk/% sim/%)
CLI_OBJECTS := $(CLI:%.cc=$(BUILD)/%.o)
ifneq ($(SAN),)
# A sanitizer's build checks and is not measured: it reads the headers once for many sources. These
# sources have flags of their own, or a main() that the tests lack.
SEPARATE := platform/tbb_tasks.cc cli/revision.cc cli/main.cc
OBJECTS := $(patsubst %.cc,%.o,$(shell scripts/batches.py $(BUILD)/units $(filter-out $(SEPARATE),$(SOURCES) $(CLI)))) \
           $(BUILD)/platform/tbb_tasks.o
CLI_OBJECTS := $(BUILD)/cli/revision.o $(BUILD)/cli/main.o
endif
TEST_OBJECTS := $(if $(CLANG),$(TESTS:%.cc=$(BUILD)/%.o),$(TEST_UNITS:.cc=.o)) $(TEST_SUPPORT:%.cc=$(BUILD)/%.o)
TESTED_OBJECTS := $(TESTED_SIMULATION:%.cc=$(BUILD)/%.o)

.PHONY: all sim deps demo figure test tested-simulation test-all explore mutants format lint tidy clean FORCE
all: $(BUILD)/logjam

# The simulated machine: build-sim/logjam, from the same sources.
sim:
	@scripts/install_deps.sh
	@$(MAKE) --no-print-directory SIM=1 -j$$(nproc) build-sim/logjam.blocks

$(BUILD)/logjam: $(OBJECTS) $(CLI_OBJECTS)
	$(CXX) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# How many instructions each basic block has without its instrumentation.
$(BUILD)/%.blocks: $(BUILD)/% scripts/block_costs.py
	scripts/block_costs.py $< $@

# The command line's own logic is tested too; its main() is not linked into the tests.
$(TEST_BINARY): $(OBJECTS) $(filter-out $(BUILD)/cli/main.o,$(CLI_OBJECTS)) $(TEST_OBJECTS) \
                $(TESTED_OBJECTS)
	$(CXX) $(LDFLAGS) -o $@ $^ -lgtest $(LDLIBS) $(if $(TESTED_OBJECTS),-lboost_context)

# The compiler's calls at each access, atomic and basic block land in sim/hooks.cc. Headers
# that look whether ThreadSanitizer is there must not find it.
ifneq ($(SIM),)
$(filter-out $(UNINSTRUMENTED),$(OBJECTS)) $(CLI_OBJECTS) $(TEST_OBJECTS) \
  $(BUILD)/platform/precompiled.h.gch $(BUILD)/tests/precompiled.h.gch: \
  CXXFLAGS += -fsanitize=thread -Wno-tsan \
  -fsanitize-coverage=trace-pc --param tsan-instrument-func-entry-exit=0 -U__SANITIZE_THREAD__
# The simulation's own loops must not become calls of memmove(), which it charges for.
$(SIMULATION:%.cc=$(BUILD)/%.o): CXXFLAGS += -O3 -fno-tree-loop-distribute-patterns
# The hooks that call nothing, or jump to what they call, need no frame.
$(BUILD)/sim/hooks.o $(BUILD)/sim/charge.o: CXXFLAGS += -momit-leaf-frame-pointer
endif

# Objects of other flags are made anew, so that no program is linked of two kinds. A make within a
# make gets some flags twice: sort keeps one of each.
FLAGS := $(CXX) $(sort $(CXXFLAGS))
$(shell mkdir -p $(BUILD); echo '$(FLAGS)' | cmp -s - $(BUILD)/flags || echo '$(FLAGS)' > $(BUILD)/flags)

$(BUILD)/%.o: %.cc $(BUILD)/flags
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -MMD -MP -c -o $@ $<

# Some headers are read precompiled: most tests' tests/precompiled.h, every other file's
# platform/precompiled.h. A compiler cache cannot look into that form.
COMPILER := $(CXX) $(realpath $(shell command -v $(firstword $(CXX))))
PRECOMPILED := tests/precompiled.h
# Only files with the flags of the precompiled form can use it.
PRECOMPILING_TESTS := $(filter-out $(OPTIMIZED_TESTS),$(TEST_OBJECTS))
ifeq ($(findstring ccache,$(COMPILER)),)
PRECOMPILED := $(BUILD)/tests/precompiled.h
$(PRECOMPILING_TESTS): $(PRECOMPILED).gch
PRECOMPILING := $(if $(SIM),$(filter-out $(UNINSTRUMENTED),$(OBJECTS)),$(OBJECTS)) $(CLI_OBJECTS)
PRECOMPILING := $(filter-out $(BUILD)/platform/tbb_tasks.o,$(PRECOMPILING))
$(PRECOMPILING): $(BUILD)/platform/precompiled.h.gch
$(PRECOMPILING): private CXXFLAGS += -include $(BUILD)/platform/precompiled.h
endif
$(PRECOMPILING_TESTS): private CXXFLAGS += -include $(PRECOMPILED)
$(BUILD)/tests/precompiled.h.gch: private CXXFLAGS := $(patsubst -O%,$(TEST_OPTIMIZATION),$(CXXFLAGS))

$(BUILD)/%.h.gch: %.h $(BUILD)/flags
	@mkdir -p $(@D)
	cp $< $(@:.gch=)
	$(CXX) $(CXXFLAGS) $(if $(CLANG),-fpch-instantiate-templates) -x c++-header -o $@ $(@:.gch=)

$(TEST_BINARY).units/%.o: $(TEST_BINARY).units/%.cc $(BUILD)/flags
	$(CXX) $(CXXFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/units/%.o: $(BUILD)/units/%.cc $(BUILD)/flags
	$(CXX) $(CXXFLAGS) -MMD -MP -c -o $@ $<

# The revision a CSV row names; rewritten, and its object rebuilt, only when it changes.
# New rows, texts and figures do not make another program.
REVISION := $(shell git describe --always --abbrev=12 2>/dev/null || echo unknown)$(shell \
  git status --porcelain -uno -- . ':!results' ':!docs' ':!config/figures' 2>/dev/null | grep -q . && \
  echo -dirty)
$(shell mkdir -p $(BUILD); echo '$(REVISION)' | cmp -s - $(BUILD)/revision || \
        echo '$(REVISION)' > $(BUILD)/revision)
$(BUILD)/cli/revision.o: CXXFLAGS += -DLOGJAM_REVISION='"$(REVISION)"'
$(BUILD)/cli/revision.o: $(BUILD)/revision

deps:
	@scripts/install_deps.sh

# Some tests start the program itself.
TESTED_PROGRAM := $(if $(filter cli proof,$(or $(PARTS),proof)),$(BUILD)/logjam)
# Tests in other binaries: those of scripts/ are in Python, those of tests/explored/ in the simulated
# build.
OTHER_TESTS := $(if $(SAN)$(PARTS),,tests/scripts/main.py:build-sim/explored:)

# Dependencies first, then a fresh make, so that both commands work alone on a new machine.
test:
	@scripts/install_deps.sh $(if $(OTHER_TESTS),--test)
	@$(MAKE) --no-print-directory -j$$(nproc) $(if $(OTHER_TESTS),tested-simulation) \
	  $(TESTED_PROGRAM) $(TEST_BINARY)
	@LOGJAM=$(CURDIR)/$(BUILD)/logjam scripts/run_tests.py $(OTHER_TESTS)$(TEST_BINARY) "$(SAN)" \
	  $(TEST_ARGS)

# The simulated machine's build shares the cores with the others: where one waits for a link, the
# others go on.
tested-simulation:
	@$(MAKE) --no-print-directory SIM=1 build-sim/logjam.blocks build-sim/explored.blocks

# A crash round forks, kills and recovers a whole program: the release build's, not a sanitizer's.
test-all:
	@LOGJAM_TEST_ALL=1 $(MAKE) --no-print-directory test
	@for sanitizer in thread address undefined; do \
	  $(MAKE) --no-print-directory test SAN=$$sanitizer PARTS="cc cli engine logging workloads" || \
	    exit 1; \
	done

ROUNDS ?= 1000
explore: sim
	@proof/explore.py --rounds=$(ROUNDS) --seed=$(SEED)

N ?= 30
SEED ?= 1
mutants:
	@scripts/install_deps.sh --mutants
	@proof/mutants.py --count=$(N) --seed=$(SEED)

demo: deps
	@$(MAKE) --no-print-directory -j$$(nproc) $(BUILD)/logjam
	@scripts/demo.py --logjam $(BUILD)/logjam --out build/demo

SIZE ?= quick
figure: deps
	@$(MAKE) --no-print-directory -j$$(nproc) $(BUILD)/logjam
	@scripts/figures.py run $(ID) --$(SIZE) --plot --logjam=$(BUILD)/logjam

format:
	git ls-files '*.cc' '*.h' | xargs clang-format -i

lint:
	scripts/lint.sh

# As clang is called: the tools that read it are clang's, and do not know all of g++'s flags.
compile_commands.json: FORCE
	@$(MAKE) --no-print-directory -Bn CXX=clang++ build-clang/logjam build-clang/tests/all | \
	  scripts/compile_commands.py > $@

# Of one file: clang-tidy cli/run.cc
tidy: compile_commands.json
	scripts/tidy.py

clean:
	rm -rf build build-*

-include $(OBJECTS:.o=.d) $(CLI_OBJECTS:.o=.d) $(TEST_OBJECTS:.o=.d) $(TESTED_OBJECTS:.o=.d)
