#!/usr/bin/env bash
# ./dev lint: what can be judged without running anything.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
source "$root/tools/common.sh"
source "$root/tools/packages.sh"
cd "$root"

# clang-tidy reads a compilation database made for clang, so that it knows the flags.
lint_dir="$root/build/lint"
failures=()

# Runs one check and goes on after its failure, so that one run tells all.
check() {
  local name="$1"
  shift
  say "$name"
  "$@" || failures+=("$name")
}

configure() {
  if [[ -f "$lint_dir/build.ninja" ]]; then
    return
  fi
  cmake -S "$root" -B "$lint_dir" -G Ninja -DASSAY_CUDA=OFF \
    -DCMAKE_C_COMPILER=clang-14 -DCMAKE_CXX_COMPILER=clang++-14 >/dev/null
}

# The protocol's headers must exist before anything that includes them is judged.
generate_protocol() {
  local outputs
  mapfile -t outputs < <(ninja -C "$lint_dir" -t targets all |
    sed -nE 's|^([^ ]+\.pb\.h): .*|\1|p')
  ninja -C "$lint_dir" "${outputs[@]}" >/dev/null
}

format() { list_sources | xargs -r -d '\n' clang-format-14 --dry-run --Werror; }

# Sources that CMake builds and that are ours, by path from the root.
built_sources() {
  jq -r '.[].file' "$lint_dir/compile_commands.json" | sed -n "s|^$root/||p" |
    grep -v '^build/' | sort -u
}

# Those among them that the working tree or the last commits changed.
changed_sources() {
  local base
  base="$(git merge-base HEAD origin/main 2>/dev/null || git rev-parse HEAD)"
  if [[ "$base" == "$(git rev-parse HEAD)" ]]; then
    base="$(git rev-parse HEAD~1 2>/dev/null || git rev-parse HEAD)"
  fi
  { git diff --name-only "$base" -- '*.cc'; git ls-files --others --exclude-standard -- '*.cc'; } |
    sort -u | comm -12 - <(built_sources)
}

tidy() {
  xargs -r -d '\n' -P "$(cores)" -n 1 clang-tidy-14 -p "$lint_dir" --quiet 2>/dev/null
}

# Compiles every source with clang for its diagnostics alone: warnings and the
# thread-safety analysis are errors.
thread_safety() {
  jq -r --arg root "$root/" '.[] | select(.file | startswith($root)) |
      select(.file | startswith($root + "build/") | not) | .command' \
    "$lint_dir/compile_commands.json" |
    sed -E 's/ -o [^ ]+//; s/ -c / -fsyntax-only -Wall -Wextra -Wpedantic -Wthread-safety -Werror /; s|^[^ ]*ccache ||' |
    (cd "$lint_dir" && xargs -r -d '\n' -P "$(cores)" -I{} bash -c '{}')
}

style() {
  local test status=0
  for test in include_rules source links language shell dashboards; do
    PYTHONDONTWRITEBYTECODE=1 python3 "tests/style/${test}_test.py" || status=1
  done
  return "$status"
}

main() {
  local all=0
  case "${1:-}" in
    --all) all=1 ;;
    "") ;;
    *) die "lint: unknown option $1 (allowed: --all)" ;;
  esac
  need_packages "${packages_build[@]}" "${packages_test[@]}" "${packages_lint[@]}" jq python3
  check "style tests" style
  check "clang-format" format
  configure
  generate_protocol
  check "thread-safety analysis" thread_safety
  if ((all)); then
    check "clang-tidy on every file" tidy < <(built_sources)
  else
    check "clang-tidy on changed files" tidy < <(changed_sources)
  fi
  if ((${#failures[@]})); then
    die "failed: $(printf '%s; ' "${failures[@]}")"
  fi
  say "lint is clean"
}

main "$@"
