#!/usr/bin/env bash
# ./dev bundle [PRESET] [--tests]: dist/assay-bundle.tar.gz, a folder that runs wherever it is
# unpacked: our programs, the libraries they need, and PostgreSQL's server. With --tests (then
# PRESET is dev if not given) dist/assay-bundle.tar.xz, with the programs and scripts that measure
# and test GPUs, too.
#
#   assay/bin            -> usr/bin
#   assay/usr/bin        assay, assay-coordinator, assay-agent, assay-runner
#   assay/usr/lib/assay  shared libraries; programs find them by $ORIGIN
#   assay/usr/lib/postgresql/VERSION, assay/usr/share/postgresql/VERSION
#   assay/usr/share/assay  examples, dashboards, units
#   assay/tests/gpu      with --tests: single_gpu.py, collectives.py, sanitize.sh, ...
#
# Not in it, taken from the machine: glibc, the NVIDIA driver's libraries, and CUDA,
# cuBLAS and NCCL (found in /usr/local/cuda or by LD_LIBRARY_PATH).
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
source "$root/tools/common.sh"
source "$root/tools/packages.sh"

programs=(assay assay-coordinator assay-agent assay-runner)
# With --tests: folder of tests/ and program.
test_programs=(
  gpu/gpu_planted_faults gpu/gpu_profiling gpu/gpu_repeatability gpu/gpu_collectives_check
  gpu/gpu_ring_check gpu/gpu_slow_rank gpu/gpu_reference_nccl gpu/gpu_reference_peer
  gpu/gpu_reference_launch bench/cpu_bench
)
# Libraries that the target machine must bring itself.
foreign='^(ld-linux.*|libc|libm|libdl|libpthread|librt|libresolv|libutil|libanl|libmvec|libcuda|libcudart|libcublas|libcublasLt|libnvidia-.*|libnccl|libnvrtc.*|libnvJitLink)\.so'
# Loaded by the benchmarks that call it, so that no program names it to the linker.
loaded_later=(libopenblas.so.0)
cuda_folders=/usr/local/cuda/lib64:/usr/local/cuda/lib
maximum_mib=60

