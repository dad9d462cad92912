#!/usr/bin/env bash
# ./dev test: builds and runs the tests; ctest's summary closes the run.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
source "$root/tools/common.sh"
source "$root/tools/packages.sh"

# What ThreadSanitizer can judge: test programs that link no gRPC (Debian's is
# not instrumented, and every call through it would be reported).
tsan_pattern='^(base|common|measure|roofline|supervisor|spool|scheduler|coordinator_core|agent_core).*_test$'

run_ctest() {
  ctest --output-on-failure --no-tests=error --parallel "$(cores)" "$@"
}

# Test programs of a build folder that are defined, by CMake target name.
test_programs() {
  ninja -C "$1" -t targets all 2>/dev/null |
    sed -nE 's|^tests/([a-z0-9_]+): CXX_EXECUTABLE_LINKER.*|\1|p' | sort -u
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
