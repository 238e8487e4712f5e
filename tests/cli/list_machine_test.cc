// `logjam list machine` and `logjam list placement`.
#include <gtest/gtest.h>

#include "tests/shell.h"

namespace logjam {
namespace {

TEST(ListMachine, PrintsSocketsNodesAndContexts) {
  EXPECT_EQ(shell("\"$LOGJAM\" list machine --topology='pack:2 numa:2 core:2 pu:2'").output,
            "SOCKET  NODE  CORES  CONTEXTS  NUMBERED\n"
            "0       0     2      4         0-3\n"
            "0       1     2      4         4-7\n"
            "1       2     2      4         8-11\n"
            "1       3     2      4         12-15\n\n");
}

TEST(ListMachine, SaysInJsonWhatThisMachineHas) {
  const Ended ended = shell(R"("$LOGJAM" list machine --json | python3 -c '
import json, os, sys
machine = json.load(sys.stdin)["machine"]
contexts = machine["contexts"]
print({context["number"] for context in contexts} == os.sched_getaffinity(0))
for counted, key in (("sockets", "socket"), ("nodes", "node"), ("cores", "core")):
    print({context[key] for context in contexts} == set(range(machine[counted])))
')");
  EXPECT_EQ(ended.output, "True\nTrue\nTrue\nTrue\n");
}

TEST(ListPlacement, PrintsTheContextOfEachWorkerUnderEachPolicy) {
  EXPECT_EQ(
      shell("\"$LOGJAM\" list placement --topology='pack:2 numa:1 core:1 pu:2' --threads=3").output,
      "WORKER  compact: SOCKET CORE SIBLING NUMBER  scatter: SOCKET CORE SIBLING NUMBER  "
      "smt: SOCKET CORE SIBLING NUMBER\n"
      "0       0 0 0 0                              0 0 0 0                              "
      "0 0 0 0\n"
      "1       1 1 0 2                              1 1 0 2                              "
      "0 0 1 1\n"
      "2       0 0 1 1                              0 0 1 1                              "
      "1 1 0 2\n\n");
}

TEST(ListPlacement, TakesOnePolicyAndJson) {
  const Ended ended = shell(R"("$LOGJAM" list placement --json --threads=6 --placement=scatter \
    --topology='pack:4 numa:1 core:16 pu:2' | python3 -c '
import json, sys
(policy, contexts), = json.load(sys.stdin)["placement"].items()
print(policy, [context["socket"] for context in contexts])
print(contexts[5])
')");
  EXPECT_EQ(ended.output,
            "scatter [0, 1, 2, 3, 0, 1]\n"
            "{'number': 34, 'socket': 1, 'node': 1, 'core': 17, 'sibling': 0}\n");
}

TEST(ListPlacement, RefusesWhatIsNoMachineAndWhatIsNoPolicy) {
  EXPECT_EQ(shell("\"$LOGJAM\" list placement --topology=square 2>&1; echo $?").output,
            "logjam: --topology=\"square\" is not a synthetic topology of hwloc, such as \"pack:4 "
            "numa:1 core:16 pu:2\"\n2\n");
  EXPECT_EQ(shell("\"$LOGJAM\" list placement --placement=tight 2>&1; echo $?").output,
            "logjam: --placement=tight is not a placement; allowed are compact, scatter, smt and "
            "none\n2\n");
}

// The row of a run names the cores of its workers.
TEST(ListPlacement, IsInTheRowOfARun) {
  const Ended ended = shell(R"(
core=$("$LOGJAM" list placement --threads=1 --placement=smt | awk 'NR == 2 { print $5 }')
for placement in compact:$core smt:$core none; do
  "$LOGJAM" micro --device=discard --threads=1 --transactions=10 --log_buffer_mb=1 \
    --placement=$placement 2>/dev/null |
    sed -n 's/^placement *//; s/socket [0-9]* core [0-9]*/its core/p; /^none/p'
done)");
  EXPECT_EQ(ended.output,
            "compact: worker 0 on its core\nsmt: worker 0 on its core\nnone: workers are not "
            "pinned\n");
}

}  // namespace
}  // namespace logjam
