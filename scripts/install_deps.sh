#!/usr/bin/env bash
# Installs the packages for the build, the tests and the demo that are missing on Debian 12, and says
# before it does which they are. The script is silent and fast if no package is missing, so
# `make test` and `make demo` always call it.
# --test adds what only the tests of scripts/ need: a batch system, ssh and a browser. Their servers
# are neither started nor enabled; the tests start their own.
# --developer adds the packages that only `make CXX=clang++` and `make tidy` need.
# --mutants adds what only `make mutants` needs: universalmutator, from PyPI, in a Python of its own
# in build/mutants/venv.
# --products PACKAGE... adds packages of products, which scripts/products.sh runs; without PACKAGE
# all of them. Their servers are not started either.
set -euo pipefail

packages=(
  libjemalloc-dev libgflags-dev libgoogle-glog-dev liburing-dev libnuma-dev libhwloc-dev libtbb-dev
  libxxhash-dev libgtest-dev libboost-context-dev
  python3 python3-pandas python3-matplotlib python3-scipy clang-format
)
case ${1:-} in
  "") ;;
  --test)
    packages+=(slurmctld slurmd slurm-client munge parallel openssh-server openssh-client chromium)
    ;;
  --developer) packages+=(clang clang-tidy libclang-rt-dev) ;;
  --mutants) packages+=(python3-venv) ;;
  --products)
    if [ $# -gt 1 ]; then
      packages+=("${@:2}")
    else
      packages+=(postgresql-15 mariadb-server mariadb-client sysbench rocksdb-tools
        libwiredtiger-dev libdb5.3-dev libsqlite3-dev liblmdb-dev strace)
    fi
    ;;
  *)
    echo "usage: scripts/install_deps.sh [--test|--developer|--mutants|--products [PACKAGE...]]" >&2
    exit 2
    ;;
esac

fail() {
  echo "install_deps: $*" >&2
  exit 1
}

command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
  fail "this is not a Debian system (no apt-get); install the equivalents of: ${packages[*]}"

# dpkg-query exits with non-zero status if it does not know one of the packages. This is no error.
installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null || true)
missing=()
for package in "${packages[@]}"; do
  grep -qx "$package installed" <<<"$installed" || missing+=("$package")
done

# The version is fixed, so that a seed draws the same mutants. Its dependencies serve other modes.
generator=universalmutator==1.14.1
venv=$(dirname "$0")/../build/mutants/venv
install_generator() {
  [ -e "$venv/$generator" ] && return
  echo "install_deps: pip installs $generator in build/mutants/venv now" >&2
  mkdir -p "$(dirname "$venv")"
  { /usr/bin/python3 -m venv --clear "$venv" &&
    "$venv/bin/pip" install --quiet --no-deps "$generator"; } >&2 ||
    fail "pip could not install $generator, see above"
  touch "$venv/$generator"
}
if [ ${#missing[@]} -eq 0 ]; then
  [ "${1:-}" != --mutants ] || install_generator
  exit 0
fi

how="apt-get"
[ "$(id -u)" -eq 0 ] || how="sudo apt-get"
echo "install_deps: these packages are missing; $how installs them now:" >&2
fmt -w 96 <<<"${missing[*]}" | sed 's/^/  /' >&2

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

# Debian starts a server when it is installed, unless this file says no, and at each boot.
servers=()
for package in "${missing[@]}"; do
  case $package in
    slurmctld | slurmd | munge) servers+=("$package") ;;
    openssh-server) servers+=(ssh) ;;
    postgresql-15) servers+=(postgresql) ;;
    mariadb-server) servers+=(mariadb) ;;
  esac
done
if [ ${#servers[@]} -gt 0 ] && [ ! -e /usr/sbin/policy-rc.d ]; then
  policy=/usr/sbin/policy-rc.d
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod 755 "$policy"
fi

apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
    -o DPkg::Lock::Timeout=300 "$@" >"$log" 2>&1
}

# The package lists are fetched only if they are absent (a fresh container) or outdated (a
# package's file has been removed from the server).
apt install --no-install-recommends "${missing[@]}" || {
  apt update || { tail -n 5 "$log" >&2; fail "apt-get update failed, see above"; }
  apt install --no-install-recommends "${missing[@]}" ||
    { tail -n 15 "$log" >&2; fail "apt-get could not install ${missing[*]}, see above"; }
}
if [ ${#servers[@]} -gt 0 ] && [ -d /run/systemd/system ]; then
  "${as_root[@]}" systemctl --quiet disable --now "${servers[@]}" >"$log" 2>&1 || true
fi
[ "${1:-}" != --mutants ] || install_generator
