#!/usr/bin/env bash
# Prints and installs the packages that a job needs and that are missing, with apt-get, dnf, pacman
# or zypper. If nothing is missing, the script is silent and fast, so make calls it each time. It
# looks for headers, programs and modules of Python, not for packages: it does not matter who
# installed them.
#
# usage: [PREFIX=DIR] scripts/install_deps.sh JOB
#   build      the packages that build the program
#   test       build, and the packages that build the tests
#   demo       build, and the packages that draw tables and plots
#   sim        test and demo, and the packages that build the simulated program
#   tools      sim, and the packages for the tests of scripts/: batch system, ssh, browser, LaTeX, perf
#   developer  test, and clang, clang-tidy and clang-format
#   arm        a cross compiler for aarch64, and an emulator
#   ci         tools, developer and arm
#   fuzz       test, and clang with libFuzzer
#   judge      build, and in build/judge duckdb, from PyPI, and adya, from crates.io (needs cargo)
#   products [PACKAGE...]   Debian's packages of products, which scripts/products.sh runs; without
#                           PACKAGE all
# PREFIX=DIR (for build, test and demo) needs no root: missing libraries are unpacked in DIR
# (scripts/prefix.py), and missing modules of Python are installed in DIR/venv, from PyPI.
# COMPILE is a compiler's command with the flags that find the headers (g++).
# The servers of tools and products are neither started nor enabled; the tests start their own.
set -euo pipefail

# Prints the needs of a part. Each line has a <header>, a program, python:MODULE or tex:FILE, and the
# packages that contain it: of Debian and Ubuntu, Fedora and RHEL, Arch, openSUSE. Only Debian's were tried.
needs() {
  case $1 in
    build) cat <<'TABLE' ;;
g++                              g++                 gcc-c++              gcc                gcc-c++
make                             make                make                 make               make
python3                          python3             python3              python             python3
<jemalloc/jemalloc.h>            libjemalloc-dev     jemalloc-devel       jemalloc           jemalloc-devel
<gflags/gflags.h>                libgflags-dev       gflags-devel         gflags             gflags-devel
<glog/logging.h>                 libgoogle-glog-dev  glog-devel           google-glog        glog-devel
<liburing.h>                     liburing-dev        liburing-devel       liburing           liburing-devel
<numa.h>                         libnuma-dev         numactl-devel        numactl            libnuma-devel
<hwloc.h>                        libhwloc-dev        hwloc-devel          hwloc              hwloc-devel
<tbb/task_arena.h>               libtbb-dev          tbb-devel            onetbb             tbb-devel
<xxhash.h>                       libxxhash-dev       xxhash-devel         xxhash             xxhash-devel
TABLE
    test) cat <<'TABLE' ;;
<gtest/gtest.h>                  libgtest-dev        gtest-devel          gtest              gtest
TABLE
    demo) cat <<'TABLE' ;;
python:pandas                    python3-pandas      python3-pandas       python-pandas      python3-pandas
python:matplotlib                python3-matplotlib  python3-matplotlib   python-matplotlib  python3-matplotlib
python:tomllib                   python3-tomli       python3-tomli        python-tomli       python3-tomli
python:scipy                     python3-scipy       python3-scipy        python-scipy       python3-scipy
TABLE
    sim) cat <<'TABLE' ;;
<boost/context/fiber.hpp>        libboost-context-dev boost-devel         boost              libboost_context-devel
TABLE
    tools) cat <<'TABLE' ;;
slurmctld                        slurmctld           slurm-slurmctld      slurm-llnl         slurm
slurmd                           slurmd              slurm-slurmd         slurm-llnl         slurm-node
sbatch                           slurm-client        slurm                slurm-llnl         slurm
munged                           munge               munge                munge              munge
parallel                         parallel            parallel             parallel           gnu_parallel
sshd                             openssh-server      openssh-server       openssh            openssh-server
ssh                              openssh-client      openssh-clients      openssh            openssh-clients
chromium                         chromium            chromium             chromium           chromium
strace                           strace              strace               strace             strace
perf                             linux-perf          perf                 perf               perf
pdflatex                         texlive-latex-base  texlive-latex        texlive-latex      texlive-latex
tex:pgf.sty                      texlive-pictures    texlive-pgf          texlive-pictures   texlive-pgf
tex:booktabs.sty                 texlive-latex-recommended texlive-booktabs texlive-latexrecommended texlive-booktabs
TABLE
    developer) cat <<'TABLE' ;;
