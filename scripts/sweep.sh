#!/usr/bin/env bash
# A grid of runs for a question of your own; every flag of logjam can be an axis:
#
#   scripts/sweep.sh --out=x.csv workload=tpcc,ycsb log=centr,eleda threads=1,2 rounds=3 -- --seconds=5
#
# An axis that comes again has one value more, with its commas: flush=txns:8,us:500 flush=us:50. The
# rounds are interleaved, disturbed runs are repeated, and the same command continues where a stopped
# one ended. scripts/sweep.sh --help lists the options; docs/EXPERIMENTS.md says how to use many machines.
exec "$(dirname "$0")/figures.py" sweep "$@"
