#!/usr/bin/env bash
# Builds and tests the committed tree on another Debian, with another compiler, in a directory made
# by debootstrap. Needs root. The tree comes from `git archive`, so it has no .git.
#
# usage: scripts/systems.sh SUITE COMPILER STEP...
#   SUITE      bookworm or trixie
#   COMPILER   g++-11 to g++-14 or clang++-14 to clang++-19, as the suite has it
#   STEP       build | test | demo   `make`, `make test`, `make demo`, as root
#              user     the same, as a user who has a compiler and Python but no root rights: in a
#                       path with a space, with `make deps PREFIX=DIR`
#              read-only   builds and runs with BUILD elsewhere, as a user who cannot write the tree
# ROOTS=DIR has the directories; else build/systems. COMMIT=REVISION takes another tree than HEAD.
# CXXFLAGS, LDFLAGS, JOBS and WERROR are make's. The last line of a step is its name and its status.
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-} in -h | --help) sed -n '2,15s/^# \?//p' scripts/systems.sh; exit ;; esac
[ $# -ge 3 ] || { sed -n '2,15s/^# \?//p' scripts/systems.sh >&2; exit 2; }
suite=$1 compiler=$2
shift 2
case $suite in bookworm | trixie) ;; *) echo "systems: no suite $suite: bookworm or trixie" >&2; exit 2 ;; esac
[ "$(id -u)" -eq 0 ] || { echo "systems: debootstrap and chroot need root" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "systems: there is no debootstrap: apt-get install debootstrap" >&2; exit 2; }
root=$(realpath -m "${ROOTS:-build/systems}/$suite")
if [ ! -e "$root/logjam-made" ]; then
  mkdir -p "$root"
  debootstrap --variant=minbase "$suite" "$root" http://deb.debian.org/debian >"$root.log" 2>&1 ||
    { tail -n 5 "$root.log" >&2; echo "systems: debootstrap failed, see above" >&2; exit 3; }
  touch "$root/logjam-made"
fi
tree=/opt/logjam
rm -rf "${root:?}$tree"
mkdir -p "$root$tree"
git archive "${COMMIT:-HEAD}" | tar -x -C "$root$tree"

# This machine may reach the network by a proxy that has its own certificate.
mkdir -p "$root/etc/ssl/certs"
cp -L "${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}" "$root/etc/ssl/certs/host.crt"

# Runs the standard input as a script in the directory, with /proc, /dev and /sys of this machine.
inside() {
  unshare --mount sh -c 'mount -t proc proc "$0/proc"; mount --rbind /dev "$0/dev"
    mount --rbind /sys "$0/sys"; mount -t tmpfs tmpfs "$0/tmp"
    exec chroot "$0" env -i SSL_CERT_FILE=/etc/ssl/certs/host.crt PIP_CERT=/etc/ssl/certs/host.crt \
      PATH=/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin HOME="$1" bash -euo pipefail' \
    "$root" "${1:-/root}"
}
make="make -j${JOBS:-$(nproc)} CXX=$compiler ${WERROR:+WERROR=$WERROR} ${CXXFLAGS:+'CXXFLAGS=$CXXFLAGS'} ${LDFLAGS:+'LDFLAGS=$LDFLAGS'}"
build="build-$compiler"
package=${compiler/clang++/clang}
inside <<SETUP
export DEBIAN_FRONTEND=noninteractive
command -v $compiler >/dev/null && command -v python3 >/dev/null && id logjam >/dev/null 2>&1 || {
  apt-get -q update && apt-get -q -y install --no-install-recommends $package ${package/clang/libclang-rt-}$(
    [[ $package == clang* ]] && echo -dev || true) make python3 ca-certificates || 
  apt-get -q -y install --no-install-recommends $package make python3 ca-certificates
  id logjam || useradd -m logjam
} >/tmp/apt 2>&1 || { tail -n 5 /tmp/apt >&2; exit 3; }
SETUP

failed=0
for step in "$@"; do
  case $step in
    build) script="cd $tree; $make deps; $make BUILD=$build
      $build/logjam list devices | head -n 3" ;;
    test) script="cd $tree; $make BUILD=$build test" ;;
    demo) script="cd $tree; $make BUILD=$build demo" ;;
    user) script="cat > /tmp/user <<'AS_USER'
      set -euo pipefail
      rm -rf ~/log\ jam; mkdir ~/log\ jam; cp -r $tree/. ~/log\ jam; cd ~/log\ jam
      $make deps JOB=demo PREFIX=\$HOME/our\ prefix || exit
      $make PREFIX=\$HOME/our\ prefix BUILD=$build demo
      $build/logjam run --threads=2 --seconds=1 --wal_dir=\$HOME/wal
      $build/logjam recover --verify --wal_dir=\$HOME/wal
AS_USER
      chmod 644 /tmp/user; su logjam -c 'bash /tmp/user'" ;;
    read-only) script="mount --bind -o ro $tree $tree; cd $tree
      su logjam -c 'set -e; $make BUILD=/tmp/built
        scripts/figures.py sweep --help >/dev/null; /tmp/built/logjam list schemes | head -n 3'" ;;
    *) echo "systems: no step $step" >&2; exit 2 ;;
  esac
  status=0
  inside <<<"$script" || status=$?
  [ $status -eq 0 ] || failed=1
  echo "$suite $compiler $step: status $status"
done
exit $failed
