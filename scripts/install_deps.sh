#!/usr/bin/env bash
# Installs what the build, the tests and the demo need on Debian 12 and is not there yet. Silent
# and quick when nothing is missing, so `make test` and `make demo` can call it every time.
set -euo pipefail

packages=(
  libjemalloc-dev libgflags-dev liburing-dev libnuma-dev
  libxxhash-dev libgtest-dev libbenchmark-dev
  python3 python3-pandas python3-matplotlib clang-format
)

fail() {
  echo "install_deps: $*" >&2
  exit 1
}

command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
  fail "this is not a Debian system (no apt-get); install the equivalents of: ${packages[*]}"

# dpkg-query exits non-zero when it has never heard of one of the packages: not an error here.
installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null || true)
missing=()
for package in "${packages[@]}"; do
  grep -qx "$package installed" <<<"$installed" || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null ||
    fail "not root and no sudo; ask an administrator to run: apt-get install ${missing[*]}"
  # Without a terminal sudo could only hang or fail; say which.
  if [ -t 0 ]; then as_root=(sudo); else as_root=(sudo -n); fi
  "${as_root[@]}" true 2>/dev/null ||
    fail "sudo refused; ask an administrator to run: apt-get install ${missing[*]}"
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
    -o DPkg::Lock::Timeout=300 "$@" >"$log" 2>&1
}

echo "install_deps: installing ${missing[*]}" >&2
# Package lists may be absent (a fresh container) or stale (a package's file is gone): only then
# are they fetched.
apt install --no-install-recommends "${missing[@]}" || {
  apt update || { tail -n 5 "$log" >&2; fail "apt-get update failed, see above"; }
  apt install --no-install-recommends "${missing[@]}" ||
    { tail -n 15 "$log" >&2; fail "apt-get could not install ${missing[*]}, see above"; }
}
