#!/usr/bin/env bash
# ./dev bundle [PRESET] [--check]: what runs on a bare Debian 12, Ubuntu 22.04 or newer, wherever
# it is unpacked, without root (dpkg-deb -x ARCHIVE FOLDER, or apt-get install ./ARCHIVE):
#
#   dist/assay-node-VERSION-linux-x86_64.deb  for nodes: agent, runner and their libraries
#   dist/assay-VERSION-linux-x86_64.deb       everything, with PostgreSQL's server
#   dist/*.spdx.json, dist/SHA256SUMS         packages, licences and checksums
#
# --check packs twice and compares the bytes. --fast compresses little, for tests. --audit names
# bundled Debian packages of which there is a newer version by now. ASSAY_BUILD=FOLDER packs that
# build as it is, ASSAY_DIST=FOLDER replaces dist. The coordinator of the build serves the node's
# archive, unless one of the two is set.
#
# [PRESET] --tests (PRESET is dev if not given) makes dist/assay-bundle.tar.xz instead, with the
# programs and scripts that measure and test GPUs, too.
#
#   opt/assay/bin            -> usr/bin
#   opt/assay/usr/bin        assay, assay-coordinator, assay-agent, assay-runner
#   opt/assay/usr/lib/assay  shared libraries; programs find them by $ORIGIN
#   opt/assay/usr/lib/postgresql/VERSION, opt/assay/usr/share/postgresql/VERSION
#   opt/assay/usr/share/assay  examples, dashboards, units
#   opt/assay/NOTICES, MANIFEST, NAME.spdx.json
#   assay/tests/gpu          with --tests: single_gpu.py, collectives.py, sanitize.sh, ...
#
# Not in it, taken from the machine: glibc, libstdc++ and libgcc_s (docs/decisions/0015), the NVIDIA
# driver's libraries, and CUDA's (host/cuda_folders.h says where they are found).
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
source "$root/tools/common.sh"
source "$root/tools/packages.sh"
dist="${ASSAY_DIST:-$root/dist}"

programs=(assay assay-coordinator assay-agent assay-runner)
# With --tests: folder of tests/ and program.
test_programs=(
  gpu/gpu_planted_faults gpu/gpu_profiling gpu/gpu_repeatability gpu/gpu_collectives_check
  gpu/gpu_ring_check gpu/gpu_slow_rank gpu/gpu_reference_nccl gpu/gpu_reference_peer
  gpu/gpu_reference_launch bench/cpu_bench
)
# Libraries that the target machine must bring itself.
foreign='^(ld-linux.*|libstdc\+\+|libgcc_s|libc|libm|libdl|libpthread|librt|libresolv|libutil|libanl|libmvec|libcuda|libcudart|libcublas|libcublasLt|libnvidia-.*|libnccl|libnvrtc.*|libnvJitLink)\.so'
# Loaded by the benchmarks that call it, so that no program names it to the linker.
loaded_later=(libopenblas.so.0)
# Programs of the tests name CUDA's libraries to the linker; ours search for them.
cuda_folders=/usr/local/cuda/lib64:/usr/local/cuda/lib
postgres_programs=(postgres initdb pg_ctl pg_dump pg_restore)
node_programs=(assay-agent assay-runner)
maximum_mib=45
maximum_node_mib=20
maximum_tests_mib=64

