#!/usr/bin/env bash
# Compares durable commits of PostgreSQL, MariaDB, RocksDB, WiredTiger, Berkeley DB, SQLite and
# LMDB, as their users run them, with logjam's schemes of the same algorithms, on the same disk:
# scripts/products.sh [PRODUCT...] [--clients=1,2,16,64] [--rounds=3] [--seconds=2] [--dir=DIR]
# [--csv=FILE]. Installs missing products, and builds the clients of embedded products into
# build/products. Servers run as an unprivileged user, without a network, in a temporary directory
# that the script removes. docs/GUIDE.md has more.
set -euo pipefail
cd "$(dirname "$0")/.."

compare=(/usr/bin/python3 scripts/products.py)
case " $* " in *" -h "* | *" --help "*) exec "${compare[@]}" --help ;; esac
wanted=$("${compare[@]}" --packages "$@")
declare -A libraries=([wiredtiger]=wiredtiger [berkeleydb]=db-5.3 [sqlite]=sqlite3 [lmdb]=lmdb)
declare -A headers=([wiredtiger]=wiredtiger [berkeleydb]=db [sqlite]=sqlite3 [lmdb]=lmdb)

# Products are installed separately: the comparison omits a product that cannot be installed.
mapfile -t products <<<"$wanted"
for product in "${products[@]}"; do
  read -r -a packages <<<"$product"
  name=${packages[0]}
  scripts/install_deps.sh products strace "${packages[@]:1}" || true
  [ -n "${libraries[$name]:-}" ] && [ -e "/usr/include/${headers[$name]}.h" ] || continue
  to=build/products/$name
  mkdir -p build/products
  source=scripts/products/$name.cc
  [ -z "$(find "$source" scripts/products/embedded.h -newer "$to" 2>&1)" ] ||
    g++ -std=c++20 -O2 -Wall -Wextra -Werror -I. -o "$to" "$source" "-l${libraries[$name]}" -pthread
done
exec "${compare[@]}" "$@"
