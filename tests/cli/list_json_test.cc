// `logjam list --json` describes the schemes, and leaves out nothing that `logjam list` prints.
#include <gtest/gtest.h>

#include "cli/commands.h"
#include "tests/shell.h"

namespace logjam {
namespace {

// stream_count_of() computes the number of streams from the numbers for one and two directories,
// workers and sockets. The result must be right for all larger numbers, too.
TEST(ListJson, StreamCountsAddUpForEveryScheme) {
  for (const SchemeInfo& scheme : all_schemes()) {
    const StreamCount count = stream_count_of(scheme);
    for (const uint32_t directories : {1u, 2u, 3u, 7u}) {
      for (const uint32_t workers : {1u, 2u, 8u, 9u, 64u}) {
        for (const uint32_t sockets : {1u, 2u, 4u, 8u}) {
          LogConfig config;
          config.workers = workers;
          config.sockets = sockets;
          const uint32_t groups = (workers + count.group - 1) / count.group;
          EXPECT_EQ(count.base + count.per_directory * directories + count.per_group * groups +
                        count.per_socket * sockets,
                    scheme.stream_count(directories, config))
              << scheme.name;
        }
      }
    }
  }
}

TEST(ListJson, NamesAllThatTheTablesName) {
  const Ended ended = shell(R"(for what in schemes protocols workloads variants devices; do
  "$LOGJAM" list $what --json | python3 -c '
import json, subprocess, sys
what, = sys.argv[1:]
listed = json.load(sys.stdin)
assert list(listed) == [what], listed
key = {"variants": "flag", "devices": "spec"}.get(what, "name")
text = subprocess.run(["'"$LOGJAM"'", "list", what], capture_output=True, text=True, check=True)
names = [line.split("  ")[0] for line in text.stdout.strip().splitlines()[1:]]
assert names == [one[key] for one in listed[what]], (names, listed)
print(what, len(names) > 3)
' $what; done)");
  EXPECT_EQ(ended.output,
            "schemes True\nprotocols True\nworkloads True\nvariants True\ndevices True\n");
}

TEST(ListJson, SaysWhatAScriptMustKnowOfAScheme) {
  const Ended ended = shell(R"("$LOGJAM" list --json --ack=unsafe | python3 -c '
import json, sys
listed = json.load(sys.stdin)
print(*listed)
schemes = {one["name"]: one for one in listed["schemes"]}
def having(trait): return sorted(name for name, one in schemes.items() if one[trait])
print(having("commands"), having("in_place"), having("unsafe"))
for drawn in "before", "before, without a hole":
    print([name for name in schemes if schemes[name]["number_drawn"] == drawn])
print([name for name in schemes if not schemes[name]["logs"]])
print([name for name in schemes if schemes[name]["device"] != "any"])
print(schemes["nvmd"]["stream_count"], schemes["pwal"]["recovery_flags"])
print([w["name"] for w in listed["workloads"] if w["keeps_history"]])
print([w["name"] for w in listed["workloads"] if not w["has_commands"]])
')");
  EXPECT_EQ(ended.output,
            "schemes protocols workloads variants devices\n"
            "['command'] ['scm'] ['ermia', 'pwal', 'rfa', 'scm']\n['command', "
            "'nvmd']\n['silo']\n['none']\n['scm']\n"
            "{'base': 1, 'per_directory': 0, 'per_group': 1, 'group': 1, 'per_socket': 0} ['ack']\n"
            "['ledger']\n[]\n");
}

TEST(ListJson, APlacementGivesEachWorkerOfALargeMachineAContext) {
  const Ended ended = shell(R"("$LOGJAM" list placement --threads=1024 --json \
    --topology="pack:8 numa:1 core:64 pu:2" | python3 -c '
import json, sys
for one in json.load(sys.stdin)["placement"]:
    print(one["name"], one["nodes"], one["contexts"][:3], set(one["contexts"]) == {*range(1024)})
')");
  EXPECT_EQ(ended.output,
            "compact 0-7 [0, 2, 4] True\nscatter 0-7 [0, 128, 256] True\nsmt 0-7 [0, 1, 2] True\n");
}

}  // namespace
}  // namespace logjam