postgres_root() {
  local folders
  mapfile -t folders < <(printf '%s\n' /usr/lib/postgresql/*/bin/postgres | sort -V)
  [[ -x "${folders[-1]}" ]] || die "no PostgreSQL server under /usr/lib/postgresql"
  dirname "$(dirname "${folders[-1]}")"
}

# Copies a file of this machine's packages into the stage and notes where it came from.
copy_foreign() {
  cp -L "$1" "$stage/$2"
  printf '%s\t%s\n' "$2" "$1" >>"$work/origins"
}

copy_programs() {
  local name
  mkdir -p "$stage/usr/bin"
  ln -s usr/bin "$stage/bin"
  for name in "$@"; do
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
  local source version name path
  source="$(postgres_root)"
  version="$(basename "$source")"
  mkdir -p "$stage/usr/lib/postgresql/$version"/{bin,lib} "$stage/usr/share/postgresql"
  for name in "${postgres_programs[@]}"; do
    copy_foreign "$source/bin/$name" "usr/lib/postgresql/$version/bin/$name"
  done
  cp -rL "/usr/share/postgresql/$version" "$stage/usr/share/postgresql/"
  rm -rf "$stage/usr/share/postgresql/$version"/{man,contrib}
  for path in "$source"/lib/*.so; do
    name="$(basename "$path")"
    # Just-in-time compilation would bring 100 MiB of LLVM, the others libraries for extensions
    # that Assay does not use; the server runs without them.
    case "$name" in llvmjit* | pgxml.so | sepgsql.so | uuid-ossp.so) continue ;; esac
    copy_foreign "$path" "usr/lib/postgresql/$version/lib/$name"
  done
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
    path="$(/sbin/ldconfig -p | awk -v name="$name" '$1 == name && !n++ { print $NF }')"
    [[ -n "$path" ]] || die "this machine has no $name"
    copy_foreign "$path" "usr/lib/assay/$name"
  done
  mapfile -t files < <(elf_files)
  while read -r name path; do
    if [[ ! "$name" =~ $foreign ]]; then
      copy_foreign "$path" "usr/lib/assay/$name"
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
    if ((tests)); then
      relative+=":$cuda_folders"
    fi
    patchelf --set-rpath "\$ORIGIN/$relative" "$file"
  done < <(elf_files)
}

copy_data() {
  local share="$stage/usr/share/assay" part
  mkdir -p "$share"
  for part in "$@"; do
    mkdir -p "$share/$(dirname "$part")"
    cp -r "$root/$part" "$share/$part"
  done
  cp "$root/LICENSE" "$root/README.md" "$stage/"
}

# Fills an empty stage: everything, or (node) only what a node needs.
fill_stage() {
  mkdir -p "$stage"
  : >"$work/origins"
  if [[ "$1" == node ]]; then
    copy_programs "${node_programs[@]}"
    copy_libraries
    copy_data deploy/systemd/assay-agent.service
  else
    copy_programs "${programs[@]}"
    if ((tests)); then
      copy_tests
    fi
    copy_postgres
    copy_libraries
    copy_data examples dashboards deploy
  fi
  relocate
  cp "$root/tools/bundle-selftest.sh" "$stage/bundle-selftest"
}

# The package's entry in dpkg's database, for those who install instead of unpacking it.
write_control() {
  local name="$1" other="$2"
  mkdir "$work/$name/DEBIAN"
  cat >"$work/$name/DEBIAN/control" <<TEXT
Package: $name
Version: $version
Architecture: amd64
Maintainer: The Assay authors <assay@localhost>
Depends: libc6 (>= 2.35), libstdc++6 (>= 12), libgcc-s1 (>= 12)
Conflicts: $other
Section: utils
Priority: optional
Description: Assay: benchmarks fleets of GPUs
 Relocatable: dpkg-deb -x unpacks it into any folder.
TEXT
}

# Packs one archive into the folder $2. The bytes depend only on the build, the commit's date and
# this machine's packages: dpkg-deb sorts the files and bounds their times by SOURCE_DATE_EPOCH.
pack() {
  local kind="$1" into="$2" name=assay other=assay-node limit="$maximum_mib" archive
  if [[ "$kind" == node ]]; then
    name=assay-node other=assay limit="$maximum_node_mib"
  fi
  archive="$into/$name-$version-linux-x86_64.deb"
  rm -rf "${work:?}/$name"
  stage="$work/$name/opt/assay"
  fill_stage "$kind"
  "$papers" check "$stage"
  "$papers" write "$stage" "$work/origins" "$name" "$version" "$commit" "$SOURCE_DATE_EPOCH" "$preset"
  cp "$stage/$name.spdx.json" "${archive%.deb}.spdx.json"
  write_control "$name" "$other"
  chmod -R u=rwX,go=rX "$work/$name"
  find "$work/$name" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
  # One thread, because several would cut the stream into blocks.
  local level=(-z9 -Sextreme)
  if ((fast)); then
    level=(-z0)
  fi
  dpkg-deb --root-owner-group -Zxz "${level[@]}" --threads-max=1 --build "$work/$name" \
    "$archive" >/dev/null
  local bytes
  bytes="$(stat -c %s "$archive")"
  say "$(basename "$archive"): $(awk -v b="$bytes" 'BEGIN { printf "%.1f", b / 1048576 }') MiB"
  ((fast || bytes <= limit * 1048576)) || die "$(basename "$archive") is larger than $limit MiB"
}

pack_both() {
  mkdir -p "$1"
  pack node "$1"
  pack whole "$1"
  (cd "$1" && sha256sum assay-*.deb assay-*.spdx.json >SHA256SUMS)
}

pack_tests() {
  local archive="$dist/assay-bundle.tar.xz" mib
  # Their scripts ask the database.
  postgres_programs+=(psql pg_isready)
  stage="$work/assay"
  fill_stage whole
  tar -C "$work" --sort=name --owner=0 --group=0 -cf - assay | xz -6 -T0 >"$archive"
  mib=$((($(stat -c %s "$archive") + 1048575) / 1048576))
  say "${archive##*/}: $mib MiB"
  ((mib <= maximum_tests_mib)) || die "the bundle is larger than $maximum_tests_mib MiB"
  "$root/tools/bundle-selftest.sh" "$archive"
}

