#!/usr/bin/env bash
#SBATCH --job-name=assay
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --no-requeue
#SBATCH --signal=B:TERM@180
#
# Makes the nodes of an allocation nodes of a fleet, and drains them at its end:
#
#   sbatch --nodes=4 --time=1:00:00 deploy/slurm/assay-agents.sh
#   sbatch --nodes=4 --time=1:00:00 deploy/slurm/assay-agents.sh assay campaign submit FILE --watch
#
# A command is run on the first node once the nodes have joined; the job ends with its exit status.
# Without a command the nodes stay until the time limit. SIGTERM, which Slurm sends 180 s earlier,
# drains them: jobs that still run after ASSAY_DRAIN (default: 60s) are queued again.
#
# The first node needs the program assay and the user's context, with the role admin. Each node
# gets an ephemeral invite of its own and runs the line of that invite, which downloads the programs
# into ASSAY_HOME (default: ~/.local/share/assay-node) unless they are there. Nodes are named
# HOST-JOBID and have the label slurm_job=JOBID. ASSAY_OPTIONS has further options for the agents.
set -euo pipefail

: "${SLURM_JOB_ID:?submit this script with sbatch}"
drain=${ASSAY_DRAIN:-60s}
patience=${ASSAY_PATIENCE:-300} # Seconds to wait for nodes to join.
step='' command='' waiting=() joined=()

# Runs on each node. ASSAY_LINES has the name and the line of each node.
# shellcheck disable=SC2016
on_node='
set -eu
name=${SLURMD_NODENAME:?}-$SLURM_JOB_ID
while read -r node rest; do
  [ "$node" != "$name" ] || line=$rest
done <<LINES
$ASSAY_LINES
LINES
unset ASSAY_LINES
umask 077
data=${SLURM_TMPDIR:-${TMPDIR:-/tmp}}/assay-$name
mkdir -p "$data"
${line%% | sh -s -- *} >"$data/join.sh"
sh "$data/join.sh" "${line##* }" --data "$data" --http "" ${ASSAY_OPTIONS:-} &
agent=$!
trap "kill -TERM $agent 2>/dev/null || true" TERM INT
status=0
while kill -0 "$agent" 2>/dev/null; do
  status=0
  wait "$agent" || status=$?
done
if ls "$data"/spool/*.result >/dev/null 2>&1; then
  echo "$name: results were not sent; within an hour, assay-agent --data $data sends them" >&2
else
  rm -rf "$data"
fi
exit "$status"
'

is_connected() {
  assay node show "$1" -o json 2>/dev/null | grep -q NODE_STATE_CONNECTED
}

# Waits until all nodes are connected, for at most $patience seconds.
await_nodes() {
  local deadline=$((SECONDS + patience)) name rest
  while ((${#waiting[@]} > 0 && SECONDS < deadline)) && kill -0 "$step" 2>/dev/null; do
    rest=()
    for name in "${waiting[@]}"; do
      if is_connected "$name"; then joined+=("$name"); else rest+=("$name"); fi
    done
    waiting=("${rest[@]}")
    ((${#waiting[@]} == 0)) || sleep 1
  done
  for name in "${waiting[@]}"; do
    echo "$name has not joined; the output of its agent is above" >&2
  done
}

finish() {
  trap '' TERM INT
  local name drains=()
  [[ -z $command ]] || kill -TERM "$command" 2>/dev/null || true
  for name in "${joined[@]}"; do
    assay node drain "$name" --deadline "$drain" --reason "end of Slurm job $SLURM_JOB_ID" &
    drains+=($!)
  done
  ((${#drains[@]} == 0)) || wait "${drains[@]}" || true
  if [[ -n $step ]]; then
    # The agents are the job's first step. SIGTERM to srun itself would kill them.
    scancel --signal=TERM "$SLURM_JOB_ID.0" 2>/dev/null || true
    wait "$step" || true
  fi
}
trap finish EXIT
trap 'exit 143' INT
# Without a command, the end of the time is the expected end.
trap 'if [[ -n $command ]]; then exit 143; else exit 0; fi' TERM

ASSAY_LINES=
while read -r host; do
  name=$host-$SLURM_JOB_ID
  invite=$(assay node invite --name "$name" --label "slurm_job=$SLURM_JOB_ID" --ephemeral \
    --ttl 10m -o json)
  line=$(sed -n 's/.*"command": *"\([^"]*\)".*/\1/p' <<<"$invite")
  ASSAY_LINES+="$name $line"$'\n'
  waiting+=("$name")
done < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
export ASSAY_LINES

srun --nodes="${#waiting[@]}" --ntasks="${#waiting[@]}" --ntasks-per-node=1 --cpu-bind=none \
  --kill-on-bad-exit=0 --wait=0 sh -c "$on_node" &
step=$!
unset ASSAY_LINES
await_nodes
((${#joined[@]} > 0)) || exit 1
echo "joined: ${joined[*]}"
if (($# > 0)); then
  "$@" &
  command=$!
  wait "$command"
else
  wait "$step"
fi