postgres_root() {
  local folders
  mapfile -t folders < <(printf '%s\n' /usr/lib/postgresql/*/bin/postgres | sort -V)
  [[ -x "${folders[-1]}" ]] || die "no PostgreSQL server under /usr/lib/postgresql"
  dirname "$(dirname "${folders[-1]}")"
}

copy_programs() {
  local name
  mkdir -p "$stage/usr/bin"
  ln -s usr/bin "$stage/bin"
  for name in "${programs[@]}"; do
    [[ -x "$build/bin/$name" ]] || die "the build has no $name"
    cp "$build/bin/$name" "$stage/usr/bin/$name"
  done
}

# The folder tests/ as the scripts know it: beside examples/, programs in it.
copy_tests() {
  local program script
  for program in "${test_programs[@]}"; do
    mkdir -p "$stage/tests/$(dirname "$program")"
    cp "$build/tests/$(basename "$program")" "$stage/tests/$program"
  done
  git -C "$root" ls-files -- 'tests/gpu/*.py' 'tests/gpu/*.sh' 'tests/gpu/kernel_variants.txt' \
    'tests/e2e/*.py' | while read -r script; do
    mkdir -p "$stage/$(dirname "$script")"
    cp "$root/$script" "$stage/$script"
  done
  ln -s usr/share/assay/examples "$stage/examples"
}

copy_postgres() {
  local source version
  source="$(postgres_root)"
  version="$(basename "$source")"
  mkdir -p "$stage/usr/lib/postgresql/$version/bin" "$stage/usr/share/postgresql"
  cp "$source"/bin/{postgres,initdb,pg_ctl,pg_isready,psql,pg_dump,pg_restore} \
    "$stage/usr/lib/postgresql/$version/bin/"
  cp -rL "/usr/share/postgresql/$version" "$stage/usr/share/postgresql/"
  rm -rf "$stage/usr/share/postgresql/$version"/{man,contrib}
  # Just-in-time compilation would bring 100 MiB of LLVM; the server runs without it.
  mkdir "$stage/usr/lib/postgresql/$version/lib"
  cp "$source"/lib/*.so "$stage/usr/lib/postgresql/$version/lib/"
  rm -f "$stage/usr/lib/postgresql/$version/lib"/llvmjit*.so
}

elf_files() {
  find "$stage" -type f \( -perm -u+x -o -name '*.so*' \) -print |
    while read -r file; do
      if [[ "$(head -c 4 "$file" | tail -c 3)" == ELF ]]; then
        printf '%s\n' "$file"
      fi
    done
}

# Every library that the given files load, whatever it is loaded by: "name path".
libraries_of() {
  local file
  for file in "$@"; do
    ldd "$file" 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }'
  done | sort -u
}

copy_libraries() {
  local name path files
  mkdir -p "$stage/usr/lib/assay"
  for name in "${loaded_later[@]}"; do
    path="$(/sbin/ldconfig -p | awk -v name="$name" '$1 == name { print $NF; exit }')"
    [[ -n "$path" ]] || die "this machine has no $name"
    cp -L "$path" "$stage/usr/lib/assay/$name"
  done
  mapfile -t files < <(elf_files)
  while read -r name path; do
    if [[ ! "$name" =~ $foreign ]]; then
      cp -L "$path" "$stage/usr/lib/assay/$name"
    fi
  done < <(libraries_of "${files[@]}")
}

# Makes each file look for its libraries beside itself, wherever the bundle lies.
relocate() {
  local file relative
  while read -r file; do
    chmod u+w "$file"
    strip --strip-unneeded "$file" 2>/dev/null || true
    relative="$(realpath --relative-to "$(dirname "$file")" "$stage/usr/lib/assay")"
    patchelf --set-rpath "\$ORIGIN/$relative:$cuda_folders" "$file"
  done < <(elf_files)
}

copy_data() {
  local share="$stage/usr/share/assay" part
  mkdir -p "$share"
  for part in examples dashboards deploy; do
    if [[ -d "$root/$part" ]]; then
      cp -r "$root/$part" "$share/"
    fi
  done
  cp "$root/LICENSE" "$root/README.md" "$stage/"
  cp "$root/tools/bundle-selftest.sh" "$stage/bundle-selftest"
}

main() {
  local preset="" tests=0 argument targets=("${programs[@]}")
  for argument in "$@"; do
    case "$argument" in
      --tests) tests=1 ;;
      -*) die "bundle: unknown option $argument (allowed: --tests)" ;;
      *) preset="$argument" ;;
    esac
  done
  need_packages "${packages_build[@]}" "${packages_run[@]}" "${packages_bundle[@]}"
  if ((tests)); then
    need_packages "${packages_test[@]}"
    preset="${preset:-dev}"
    targets+=("${test_programs[@]##*/}")
  fi
  preset="${preset:-release}"
  if ((tests)) && [[ "$preset" == dev ]]; then
    build_with_tests "${targets[@]}"
  else
    build_preset "$preset" "${targets[@]}"
  fi
  build="$(build_dir "$preset")"
  work="$(mktemp -d)"
  trap 'rm -rf "$work"' EXIT
  stage="$work/assay"
  mkdir -p "$stage" "$root/dist"
  copy_programs
  if ((tests)); then
    copy_tests
  fi
  copy_postgres
  copy_libraries
  relocate
  copy_data
  # gzip is on every machine. The tests need Python there, which unpacks xz too: half the size.
  local archive="$root/dist/assay-bundle.tar.gz" compress=(gzip -9)
  if ((tests)); then
    archive="${archive%.gz}.xz"
    compress=(xz -6 -T0)
  fi
  tar -C "$work" --sort=name --owner=0 --group=0 -cf - assay | "${compress[@]}" >"$archive"
  local mib=$((($(stat -c %s "$archive") + 1048575) / 1048576))
  say "dist/${archive##*/}: $mib MiB"
  ((mib < maximum_mib)) || die "the bundle is larger than $maximum_mib MiB"
  "$root/tools/bundle-selftest.sh" "$archive"
}

main "$@"