audit() {
  local documents=("$dist"/assay-*.spdx.json)
  [[ -e "${documents[0]}" ]] || die "bundle: dist has no *.spdx.json; make archives first"
  exec "$papers" audit "${documents[@]}"
}

main() {
  local preset="" tests=0 check=0 fast=0 argument targets=("${programs[@]}") papers version commit
  papers="$root/tools/bundle_papers.py"
  for argument in "$@"; do
    case "$argument" in
      --tests) tests=1 ;;
      --check) check=1 ;;
      --fast) fast=1 ;;
      --audit) audit ;;
      -*) die "bundle: unknown option $argument (allowed: --tests, --check, --fast, --audit)" ;;
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
  if [[ -n "${ASSAY_BUILD:-}" ]]; then
    build="$ASSAY_BUILD"
  else
    if ((tests)) && [[ "$preset" == dev ]]; then
      build_with_tests "${targets[@]}"
    else
      build_preset "$preset" "${targets[@]}"
    fi
    build="$(build_dir "$preset")"
  fi
  version="$(sed -nE 's/^project\(assay VERSION ([0-9.]+) .*/\1/p' "$root/CMakeLists.txt")"
  commit="$(git -C "$root" describe --always --dirty --abbrev=40)"
  SOURCE_DATE_EPOCH="$(git -C "$root" log -1 --format=%ct)"
  export SOURCE_DATE_EPOCH
  work="$(mktemp -d)"
  trap 'rm -rf "$work"' EXIT
  mkdir -p "$dist"
  if ((tests)); then
    pack_tests
    return
  fi
  rm -f "$dist"/assay-*.{deb,spdx.json} "$dist/SHA256SUMS"
  pack_both "$dist"
  if ((check)); then
    pack_both "$work/again"
    cmp "$dist/SHA256SUMS" "$work/again/SHA256SUMS" || die "two packings of one build differ"
    say "packed twice: the same bytes"
  fi
  if [[ -z "${ASSAY_BUILD:-}${ASSAY_DIST:-}" ]]; then
    mkdir -p "$build/share"
    ln -sf "$dist/assay-node-$version-linux-x86_64.deb" "$build/share/assay-node.deb"
  fi
  for argument in "$dist"/assay-*.deb; do
    "$root/tools/bundle-selftest.sh" "$argument"
  done
}

main "$@"
