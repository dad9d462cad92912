#!/bin/sh
# compute-sanitizer's memcheck and racecheck over the self-test of each benchmark whose
# kernels are Assay's own, and over its lines of kernel_variants.txt.
# Usage: sanitize.sh ASSAY_RUNNER [NAME...]
# Exit code 77: no GPU or no compute-sanitizer here, nothing tested.
set -u
runner=$1
shift
# Kernels of cuBLASLt and NCCL; NCCL's also wait for each other's progress.
vendors="gemm sustained all_reduce all_gather reduce_scatter broadcast reduce all_to_all gather
         scatter send_recv ring_all_reduce overlap"

if ! command -v compute-sanitizer > /dev/null; then
  echo "skipped: compute-sanitizer is not installed"
  exit 77
fi
selftest=$("$runner" selftest) || { echo "$selftest"; echo "FAIL the self-test fails"; exit 1; }
if echo "$selftest" | grep -q '^vector_add .*unsupported'; then
  echo "skipped: $(echo "$selftest" | sed -n 's/^vector_add *unsupported: //p')"
  exit 77
fi

names=$*
if [ -z "$names" ]; then
  # The benchmarks on GPUs are those that fail to start where no GPU is visible.
  hidden=$(CUDA_VISIBLE_DEVICES='' "$runner" selftest)
  for name in $(echo "$selftest" | awk '$2 == "ok" { print $1 }'); do
    echo "$hidden" | grep -q "^$name *unsupported" || continue
    case " $(echo $vendors) " in *" $name "*) ;; *) names="$names $name" ;; esac
  done
fi

variants=$(dirname "$0")/kernel_variants.txt
failures=0
for name in $names; do
  # The self-test, and then the name again with the parameters of each line.
  set -- "$name"
  for word in $(grep "^$name " "$variants"); do set -- "$@" "$word"; done
  for tool in memcheck racecheck; do
    output=$(compute-sanitizer --tool $tool --error-exitcode 9 "$runner" selftest "$@" 2>&1)
    status=$?
    summary=$(echo "$output" | sed -n 's/^=* *\(.*SUMMARY:.*\)/\1/p' | tail -1)
    if [ $status -eq 0 ]; then
      printf 'ok   %-24s %-9s %s\n' "$name" $tool "$summary"
    else
      failures=$((failures + 1))
      printf 'FAIL %-24s %-9s %s (exit code %s)\n' "$name" $tool "$summary" $status
      echo "$output" | head -40
    fi
  done
done
echo "$failures failures"
[ $failures -eq 0 ]