clang++                          clang               clang                clang              clang
clang-tidy                       clang-tidy          clang-tools-extra    clang              clang-tools
clang-format                     clang-format        clang-tools-extra    clang              clang-tools
TABLE
    fuzz) cat <<'TABLE' ;;
clang++                          clang               clang                clang              clang
clang:asan                       libclang-rt-dev     compiler-rt          compiler-rt        clang
TABLE
    arm) cat <<'TABLE' ;;
aarch64-linux-gnu-g++            g++-aarch64-linux-gnu gcc-c++-aarch64-linux-gnu aarch64-linux-gnu-gcc cross-aarch64-gcc12
qemu-aarch64                     qemu-user           qemu-user            qemu-user          qemu-linux-user
TABLE
  esac
}
case ${1:-} in
  build | judge | products) parts=(build) ;;
  test) parts=(build test) ;;
  demo) parts=(build demo) ;;
  sim) parts=(build test demo sim) ;;
  tools) parts=(build test demo sim tools) ;;
  developer) parts=(build test developer fuzz) ;;
  arm) parts=(arm) ;;
  ci) parts=(build test demo sim tools developer fuzz arm) ;;
  fuzz) parts=(build test fuzz) ;;
  *)
    echo "usage: scripts/install_deps.sh build|test|demo|sim|tools|developer|arm|ci|fuzz|judge|products" >&2
    exit 2
    ;;
esac
products=()
if [ "$1" = products ]; then
  products=(postgresql-15 mariadb-server mariadb-client sysbench rocksdb-tools libwiredtiger-dev
    libdb5.3-dev libsqlite3-dev liblmdb-dev strace)
  [ $# -eq 1 ] || products=("${@:2}")
fi
prefix=${PREFIX:-}
COMPILE=${COMPILE:-g++}
here=$(cd "$(dirname "$0")" && pwd)
python=/usr/bin/python3
[ -z "${VIRTUAL_ENV:-}" ] || python=$VIRTUAL_ENV/bin/python3
[ ! -x "$prefix/venv/bin/python3" ] || python=$prefix/venv/bin/python3

fail() {
  echo "install_deps: $*" >&2
  exit 1
}

# Prints the needs of the standard input's lines that are not there.
absent() {
  local lines need probe="" modules=()
  lines=$(cat)
  for need in $(cut -d ' ' -f 1 <<<"$lines"); do
    case $need in
      "<"*) probe+="#if !__has_include($need)"$'\n'"absent $need"$'\n'"#endif"$'\n' ;;
      python:*) modules+=("${need#python:}") ;;
      tex:*) kpsewhich "${need#tex:}" >/dev/null 2>&1 || echo "$need" ;;
      g++) command -v "${COMPILE%% *}" >/dev/null || echo "$need" ;;
      clang:asan) compgen -G "$(clang++ -print-resource-dir 2>/dev/null)/lib/*/libclang_rt.asan*" >/dev/null || echo "$need" ;;
      *) PATH=$PATH:/usr/sbin:/sbin command -v "$need" >/dev/null || echo "$need" ;;
    esac
  done
  if [ -n "$probe" ]; then
    # Without a compiler no header can be looked for: all are taken for absent.
    { eval "$COMPILE -E -P -x c++ -" 2>/dev/null || grep '^absent'; } <<<"$probe" |
      sed -n 's/^absent *//p' | tr -d ' '
  fi
  if [ ${#modules[@]} -gt 0 ]; then
    "$python" -c 'import importlib.util, sys
for name in sys.argv[1:]:
    names = (name, "tomli") if name == "tomllib" else (name,)
    if not any(map(importlib.util.find_spec, names)): print("python:" + name)' "${modules[@]}" 2>/dev/null ||
      printf 'python:%s\n' "${modules[@]}"
  fi
}

table=$(for part in "${parts[@]}"; do needs "$part"; done)
missing=$(absent <<<"$table" | sort -u)
# Prints the packages of column $1 that have what is missing.
packages() {
  awk -v column="$1" 'NR == FNR { missing[$1]; next } $1 in missing { print $column }' \
    <(echo "$missing") <(echo "$table")
}

# The judges of recovered tables and of histories, at fixed versions. A mark file records each.
duckdb=duckdb==2.0.1 adya=adya@0.1.0
judge=$here/../build/judge
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

# dpkg-query fails if it does not know one of the packages. This is no error.
if [ ${#products[@]} -gt 0 ]; then
  installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${products[@]}" 2>/dev/null || true)
  for package in "${products[@]}"; do
    grep -qx "$package installed" <<<"$installed" || missing+=" $package"
  done
fi
if [ -z "${missing// /}" ]; then
  install_judges "$1"
  exit 0
fi

if [ -n "$prefix" ]; then
  case $1 in build | test | demo) ;; *) fail "PREFIX serves the jobs build, test and demo" ;; esac
  programs=$(grep -v '^<\|^python:' <<<"$missing" || true)
  [ -z "$programs" ] || fail "PREFIX=$prefix gets libraries and modules of Python, not these programs: $programs"
  libraries=$(missing=$(grep '^<' <<<"$missing" || true) packages 2)
  modules=$(sed -n 's/^python:tomllib/python:tomli/; s/^python://p' <<<"$missing")
  # shellcheck disable=SC2086
  exec "$here/prefix.py" "$prefix" $libraries ${modules:+--modules $modules} \
    --machine="$(eval "$COMPILE -dumpmachine" | cut -d - -f 1)"
fi

column=0
for manager in apt-get dnf pacman zypper; do
  column=$((column + 1))
  command -v "$manager" >/dev/null && break
  [ "$manager" != zypper ] ||
    fail "there is no apt-get, dnf, pacman or zypper; install what has these:" $missing
done
case $manager in
  apt-get) install="apt-get install --no-install-recommends" ;;
  dnf) install="dnf install" ;;
  pacman) install="pacman -S --needed" ;;
  zypper) install="zypper install" ;;
