#!/bin/sh
# compute-sanitizer's memcheck and racecheck over the self-test of each benchmark on GPUs, and
# over its lines of kernel_variants.txt; of those that run cuBLASLt's or NCCL's kernels, over
# Assay's own beside them, which make the inputs, sum up and verify.
# Usage: sanitize.sh ASSAY_RUNNER [NAME...]
# Exit code 77: no GPU or no compute-sanitizer here, nothing tested.
set -u
runner=$1
shift
vendors="gemm sustained all_reduce all_gather reduce_scatter broadcast reduce all_to_all gather
         scatter send_recv ring_all_reduce overlap"
# Of namespace assay; ranks are processes of their own.
own="--target-processes all --kernel-name kns=assay"

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
  for name in $(echo "$hidden" | awk '$2 == "unsupported:" { print $1 }'); do
    if echo "$selftest" | grep -q "^$name *ok"; then
      names="$names $name"
    else
      echo "$selftest" | sed -n "s/^$name  *\(unsupported.*\)/left out $name: \1/p"
    fi
  done
fi

variants=$(dirname "$0")/kernel_variants.txt
failures=0
runs=0
for name in $names; do
  case " $(echo $vendors) " in *" $name "*) kernels=$own ;; *) kernels= ;; esac
  # The self-test, and then the name again with the parameters of each line.
  set -- "$name"
  for word in $(grep "^$name " "$variants"); do set -- "$@" "$word"; done
  for tool in memcheck racecheck; do
    runs=$((runs + 1))
    # Unquoted: several words, or none.
    output=$(compute-sanitizer --tool $tool --error-exitcode 9 $kernels "$runner" selftest "$@" 2>&1)
    status=$?
    summary=$(echo "$output" | sed -n 's/^=* *\(.*SUMMARY:.*\)/\1/p' | tail -1)
    ran=$(echo "$output" | grep -c "^$name.* ok")
    if [ $status -eq 0 ] && [ -n "$summary" ] && [ "$ran" -gt 0 ]; then
      printf 'ok   %-24s %-9s %s, %s of %s cases\n' "$name" $tool "$summary" "$ran" \
        "$(echo "$output" | grep -c "^$name ")"
    else
      failures=$((failures + 1))
      printf 'FAIL %-24s %-9s %s (exit code %s)\n' "$name" $tool "$summary" $status
      echo "$output" | head -40
    fi
  done
done
echo "$runs runs, $failures failures"
[ $runs -gt 0 ] && [ $failures -eq 0 ]
