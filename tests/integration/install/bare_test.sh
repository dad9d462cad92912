#!/usr/bin/env bash
# Unpacks both archives on bare systems and stores one result: bare_test.sh BUILD. Users are not
# root there, and only loopback is up. Suites whose archive is unreachable are skipped.
# ASSAY_BARE_ROOTS=FOLDER keeps the systems for the next run.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)"
build="$1"

skip() {
  echo "skipped: $1"
  exit 77
}

((EUID == 0)) || skip "chroot needs root"
command -v debootstrap >/dev/null || skip "debootstrap is not installed"
unshare -mn true 2>/dev/null || skip "this container may not make namespaces"

work="$(mktemp -d)"
roots="${ASSAY_BARE_ROOTS:-$work/roots}"
trap 'rm -rf "$work"' EXIT

# As nobody, with /proc, /sys and a network of its own. The first argument is the system's folder.
enter() {
  # shellcheck disable=SC2016  # Expanded in the new namespaces.
  unshare -mnpf --kill-child bash -euc '
    ip link set lo up
    mount -t proc proc "$1/proc"
    mount -t sysfs sysfs "$1/sys"
    exec chroot --userspec=65534:65534 "$1" /usr/bin/env -i HOME=/tmp/home PATH=/usr/bin:/bin \
      bash -euc "$2"' _ "$1" "$2"
}

# What a user does: a coordinator from the whole archive, a node from the node's, one benchmark.
# shellcheck disable=SC2016  # Expanded in the system.
steps='
mkdir -p /tmp/home && cd /tmp/home
for name in assay assay-node; do
  begin=$(date +%s%N)
  dpkg-deb -x /tmp/$name.deb $name
  echo "  unpacked $name in $((($(date +%s%N) - begin) / 1000000)) ms"
done
node=assay-node/opt/assay bin=assay/opt/assay/bin
(cd $node && sha256sum --quiet -c MANIFEST)
$node/bin/assay-agent --version
$node/bin/assay-runner selftest cpu_gemm
$bin/assay up --data data --no-agent >up.log 2>&1 &
for ((i = 0; i < 600; i++)); do
  ! $bin/assay node list >list 2>&1 || break
  sleep 0.2
done
$node/bin/assay-agent --data agent --name bare --coordinator 127.0.0.1:7900 >agent.log 2>&1 &
for ((i = 0; i < 600; i++)); do
  ! $bin/assay node list 2>/dev/null | grep -q bare || break
  sleep 0.2
done
$bin/assay run cpu_gemm m=128 >run.log 2>&1 || { cat up.log agent.log run.log; exit 1; }
$bin/assay results -o json | grep -q "\"bare\"" || { cat run.log; exit 1; }
echo "  stored a result of node bare"
'

ASSAY_BUILD="$build" ASSAY_DIST="$work/dist" "$root/tools/bundle.sh" dev --fast --check
tested=0
for suite in bookworm jammy noble; do
  system="$("$root/tests/integration/install/bare_system.sh" "$suite" "$roots")" || {
    (($? == 77)) || exit 1
    continue
  }
  for name in assay assay-node; do
    cp "$work/dist/$name"-[0-9]*.deb "$system/tmp/$name.deb"
  done
  rm -rf "$system/tmp/home"
  echo "$suite:"
  enter "$system" "$steps"
  tested=$((tested + 1))
done
((tested)) || skip "no archive could be reached"
