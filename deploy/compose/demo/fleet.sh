#!/bin/sh
# Simulates the nodes of one provider, with the faults of NAME.yaml:
#   fleet.sh NAME PROVIDER REGION OPTIONS...
# When nights.sh has run some nights, all nodes restart with another driver.
set -eu
name=$1 provider=$2 region=$3
shift 3
state=/var/lib/assay

sed -e "s/^provider: .*/provider: \"$provider\"/" -e "s/^region: .*/region: \"$region\"/" \
  "/demo/profiles/8x-$name.textproto" >"$state/$name.textproto"
set -- assay-agent simulate --prefix "$name-" --profile "$state/$name.textproto" --insecure "$@"

if [ ! -e "$state/upgraded" ]; then
  sed '/# upgraded$/d' "/demo/$name.yaml" >"$state/$name.yaml"
  "$@" --faults "$state/$name.yaml" &
  child=$!
  trap 'kill "$child"; wait "$child"; exit' TERM INT
  until [ -e "$state/upgraded" ]; do
    kill -0 "$child" # Ends this script if the simulation has ended.
    sleep 1
  done
  trap - TERM INT
  kill "$child"
  wait "$child" || true
fi
exec "$@" --faults "/demo/$name.yaml" --first-run "$(cat "$state/upgraded")"
