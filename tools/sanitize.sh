#!/usr/bin/env bash
# The unit and contract tests under sanitizers: AddressSanitizer and
# UndefinedBehaviorSanitizer on all of them, ThreadSanitizer on those programs that
# link no gRPC and no PostgreSQL client (Debian's are not instrumented, and every
# call through them would be reported).
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
source "$root/tools/common.sh"

# Test programs that a build folder defines.
test_programs() {
  ninja -C "$1" -t targets all |
    sed -nE 's|^(tests/[a-z0-9_]+_test): CXX_EXECUTABLE_LINKER.*|\1|p' | sort -u
}

configure() {
  cmake --preset "$1" >/dev/null
}

# Object files of a program's link, libraries by name included.
links_uninstrumented() {
  ninja -C "$1" -t commands "$2" | tail -n 1 | grep -qE 'libgrpc|libpq|libprometheus'
}

# OpenBLAS is not instrumented either, and the runner loads it: its threads' hand-overs
# to their caller look like races. libpqxx 6.4 loses the result of a statement whose
# connection ends.
suppressions="$(mktemp)"
leaks="$(mktemp)"
trap 'rm -f "$suppressions" "$leaks"' EXIT
echo "race:libopenblas" >"$suppressions"
echo "leak:libpqxx" >"$leaks"
export TSAN_OPTIONS="suppressions=$suppressions${TSAN_OPTIONS:+:$TSAN_OPTIONS}"
export LSAN_OPTIONS="suppressions=$leaks${LSAN_OPTIONS:+:$LSAN_OPTIONS}"

# Runs test programs one by one, quietly unless one fails.
run_programs() {
  local dir="$1" program log failed=0
  shift
  log="$(mktemp)"
  for program in "$@"; do
    if setarch "$(uname -m)" -R "$dir/$program" --gtest_brief=1 >"$log" 2>&1; then
      say "  $(basename "$program"): $(grep -c . "$log") lines, clean"
    else
      cat "$log"
      failed=1
    fi
  done
  rm -f "$log"
  return "$failed"
}

main() {
  cd "$root"
  local preset program programs status=0
  for preset in asan tsan; do
    configure "$preset"
    programs=()
    while read -r program; do
      if [[ "$preset" == asan ]] || ! links_uninstrumented "build/$preset" "$program"; then
        programs+=("$program")
      fi
    done < <(test_programs "build/$preset")
    say "building ${#programs[@]} test programs, preset $preset"
    ninja -C "build/$preset" --quiet "${programs[@]}"
    run_programs "build/$preset" "${programs[@]}" || status=1
  done
  return "$status"
}

main "$@"
