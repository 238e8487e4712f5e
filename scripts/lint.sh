#!/usr/bin/env bash
# Checks the formatting of all tracked C++ files, and the project's own rules (tests/style) if the
# tests are built. `make test` runs both too; this script runs them alone.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

failed=0
git ls-files -z '*.cc' '*.h' | xargs -0 -r clang-format --dry-run -Werror || failed=1
if [ -x build/tests/all ]; then
  LOGJAM_ROOT=$PWD build/tests/all --gtest_brief=1 --gtest_filter='*Lint*:Style*:Prose*:Docs*:-*Formatted' ||
    failed=1
else
  echo "lint: only the formatting was checked; make test builds the rest"
fi
exit $failed
