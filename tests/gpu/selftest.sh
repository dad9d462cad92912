#!/bin/sh
# The runner on real GPUs: every benchmark verifies at a small size on each, all within five
# minutes, CUDA offers all that NVML lists, an end by a signal is told, and sizes that do not fit
# are refused with words. Usage: selftest.sh ASSAY_RUNNER
# Exit code 77: no GPU here, nothing tested.
set -u
runner=$1

if "$runner" list | grep '^gemm ' | grep -q 'unsupported'; then
  echo "skipped: $("$runner" list | grep '^gemm ' | sed 's/.*(unsupported: \(.*\))/\1/')"
  exit 77
fi

failures=0
fail() {
  echo "FAIL $1"
  failures=$((failures + 1))
}

# refuses EXIT_CODE WORDS ARGUMENTS...: the run ends with the code and says the words.
refuses() {
  code=$1
  words=$2
  shift 2
  output=$("$runner" run "$@" 2>&1)
  status=$?
  [ "$status" -eq "$code" ] || fail "run $*: exit code $status, not $code: $output"
  echo "$output" | grep -q "$words" || fail "run $*: does not say \"$words\": $output"
}

selftest=$(timeout 300 "$runner" selftest) || fail "selftest: exit code $?"
echo "$selftest"
echo "$selftest" | tail -1 | grep -q ' 0 failed on GPU' || fail "selftest: the last line sums up"
"$runner" selftest --gpu 0 bank_conflict || fail "selftest of GPU 0: exit code $?"
CUDA_VISIBLE_DEVICES='' "$runner" selftest --require-gpu
[ $? -eq 3 ] || fail "selftest --require-gpu without one: not exit code 3"
"$runner" selftest --require-gpu bank_conflict ||
  fail "selftest --require-gpu: exit code $?: does CUDA offer all GPUs that NVML lists?"
if echo "$selftest" | tail -1 | grep -q ' on GPUs'; then
  CUDA_VISIBLE_DEVICES=0 "$runner" selftest --require-gpu bank_conflict | tail -1 |
    grep -q '; 1 of the .* that NVML lists, selected by CUDA_VISIBLE_DEVICES="0"' ||
    fail "selftest --require-gpu of one of several: does not count them"
fi
# Ended as soon as it has said something.
lines=$(mktemp -u)
mkfifo "$lines"
"$runner" selftest > "$lines" &
{ read -r _; kill -TERM $!; cat; } < "$lines" | grep -q 'interrupted by SIGTERM' ||
  fail "selftest: does not sum up when it is ended"
rm "$lines"
refuses 1 "are free" gemm m=1048576 n=1048576 k=1048576
refuses 1 "are free" memory_bandwidth bytes=1TiB
refuses 2 "multiple of 4" memory_bandwidth bytes=6
if echo "$selftest" | grep -q '^all_reduce  *ok'; then
  refuses 2 "multiple of 8" all_reduce ranks=2 bytes=12 dtype=fp64
fi
if echo "$selftest" | grep -q '^peer_transfer  *ok'; then
  refuses 2 "below ranks, which is 2: 0 to 1" peer_transfer to=2
  refuses 3 "are the same GPU" peer_transfer from=1 to=1
  refuses 2 "multiple of 256" peer_latency bytes=1000
fi
refuses 3 "needs 64 GPUs" peer_transfer ranks=64
refuses 2 "with dtype fp8_e4m3 it must be nt" gemm m=64 n=64 k=64 dtype=fp8_e4m3
refuses 2 "multiple of 16" gemm m=64 n=64 k=72 dtype=fp8_e5m2 layout=nt
refuses 2 "multiple of 4" gemm m=64 n=66 k=64 dtype=int8 layout=nt
refuses 2 "with accumulate fast it must be fp8_e4m3 or fp8_e5m2" gemm m=64 n=64 k=64 accumulate=fast
refuses 2 "one of" gemm m=64 n=64 k=64 dtype=bf17
refuses 2 "needs" gemm m=64 --gpu
refuses 3 "needs 64 GPUs" all_reduce ranks=64

echo "$failures failures"
[ "$failures" -eq 0 ]
