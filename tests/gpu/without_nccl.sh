#!/bin/sh
# A build without NCCL has all tests on GPUs but those of collectives.
# Usage: without_nccl.sh SOURCE CMAKE [OPTION...]
set -u
source=$1
cmake=$2
shift 2

folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
if ! "$cmake" "$@" -S "$source" -B "$folder" -DASSAY_SERVICES=OFF -DASSAY_CUDA=ON \
  -DASSAY_NCCL=OFF > "$folder/log" 2>&1; then
  cat "$folder/log"
  exit 1
fi
tests=$(cd "$folder" && ctest -N)
failures=0
for name in gpu_planted_faults gpu_profiling gpu_repeatability gpu_selftest gpu_sanitize; do
  echo "$tests" | grep -q ": $name\$" || { echo "FAIL no test $name"; failures=$((failures + 1)); }
done
targets=$("$cmake" --build "$folder" --target help)
for name in gpu_reference_launch gpu_reference_peer; do
  echo "$targets" | grep -q "$name" || { echo "FAIL no program $name"; failures=$((failures + 1)); }
done
for name in gpu_collectives_check gpu_ring_check gpu_slow_rank; do
  echo "$tests" | grep -q ": $name\$" && { echo "FAIL $name without NCCL"; failures=$((failures + 1)); }
done
echo "$failures failures"
[ "$failures" -eq 0 ]
