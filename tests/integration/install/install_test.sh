#!/usr/bin/env bash
# Installs the build into an empty folder, runs the installed programs, and builds a project that
# uses the installed package: install_test.sh BUILD.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cmake --install "$1" --prefix "$work/usr" >"$work/log" || { cat "$work/log"; exit 1; }
for program in assay assay-agent assay-coordinator assay-runner; do
  "$work/usr/bin/$program" --version
done
cmake -G Ninja -S "$here" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/usr" >"$work/log" ||
  { cat "$work/log"; exit 1; }
cmake --build "$work/build"
"$work/build/consumer"