esac
mapfile -t packages < <({ packages $((column + 1)); printf '%s\n' "${products[@]}"; } | grep . | sort -u)
by="$manager"
[ "$(id -u)" -eq 0 ] || by="sudo $manager"
echo "install_deps: these packages are missing; $by installs them now:" >&2
printf '%s\n' "${packages[@]}" | fmt -w 96 | sed 's/^/  /' >&2

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  ask="ask an administrator to run: $install ${packages[*]}"
  case $1 in build | test | demo) ask+="
install_deps: or, without an administrator: make deps PREFIX=DIR JOB=$1, and make PREFIX=DIR from then on" ;; esac
  command -v sudo >/dev/null || fail "not root and no sudo; $ask"
  # Without a terminal sudo must fail instead of asking for a password.
  if [ -t 0 ]; then as_root=(sudo); else as_root=(sudo -n); fi
  "${as_root[@]}" true 2>/dev/null || fail "sudo refused; $ask"
fi

log=$(mktemp)
policy=
finish() {
  rm -f "$log"
  [ -z "$policy" ] || "${as_root[@]}" rm -f "$policy"
}
trap finish EXIT

# Debian starts a server at its installation, unless policy-rc.d forbids this, and at each boot.
servers=()
for package in "${packages[@]}"; do
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
if [ ${#servers[@]} -gt 0 ] && [ "$manager" = apt-get ] && [ ! -e /usr/sbin/policy-rc.d ]; then
  policy=/usr/sbin/policy-rc.d
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod 755 "$policy"
fi

run() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "$@" >"$log" 2>&1; }
case $manager in
  apt-get)
    apt() { run apt-get -q -y -o DPkg::Lock::Timeout=300 "$@"; }
    # apt-get update runs only if the package lists are absent (a fresh container) or outdated (the
    # server no longer has a package's file).
    apt install --no-install-recommends "${packages[@]}" || {
      apt update || { tail -n 5 "$log" >&2; fail "apt-get update failed, see above"; }
      apt install --no-install-recommends "${packages[@]}"
    }
    ;;
  dnf) run dnf install -y "${packages[@]}" ;;
  pacman) run pacman -Sy --needed --noconfirm "${packages[@]}" ;;
  zypper) run zypper --non-interactive install "${packages[@]}" ;;
esac || { tail -n 15 "$log" >&2; fail "$manager could not install ${packages[*]}, see above"; }
if [ ${#servers[@]} -gt 0 ] && [ -d /run/systemd/system ]; then
  "${as_root[@]}" systemctl --quiet disable --now "${servers[@]}" >"$log" 2>&1 || true
fi
install_judges "$1"
