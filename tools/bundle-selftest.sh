#!/usr/bin/env bash
# Proves that an archive runs here: bundle-selftest [ARCHIVE]. An archive is unpacked into a
# temporary folder first; without one, the folder of this script is tested.
set -euo pipefail

work="$(mktemp -d)"
chmod 755 "$work"
cleanup() {
  if [[ -f "$work/data/postmaster.pid" ]]; then
    as_server "$postgres/pg_ctl" -D "$work/data" -m immediate -s stop || true
  fi
  rm -rf "$work"
}
trap cleanup EXIT

# PostgreSQL refuses to run as root.
as_server() {
  if ((EUID != 0)); then
    "$@"
  elif id postgres >/dev/null 2>&1; then
    setpriv --reuid=postgres --regid=postgres --clear-groups "$@"
  else
    setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups "$@"
  fi
}

check_postgres() {
  mkdir "$work/data" "$work/socket"
  if ((EUID == 0)); then
    chmod 777 "$work/data" "$work/socket"
    rmdir "$work/data"
    chmod 777 "$work"
  fi
  cd "$work"
  as_server "$postgres/initdb" -D "$work/data" -U assay --auth=trust --no-sync >/dev/null
  as_server "$postgres/pg_ctl" -D "$work/data" -s -w -l "$work/data/log" \
    -o "-c listen_addresses= -c unix_socket_directories=$work/socket" start
  as_server "$postgres/pg_dump" -h "$work/socket" -U assay --schema-only postgres >/dev/null
  as_server "$postgres/pg_ctl" -D "$work/data" -s -w stop
}

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
if (($#)); then
  if [[ "$1" == *.deb ]]; then
    dpkg-deb -x "$1" "$work"
    here="$work/opt/assay"
  else
    tar -C "$work" -xf "$1"
    here="$work/assay"
  fi
fi

if [[ -e "$here/MANIFEST" ]]; then
  (cd "$here" && sha256sum --quiet -c MANIFEST)
fi
for program in "$here"/usr/bin/assay*; do
  "$program" --version
done
"$here/bin/assay-runner" list >/dev/null
# This machine may have its own, which would serve as well.
[[ -e "$here/usr/lib/assay/libopenblas.so.0" ]] || { echo "the bundle has no OpenBLAS" >&2; exit 1; }
"$here/bin/assay-runner" selftest cpu_gemm | grep -q '^cpu_gemm *ok'
# What a program of the tests lacks is CUDA's, which may not be here.
for program in "$here"/tests/*/*; do
  [[ -x "$program" && "$(head -c 4 "$program" | tail -c 3)" == ELF ]] || continue
  missing="$(ldd "$program" | grep 'not found' | grep -vE 'lib(cuda|cudart|cublas|cublasLt|nccl)\.' || true)"
  [[ -z "$missing" ]] || { echo "$program lacks $missing" >&2; exit 1; }
done
if [[ -d "$here/usr/lib/postgresql" ]]; then
  postgres="$(dirname "$(printf '%s\n' "$here"/usr/lib/postgresql/*/bin/postgres | sort -V | tail -n 1)")"
  check_postgres
fi
echo "the bundle runs here"
