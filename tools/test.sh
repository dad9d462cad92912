#!/usr/bin/env bash
# ./dev test: builds and runs the tests; ctest's summary closes the run.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
source "$root/tools/common.sh"
source "$root/tools/packages.sh"

run_ctest() {
  ctest --output-on-failure --no-tests=error --parallel "$(cores)" "$@"
}

main() {
  local slow=0 sanitize=auto arguments=()
  while (($#)); do
    case "$1" in
      --slow) slow=1 ;;
      --sanitize) sanitize=only ;;
      --no-sanitize) sanitize=no ;;
      *) arguments+=("$1") ;;
    esac
    shift
  done
  # Whoever asks for some tests wants their answer soon.
  if [[ "$sanitize" == auto && ${#arguments[@]} -gt 0 ]]; then
    sanitize=no
  fi
  need_packages "${packages_build[@]}" "${packages_run[@]}" "${packages_test[@]}"
  if [[ "$sanitize" != no ]]; then
    "$root/tools/sanitize.sh"
  fi
  if [[ "$sanitize" == only ]]; then
    return
  fi
  build_preset dev
  if ((!slow)); then
    arguments+=(-LE slow)
  fi
  cd "$root/build"
  run_ctest "${arguments[@]}"
}

main "$@"
