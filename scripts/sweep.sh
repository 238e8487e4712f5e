#!/usr/bin/env bash
# A grid of runs for a question of your own; every flag of logjam can be an axis:
#
#   scripts/sweep.sh --out=x.csv workload=tpcc,ycsb log=centr,eleda threads=1,2 rounds=3 -- --seconds=5
#
# An axis that is given again gets one more value, which may contain commas: flush=txns:8,us:500
# flush=us:50. Rounds are interleaved, disturbed runs are repeated, and the same command continues a
# stopped run. scripts/sweep.sh --help lists the options; docs/EXPERIMENTS.md covers many machines.
exec "$(dirname "$0")/figures.py" sweep "$@"
