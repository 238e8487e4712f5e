#!/usr/bin/env bash
# usage: tests/units.sh DIRECTORY FILE_test.cc...
# Joins test files into a few compilation units and prints the units' paths. Most of a test's compile
# time goes into headers that its neighbours include as well. Each file's unnamed namespace gets the
# file's name, so that two files of a unit may use one name for different things. A unit is written
# only if it changes. Compilers' messages and failed tests name the original files.
set -euo pipefail
directory=$1
shift
mkdir -p "$directory"
most=24

declare -A count
declare -A files
order=()
for file in "$@"; do
  folder=$(dirname "$file")
  number=$((${count[$folder]:-0} / most))
  count[$folder]=$((${count[$folder]:-0} + 1))
  unit=$directory/${folder//\//_}_$number.cc
  [ -n "${files[$unit]:-}" ] || order+=("$unit")
  files[$unit]+="$file "
done
for unit in "${order[@]}"; do
  # shellcheck disable=SC2086 # the files' names are separate words
  awk 'FNR == 1 { name = FILENAME; gsub(/[^A-Za-z0-9]/, "_", name); print "#line 1 \"" FILENAME "\"" }
       { sub(/^namespace \{$/, "namespace " name " {"); print }' ${files[$unit]} > "$unit.new"
  if cmp -s "$unit.new" "$unit"; then rm "$unit.new"; else mv "$unit.new" "$unit"; fi
  echo "$unit"
done
