#!/usr/bin/env bash
# ./dev bench [trust | history [--rows N] | dashboards [--rows N] | fleet [--all] | scrape [--nodes N]
# | console | predict]: what Assay itself costs, what floods of hostile peers cost, what results cost
# to store and to find, how quick dashboards on PostgreSQL are, what 100, 1,000 and (--all) 10,000
# simulated nodes cost, how long Prometheus' scrapes of 10,000 take, or how quick the console or
# predictions are. Ends with 1 if a figure misses its limit.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
source "$root/tools/common.sh"
source "$root/tools/packages.sh"

need_packages "${packages_build[@]}" "${packages_run[@]}" "${packages_test[@]}" "${packages_bench[@]}"
build_with_tests
if [[ "${1:-}" == trust ]]; then
  say "what floods of a peer cost the others"
  exec env ASSAY_BUILD="$root/build" PYTHONDONTWRITEBYTECODE=1 \
    /usr/bin/python3 "$root/tests/e2e/flood_test.py" --figures
fi
if [[ "${1:-}" == history ]]; then
  say "what results cost to store"
  "$root/build/tests/storage_bench" results
  say "what questions to a history cost"
  exec "$root/build/tests/history_bench" "${@:2}"
fi
if [[ "${1:-}" == dashboards ]]; then
  say "how quick dashboards on PostgreSQL are"
  exec env ASSAY_BUILD="$root/build" PYTHONDONTWRITEBYTECODE=1 \
    python3 "$root/tests/e2e/dashboards_bench.py" "${@:2}"
fi
if [[ "${1:-}" == fleet ]]; then
  say "what fleets of simulated nodes cost"
  exec env ASSAY_BUILD="$root/build" PYTHONDONTWRITEBYTECODE=1 \
    python3 "$root/tests/e2e/fleet_bench.py" "${@:2}"
fi
if [[ "${1:-}" == scrape ]]; then
  say "how long scrapes of a large fleet take"
  exec env ASSAY_BUILD="$root/build" PYTHONDONTWRITEBYTECODE=1 \
    python3 "$root/tests/e2e/scrape_bench.py" "${@:2}"
fi
if [[ "${1:-}" == predict ]]; then
  say "how long predictions take among a million results"
  exec env ASSAY_BUILD="$root/build" PYTHONDONTWRITEBYTECODE=1 \
    python3 "$root/tests/e2e/predict_bench.py" "${@:2}"
fi
if [[ "${1:-}" == console ]]; then
  say "how quick the console and reports are"
  exec env ASSAY_BUILD="$root/build" PYTHONDONTWRITEBYTECODE=1 \
    /usr/bin/python3 "$root/tests/e2e/console_bench.py"
fi
status=0
say "overhead of a job, from real processes on loopback"
ASSAY_BUILD="$root/build" PYTHONDONTWRITEBYTECODE=1 \
  python3 "$root/tests/e2e/overhead_bench.py" || status=1
say "a campaign for any of many nodes"
ASSAY_BUILD="$root/build" PYTHONDONTWRITEBYTECODE=1 \
  python3 "$root/tests/e2e/scale_bench.py" || status=1
say "tcp_bandwidth beside iperf3"
network_bench() {
  ASSAY_BUILD="$root/build" PYTHONDONTWRITEBYTECODE=1 \
    python3 "$root/tests/e2e/network_bench.py" "$@"
}
skipped=77 # Where network namespaces are not allowed.
network_status=0
network_bench || network_status=$?
if ((network_status == skipped)); then
  network_status=0
  network_bench --loopback || network_status=1
fi
((network_status == 0)) || status=1
# OpenMP threads otherwise spin into the turn of what they are compared with.
export OMP_WAIT_POLICY=passive
for program in "$root"/build/tests/*_bench "$root"/build/bin/*_bench; do
  if [[ -x "$program" ]]; then
    say "$(basename "$program")"
    "$program" || status=1
  fi
done
exit "$status"
