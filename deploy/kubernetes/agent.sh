#!/bin/sh
# Entry of an agent's container. A node that has joined goes on with the identity in its data
# folder. A new one waits for its invite, which invite-nodes.sh writes to the data folder.
# The arguments are further options of assay-agent.
set -eu

data=${ASSAY_DATA:-/var/lib/assay-agent}
invite=$data/invite

if [ -e "$data/identity/enrolment.json" ]; then
  rm -f "$invite"
  exec assay-agent --data "$data" "$@"
fi

trap 'exit 143' TERM INT
[ -e "$invite" ] || echo "this node has no identity yet: run deploy/kubernetes/invite-nodes.sh"
until [ -e "$invite" ]; do
  sleep 1
done
read -r url pin ASSAY_INVITE <"$invite"
export ASSAY_INVITE
# An invite that failed is not tried again: it is gone when the container restarts.
trap 'rm -f "$invite"' EXIT
assay-agent join --url "$url" --pin "$pin" --data "$data" "$@" &
agent=$!
trap 'kill -TERM "$agent" 2>/dev/null || true' TERM INT
status=0
while kill -0 "$agent" 2>/dev/null; do
  status=0
  wait "$agent" || status=$?
done
exit "$status"
