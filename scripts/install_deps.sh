#!/usr/bin/env bash
# Prints and installs the packages that a job needs and Debian 12 lacks. If no package is missing,
# the script is silent and fast, so make calls it each time.
#
# usage: scripts/install_deps.sh JOB
#   build      the packages that build the program
#   test       build, and the packages that build the tests
#   demo       build, and the packages that draw tables and plots
#   sim        test and demo, and the packages that build the simulated program
#   tools      sim, and the packages for the tests of scripts/: a batch system, ssh and a browser
#   developer  test, and clang, clang-tidy and clang-format
#   ci         tools and developer
#   fuzz       test, and clang with libFuzzer
#   judge      build, and in build/judge duckdb, from PyPI, and adya, from crates.io (needs cargo)
#   products [PACKAGE...]   packages of products, which scripts/products.sh runs; without PACKAGE all
# The servers of tools and products are neither started nor enabled; the tests start their own.
set -euo pipefail

build=(g++ make python3 libjemalloc-dev libgflags-dev libgoogle-glog-dev liburing-dev libnuma-dev
  libhwloc-dev libtbb-dev libxxhash-dev)
test=("${build[@]}" libgtest-dev)
demo=("${build[@]}" python3-pandas python3-matplotlib python3-scipy)
sim=("${test[@]}" "${demo[@]}" libboost-context-dev)
tools=("${sim[@]}" slurmctld slurmd slurm-client munge parallel openssh-server openssh-client chromium)
developer=("${test[@]}" clang clang-tidy clang-format libclang-rt-dev)
fuzz=("${test[@]}" clang libclang-rt-dev)
case ${1:-} in
  build) packages=("${build[@]}") ;;
  test) packages=("${test[@]}") ;;
  demo) packages=("${demo[@]}") ;;
  sim) packages=("${sim[@]}") ;;
  tools) packages=("${tools[@]}") ;;
  developer) packages=("${developer[@]}") ;;
  ci) packages=("${tools[@]}" "${developer[@]}") ;;
  fuzz) packages=("${fuzz[@]}") ;;
  judge) packages=("${build[@]}" python3-venv) ;;
  products)
    packages=("${build[@]}" postgresql-15 mariadb-server mariadb-client sysbench rocksdb-tools
      libwiredtiger-dev libdb5.3-dev libsqlite3-dev liblmdb-dev strace)
    [ $# -eq 1 ] || packages=("${@:2}")
    ;;
  *)
    echo "usage: scripts/install_deps.sh build|test|demo|sim|tools|developer|ci|fuzz|judge|products" >&2
    exit 2
    ;;
esac

fail() {
  echo "install_deps: $*" >&2
  exit 1
}

command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
  fail "this is not a Debian system (no apt-get); install the equivalents of: ${packages[*]}"

# dpkg-query fails if it does not know a package. This is no error: the package is missing.
installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null || true)
missing=()
for package in "${packages[@]}"; do
  grep -qx "$package installed" <<<"$installed" || missing+=("$package")
done

# duckdb judges recovered tables, and adya judges histories. A file marks each installed version.
duckdb=duckdb==2.0.1 adya=adya@0.1.0
judge=$(dirname "$0")/../build/judge
install_judges() {
  [ "$1" = judge ] || return 0
  if [ ! -e "$judge/$duckdb" ]; then
    echo "install_deps: pip installs $duckdb in build/judge now" >&2
    { /usr/bin/python3 -m venv "$judge" &&
      "$judge/bin/pip" install --quiet --no-deps "$duckdb"; } >&2 ||
      fail "pip could not install $duckdb, see above"
    touch "$judge/$duckdb"
  fi
  if [ ! -e "$judge/$adya" ] && ! command -v cargo >/dev/null; then
    echo "install_deps: no $adya, because there is no cargo (https://rustup.rs) to build it" >&2
  elif [ ! -e "$judge/$adya" ]; then
    echo "install_deps: cargo installs $adya in build/judge now" >&2
    cargo install --quiet --locked --no-default-features --root "$judge" "$adya" >&2 ||
      fail "cargo could not install $adya, see above"
    touch "$judge/$adya"
  fi
}
if [ ${#missing[@]} -eq 0 ]; then
  install_judges "$1"
  exit 0
fi

how="apt-get"
[ "$(id -u)" -eq 0 ] || how="sudo apt-get"
echo "install_deps: these packages are missing; $how installs them now:" >&2
printf '%s\n' "${missing[@]}" | sort -u | fmt -w 96 | sed 's/^/  /' >&2

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null ||
    fail "not root and no sudo; ask an administrator to run: apt-get install ${missing[*]}"
  # Without a terminal sudo must fail instead of asking for a password.
  if [ -t 0 ]; then as_root=(sudo); else as_root=(sudo -n); fi
  "${as_root[@]}" true 2>/dev/null ||
    fail "sudo refused; ask an administrator to run: apt-get install ${missing[*]}"
fi

log=$(mktemp)
policy=
finish() {
  rm -f "$log"
  [ -z "$policy" ] || "${as_root[@]}" rm -f "$policy"
}
trap finish EXIT

# Debian starts a new server at each boot, and after its installation unless policy-rc.d forbids it.
servers=()
for package in "${missing[@]}"; do
  case $package in
    slurmctld | slurmd | munge) servers+=("$package") ;;
    openssh-server) servers+=(ssh) ;;
    postgresql-15) servers+=(postgresql) ;;
    mariadb-server) servers+=(mariadb) ;;
  esac
done
if [ ${#servers[@]} -gt 0 ]; then
  echo "install_deps: servers are among them (${servers[*]}); they are installed, not started" >&2
fi
if [ ${#servers[@]} -gt 0 ] && [ ! -e /usr/sbin/policy-rc.d ]; then
  policy=/usr/sbin/policy-rc.d
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod 755 "$policy"
fi

apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
    -o DPkg::Lock::Timeout=300 "$@" >"$log" 2>&1
}

# apt-get update runs only if the package lists are absent (a fresh container) or outdated (the
# server no longer has a package's file).
apt install --no-install-recommends "${missing[@]}" || {
  apt update || { tail -n 5 "$log" >&2; fail "apt-get update failed, see above"; }
  apt install --no-install-recommends "${missing[@]}" ||
    { tail -n 15 "$log" >&2; fail "apt-get could not install ${missing[*]}, see above"; }
}
if [ ${#servers[@]} -gt 0 ] && [ -d /run/systemd/system ]; then
  "${as_root[@]}" systemctl --quiet disable --now "${servers[@]}" >"$log" 2>&1 || true
fi
install_judges "$1"
