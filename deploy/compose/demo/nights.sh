#!/bin/sh
# Fills the dashboards: a "night" every few seconds, some before the driver changes and some after.
set -eu
nights_before=10
nights_after=8

assay() { command assay --insecure "$@"; }

# Prints the number of nodes that match a filter.
count_nodes() { assay node list --filter "$1" -o json | grep -c '"node_id"' || true; }

night() {
  assay campaign submit --watch /demo/nightly.yaml >/tmp/night 2>&1 || {
    cat /tmp/night
    exit 1
  }
  sleep "$ASSAY_DEMO_PAUSE"
}

if assay campaign list -o json | grep -q '"nightly"'; then
  echo "this database already has nights"
  exit
fi
until [ "$(count_nodes 'state = connected AND simulated = true')" -ge 39 ]; do sleep 1; done
assay campaign submit /demo/acceptance.yaml
nights=0
while [ "$nights" -lt "$nights_before" ] || [ "$(count_nodes 'driver = "590.10"')" -lt 39 ]; do
  night
  nights=$((nights + 1))
done
assay annotate "Driver 590.10 installed on all nodes"
while [ "$nights_after" -gt 0 ]; do
  night
  nights_after=$((nights_after - 1))
done
