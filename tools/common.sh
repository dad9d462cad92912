# Helpers that ./dev and the scripts in tools/ share. Sourced, never run.

say() { printf '\033[1m[dev]\033[0m %s\n' "$*" >&2; }
die() {
  printf '\033[1m[dev]\033[0m error: %s\n' "$*" >&2
  exit 1
}

cores() { nproc; }

# Puts nvcc on the PATH where a toolkit is installed but not on it.
find_cuda() {
  local root
  if command -v nvcc >/dev/null; then
    return
  fi
  for root in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
    if [[ -n "$root" && -x "$root/bin/nvcc" ]]; then
      export PATH="$root/bin:$PATH"
      return
    fi
  done
  return 1
}

has_gpu() { command -v nvidia-smi >/dev/null && [[ "$(nvidia-smi -L 2>/dev/null)" == GPU* ]]; }

# The build folder of a preset.
build_dir() {
  if [[ "$1" == dev ]]; then
    printf '%s\n' "$root/build"
  else
    printf '%s\n' "$root/build/$1"
  fi
}

# Options of the next configuration.
configure_options=()

# Configures (when needed) and builds a preset: build_preset NAME [target...]
build_preset() {
  local preset="$1" dir log
  shift
  dir="$(build_dir "$preset")"
  find_cuda || true
  if [[ ! -f "$dir/build.ninja" || "$root/CMakePresets.json" -nt "$dir/build.ninja" ]]; then
    say "configuring preset $preset in ${dir#"$root"/}"
    log="$(mktemp)"
    if ! (cd "$root" && cmake --preset "$preset" "${configure_options[@]}" >"$log" 2>&1); then
      cat "$log" >&2
      die "cmake could not configure preset $preset"
    fi
    grep -E '^-- CUDA benchmarks' "$log" >&2 || true
    rm -f "$log"
  fi
  say "building preset $preset with $(cores) jobs"
  if (($#)); then
    set -- --target "$@"
  fi
  cmake --build "$dir" --parallel "$(cores)" "$@"
}

# Builds the four programs alone, which need no packages of the tests.
build_programs() {
  need_packages "${packages_build[@]}" "${packages_run[@]}"
  if [[ ! -f "$root/build/build.ninja" ]]; then
    configure_options=(-DASSAY_TESTS=OFF -DASSAY_UNITY=ON)
  fi
  build_preset dev assay assay-agent assay-coordinator assay-runner
}

# Builds the preset dev with its tests, also where only the programs were built before. Unity builds
# stay as they were configured. In a fresh tree only continuous integration gets one, since whoever
# edits single files builds them faster without.
build_with_tests() {
  if grep -qs '^ASSAY_TESTS:BOOL=OFF' "$root/build/CMakeCache.txt"; then
    rm -f "$root/build/build.ninja"
  fi
  configure_options=(-DASSAY_TESTS=ON)
  if [[ "${CI:-}" == true ]]; then
    configure_options+=(-DASSAY_UNITY=ON)
  fi
  build_preset dev "$@"
}

# Our C++ and CUDA files, tracked or not yet.
list_sources() {
  git -C "$root" ls-files --cached --others --exclude-standard -- \
    '*.h' '*.cc' '*.cu' '*.cuh' | while read -r file; do
    [[ -f "$root/$file" ]] && printf '%s\n' "$file"
  done
}
