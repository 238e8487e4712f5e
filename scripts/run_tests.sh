#!/usr/bin/env bash
# run_tests.sh BINARY SANITIZER [ARGS...]: runs a GoogleTest binary and ends with one plain line,
# "N passed, N failed", that also counts a test which took the whole binary down with it.
# SANITIZER is empty, thread, address or undefined. ARGS go to the binary.
set -uo pipefail

if [ $# -lt 2 ]; then
  echo "usage: scripts/run_tests.sh BINARY SANITIZER [ARGS...]" >&2
  exit 2
fi
binary=$1 sanitizer=$2
shift 2
cd "$(dirname "$0")/.." || exit 1

case $sanitizer in
  "" | thread | address | undefined) ;;
  *) echo "run_tests: SANITIZER is thread, address, undefined or empty, not \"$sanitizer\"" >&2
     exit 2 ;;
esac
export TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1 ${TSAN_OPTIONS:-}"
export ASAN_OPTIONS="halt_on_error=1 strict_string_checks=1 ${ASAN_OPTIONS:-}"
export UBSAN_OPTIONS="halt_on_error=1 print_stacktrace=1 ${UBSAN_OPTIONS:-}"
export LOGJAM_ROOT=$PWD

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# A hang is a failure too; SIGABRT leaves a trace of where.
timeout --foreground --signal=ABRT --kill-after=20 "${TEST_TIMEOUT:-1800}" \
  "$binary" --gtest_color=no "$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}

# "[  FAILED  ] A.B (3 ms)": the summary repeats names without the time.
passed=$(grep -c '^\[       OK \] ' "$log")
failed=$(grep -cE '^\[  FAILED  \] .*\([0-9]+ ms\)$' "$log")
skipped=$(grep -cE '^\[  SKIPPED \] .*\([0-9]+ ms\)$' "$log")
if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then
  last=$(grep '^\[ RUN      \] ' "$log" | tail -n 1 | cut -c 14-)
  echo "run_tests: $binary ended with status $status${last:+ during $last}"
  failed=1
fi
if [ "$status" -eq 0 ] && [ "$passed" -eq 0 ]; then
  echo "run_tests: no test ran"
  failed=1
fi
[ "$skipped" -eq 0 ] || echo "$skipped skipped"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
