# logjam's build. Objects, dependency files and the binaries live under build/ (build-thread/,
# build-address/, build-undefined/ for SAN=...).
#
#   make            build/logjam
#   make demo       install what is missing, build, compare the schemes on this machine's disk
#   make test       install what is missing, build, run every test   [SAN=thread|address|undefined]
#   make deps | format | lint | bench | clean

SAN ?=
BUILD := build$(if $(SAN),-$(SAN))
CXX := g++

CXXFLAGS ?= -O3 -march=native
CXXFLAGS += -std=c++20 -g1 -Wall -Wextra -Wpedantic -Werror -fno-omit-frame-pointer -I. -Iengine
# g++ 12 sees an overlap in "literal" + std::string where there is none (GCC bug 105651).
CXXFLAGS += -Wno-restrict
LDLIBS := -lgflags -luring -lnuma -lxxhash -lpthread
ifeq ($(SAN),)
LDLIBS += -ljemalloc
else ifneq ($(filter $(SAN),thread address undefined),)
CXXFLAGS := $(subst -O3,-O1,$(CXXFLAGS)) -fsanitize=$(SAN) -fno-sanitize-recover=all
LDFLAGS += -fsanitize=$(SAN)
# With sanitizers, g++ 12 takes std::regex's own states for uninitialized (GCC bug 105562).
CXXFLAGS += -Wno-maybe-uninitialized
else
$(error SAN is thread, address or undefined, not "$(SAN)")
endif
ifeq ($(SAN),thread)
# Stand-alone fences are modelled by platform/atomic.h's full_fence() in this build.
CXXFLAGS += -Wno-tsan
endif

# Tests are compiled more often than they are run.
$(BUILD)/tests/%.o: CXXFLAGS := $(subst -O3,-O1,$(CXXFLAGS))

ROOMS := engine cc logging workloads
SOURCES := $(sort $(shell find $(ROOMS) -name '*.cc'))
CLI := $(sort $(wildcard cli/*.cc))
TESTS := $(sort $(shell find tests -name '*_test.cc'))
TEST_SUPPORT := $(sort $(filter-out $(TESTS),$(shell find tests -name '*.cc')))
BENCHES := $(sort $(wildcard scripts/bench/*.cc))

OBJECTS := $(SOURCES:%.cc=$(BUILD)/%.o)
CLI_OBJECTS := $(CLI:%.cc=$(BUILD)/%.o)
TEST_OBJECTS := $(TESTS:%.cc=$(BUILD)/%.o) $(TEST_SUPPORT:%.cc=$(BUILD)/%.o)
BENCH_OBJECTS := $(BENCHES:%.cc=$(BUILD)/%.o)

.PHONY: all deps demo test bench format lint clean
all: $(BUILD)/logjam

$(BUILD)/logjam: $(OBJECTS) $(CLI_OBJECTS)
	$(CXX) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# The command line's own logic is tested too; its main() is not linked into the tests.
$(BUILD)/tests/all: $(OBJECTS) $(filter-out $(BUILD)/cli/main.o,$(CLI_OBJECTS)) $(TEST_OBJECTS)
	$(CXX) $(LDFLAGS) -o $@ $^ -lgtest -lgtest_main $(LDLIBS)

$(BUILD)/bench: $(OBJECTS) $(BENCH_OBJECTS)
	$(CXX) $(LDFLAGS) -o $@ $^ -lbenchmark -lbenchmark_main $(LDLIBS)

$(BUILD)/%.o: %.cc
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -MMD -MP -c -o $@ $<

# The revision a CSV row names; rewritten, and its object rebuilt, only when it changes.
REVISION := $(shell git describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)
$(shell mkdir -p $(BUILD); echo '$(REVISION)' | cmp -s - $(BUILD)/revision || \
        echo '$(REVISION)' > $(BUILD)/revision)
$(BUILD)/cli/revision.o: CXXFLAGS += -DLOGJAM_REVISION='"$(REVISION)"'
$(BUILD)/cli/revision.o: $(BUILD)/revision

deps:
	@scripts/install_deps.sh

# Dependencies first, then a fresh make, so that both commands work alone on a new machine.
test: deps
	@$(MAKE) --no-print-directory -j$$(nproc) $(BUILD)/logjam $(BUILD)/tests/all SAN=$(SAN)
	@LOGJAM=$(CURDIR)/$(BUILD)/logjam scripts/run_tests.sh $(BUILD)/tests/all "$(SAN)" $(TEST_ARGS)

demo: deps
	@$(MAKE) --no-print-directory -j$$(nproc) $(BUILD)/logjam
	@scripts/demo.py --logjam $(BUILD)/logjam --out results/demo

bench: $(BUILD)/bench
	$(BUILD)/bench

format:
	git ls-files '*.cc' '*.h' | xargs clang-format -i

lint:
	scripts/lint.sh

clean:
	rm -rf build build-thread build-address build-undefined

-include $(OBJECTS:.o=.d) $(CLI_OBJECTS:.o=.d) $(TEST_OBJECTS:.o=.d) $(BENCH_OBJECTS:.o=.d)
