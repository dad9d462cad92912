#!/usr/bin/env bash
# ./dev test: builds and runs the tests, with --sanitize first those of the sanitizer
# builds (as long again as all the rest); ctest's summary closes the run.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
source "$root/tools/common.sh"
source "$root/tools/packages.sh"

# Three times the cores, because the longest tests mostly wait.
run_ctest() {
  ctest --output-on-failure --no-tests=error --parallel "$((3 * $(cores)))" "$@"
}

# Puts the files of tests into memory where there is room for them: the databases of tests create
# and delete many thousands of files. The slow tier keeps whole systems, which need a disk.
use_memory() {
  local room free
  room="$(df --output=avail -BM /dev/shm 2>/dev/null | tail -n 1 | tr -dc 0-9 || true)"
  free="$(awk '/^MemAvailable/ {print int($2 / 1024)}' /proc/meminfo)"
  if [[ -n "${TMPDIR:-}" ]] || ((${room:-0} < 4096 || ${free:-0} < 8192)) ||
    findmnt -n -o OPTIONS -T /dev/shm | grep -qw noexec; then
    return
  fi
  TMPDIR="$(mktemp -d /dev/shm/assay-test-XXXXXX)"
  export TMPDIR
  chmod 1777 "$TMPDIR"
  trap 'remove_memory' EXIT
}

# After an interrupt, the processes of tests need a moment to end.
remove_memory() {
  rm -rf "$TMPDIR" 2>/dev/null || { sleep 3 && rm -rf "$TMPDIR"; } || true
}

main() {
  local slow=0 sanitize=0 arguments=()
  while (($#)); do
    case "$1" in
      --slow) slow=1 ;;
      --sanitize) sanitize=1 ;;
      *) arguments+=("$1") ;;
    esac
    shift
  done
  need_packages "${packages_build[@]}" "${packages_run[@]}" "${packages_test[@]}"
  if ((sanitize)); then
    "$root/tools/sanitize.sh"
  fi
  build_with_tests
  if ((!slow)); then
    arguments+=(-LE slow)
    use_memory
  fi
  cd "$root/build"
  run_ctest "${arguments[@]}"
}

main "$@"
