#!/usr/bin/env bash
# ./dev demo: a whole fleet in a temporary folder, one campaign, its results.
# Everything that is started here is ended here.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
source "$root/tools/common.sh"
source "$root/tools/packages.sh"

bin="$root/build/bin"
pids=()
work=

cleanup() {
  local pid
  for pid in "${pids[@]}"; do
    kill "$pid" 2>/dev/null || true
  done
  for pid in "${pids[@]}"; do
    wait "$pid" 2>/dev/null || true
  done
  if [[ -n "$work" ]]; then
    rm -rf "$work"
  fi
}

# Runs a program in the background until the demo ends: start NAME COMMAND...
start() {
  local name="$1"
  shift
  "$@" >"$work/$name.log" 2>&1 &
  pids+=("$!")
}

# Waits until a command succeeds: await SECONDS WHAT COMMAND...
await() {
  local deadline=$((SECONDS + $1)) what="$2" pid
  shift 2
  until "$@" >/dev/null 2>&1; do
    for pid in "${pids[@]}"; do
      kill -0 "$pid" 2>/dev/null || show_logs "a program ended early"
    done
    if ((SECONDS >= deadline)); then
      show_logs "$what did not happen in time"
    fi
    sleep 0.1
  done
}

show_logs() {
  tail -n 20 "$work"/*.log >&2
  die "$1"
}

two_nodes() {
  "$assay" node list -o json |
    jq -e '[.[] | select(.state == "NODE_STATE_CONNECTED")] | length >= 2'
}

# The coordinator's address, from what `assay up` says once it is up.
read_address() { sed -nE 's/^ *Coordinator: +([^ ]+).*/\1/p' "$work/up.log" | grep . ; }

main() {
  build_programs
  local began=$SECONDS campaign
  work="$(mktemp -d -t assay-demo.XXXXXX)"
  chmod 755 "$work"
  trap cleanup EXIT
  assay="$bin/assay"

  say "starting PostgreSQL, a coordinator and an agent: assay up --data $work/data"
  start up "$assay" up --data "$work/data" --listen 127.0.0.1:0 --http 127.0.0.1:0 \
    --console 127.0.0.1:0
  await 40 "the start of the fleet" read_address
  ASSAY_COORDINATOR="$(read_address)"
  export ASSAY_COORDINATOR
  say "starting a second agent"
  start agent-2 "$bin/assay-agent" --data "$work/agent-2" --coordinator "$ASSAY_COORDINATOR" \
    --listen 127.0.0.1:0 --http 127.0.0.1:0 --name node-2
  await 20 "the second node's connection" two_nodes
  "$assay" node list

  for campaign in "${campaigns[@]}"; do
    say "assay campaign submit examples/$campaign --watch"
    "$assay" campaign submit "$root/examples/$campaign" --watch
  done
  say "assay results"
  "$assay" results
  say "done in $((SECONDS - began)) s after the build. Next, with a fleet that stays:"
  cat <<TEXT
  build/bin/assay up --data ./assay-data
  build/bin/assay campaign submit examples/quickstart.yaml --watch
  build/bin/assay results --filter 'benchmark="cpu_gemm"' -o csv
  build/bin/assay node list
TEXT
}

campaigns=(quickstart.yaml)
if has_gpu; then
  campaigns+=(gpu-quickstart.yaml)
fi
main "$@"
