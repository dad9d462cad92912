#!/bin/sh
# compute-sanitizer's memcheck and racecheck over the self-test of each benchmark on GPUs, and
# over its lines of kernel_variants.txt. Of those that run cuBLASLt's or NCCL's kernels, only
# memcheck of Assay's own beside them: racecheck fails in the vendors', also where it is told to
# leave them out. "beside_vendors" runs these own ones by themselves, in every type and under both.
# That both tools find what is wrong is seen first, in kernels with a planted error.
# Usage: sanitize.sh ASSAY_RUNNER PLANTED_FAULTS [NAME...]
# Exit code 77: no GPU or no compute-sanitizer here, nothing tested.
set -u
runner=$1
planted_faults=$2
shift 2
vendors="gemm sustained all_reduce all_gather reduce_scatter broadcast reduce all_to_all gather
         scatter send_recv ring_all_reduce overlap"
# Kernels of namespace assay. NCCL tries ones that this GPU lacks, which is no error of ours;
# what our calls return, the self-test looks at.
own="--kernel-name kns=assay --report-api-errors no"
# Benchmarks whose processes map each other's memory by CUDA IPC: two processes under
# compute-sanitizer then wait for each other indefinitely, so it looks at rank 0 alone.
shared="peer_transfer peer_latency"
# Seconds that one run may take: NCCL's kernels wait for each other, and a sanitizer may stop one.
limit=600

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
  names=beside_vendors
  for name in $(echo "$hidden" | awk '$2 == "unsupported:" { print $1 }'); do
    if echo "$selftest" | grep -q "^$name *ok"; then
      names="$names $name"
    else
      echo "$selftest" | sed -n "s/^$name  *\(unsupported.*\)/left out $name: \1/p" | head -1
    fi
  done
fi

variants=$(dirname "$0")/kernel_variants.txt
failures=0
runs=0

# finds TOOL OPTIONS NAME: the tool ends with the exit code of the error that NAME plants.
finds() {
  # Unquoted: several words, or none.
  output=$(timeout $limit compute-sanitizer --tool "$1" --error-exitcode 9 $2 \
    "$planted_faults" "$variants" "$3" 2>&1)
  status=$?
  [ $status -eq 9 ] && return
  failures=$((failures + 1))
  printf 'FAIL %s finds no planted %s (exit code %s)\n' "$1" "$3" $status
  echo "$output" | head -40
}

# combinations NAME: its lines of kernel_variants.txt, one for each combination of values.
combinations() {
  awk -v name="$1" '$1 == name {
    count = 1
    lines[1] = name
    for (field = 2; field <= NF; ++field) {
      equals = index($field, "=")
      values = split(substr($field, equals + 1), value, ",")
      combined = 0
      for (line = 1; line <= count; ++line) {
        for (one = 1; one <= values; ++one) {
          next_lines[++combined] = lines[line] " " substr($field, 1, equals) value[one]
        }
      }
      count = combined
      for (line = 1; line <= count; ++line) lines[line] = next_lines[line]
    }
    for (line = 1; line <= count; ++line) print lines[line]
  }' "$variants"
}

# came_to EXIT_CODE GOOD_LINES OUTPUT: what the tool and the program under it came to. The tool's
# own exit code is hidden by that of a program that fails; its summaries, one a process, are not.
came_to() {
  summaries=$(echo "$3" | grep 'SUMMARY:')
  if [ -n "$(echo "$summaries" | grep 'SUMMARY:' | grep -v '[^0-9]0 errors')" ]; then
    echo "errors"
  elif [ "$1" -eq 124 ] || echo "$3" | grep -q 'no answer in time'; then
    # Of the tool's waiting, not of the kernels: nothing is known of what did not run.
    [ -z "$summaries" ] && echo "no summary, and not to its end" && return
    echo "no errors, but not to its end"
  elif [ -z "$summaries" ]; then
    echo "no summary"
  elif [ "$1" -ne 0 ] && [ "$1" -ne 3 ]; then
    echo "no errors, but a failure"
  elif [ "$2" -eq 0 ]; then
    echo "no errors, but nothing ran"
  else
    echo "clean"  # Exit code 3: of the named variants and types this GPU lacks some.
  fi
}

# check NAME TOOL OPTIONS GOOD ANY COMMAND...: the command succeeds under the tool, which says that
# it was there; lines of its output match GOOD, and are counted beside those that match ANY.
check() {
  name=$1
  tool=$2
  options=$3
  good=$4
  any=$5
  shift 5
  runs=$((runs + 1))
  begin=$(date +%s)
  # Unquoted: several words, or none.
  output=$(timeout $limit compute-sanitizer --tool "$tool" --error-exitcode 9 $options "$@" 2>&1)
  status=$?
  took=$(($(date +%s) - begin))
  summary=$(echo "$output" | sed -n 's/^=* *\(.*SUMMARY:.*\)/\1/p' | tail -1)
  ran=$(echo "$output" | grep -c "$good")
  end=$(came_to $status "$ran" "$output")
  if [ "$end" = clean ]; then
    printf 'ok   %-24s %-9s %s, %s of %s cases, %s s\n' "$name" "$tool" "$summary" "$ran" \
      "$(echo "$output" | grep -c "$any")" "$took"
    echo "$output" | sed -n "s/^\($name.*unsupported.*: .*\)/     left out \1/p"
  else
    failures=$((failures + 1))
    printf 'FAIL %-24s %-9s %s: %s (exit code %s, %s s)\n' "$name" "$tool" "$end" "$summary" \
      $status "$took"
    echo "$output" | head -40
  fi
}

finds memcheck "" out_of_bounds
finds memcheck "$own" out_of_bounds
finds racecheck "" race
for name in $names; do
  tools="memcheck racecheck"
  options=
  case " $(echo $vendors) " in *" $name "*) tools=memcheck options=$own ;; esac
  case " $shared " in *" $name "*) options="--target-processes application-only" ;; esac
  if [ "$name" = beside_vendors ]; then
    set -- "$planted_faults" "$variants" "$name"
    good='^ok '
    any='^\(ok\|FAIL\) '
  else
    # The self-test, and then the name again with the parameters of each line; on one GPU, which
    # is also that of a gang's first rank.
    set -- "$runner" selftest --gpu 0 "$name"
    for word in $(combinations "$name"); do set -- "$@" "$word"; done
    good="^$name.* ok"
    any="^$name "
  fi
  for tool in $tools; do check "$name" "$tool" "$options" "$good" "$any" "$@"; done
done
echo "$runs runs, $failures failures"
[ $runs -gt 0 ] && [ $failures -eq 0 ]
