#!/bin/sh
# Fills the dashboards: a "night" every few seconds, some before the driver changes and some after.
# Then a schedule goes on, and a person has cordoned the failing node.
set -eu
nights_before=10
nights_after=8
upgraded=/var/lib/assay/upgraded

assay() { command assay --insecure "$@"; }

# Waits until all nodes but the failing and the vanishing one match a filter.
await_nodes() {
  until [ "$(assay node list --filter "$1" -o json | grep -c '"node_id"')" -ge 38 ]; do
    sleep 1
  done
}

nights() {
  left=$1
  while [ "$left" -gt 0 ]; do
    assay campaign submit --watch /demo/nightly.yaml >/var/lib/assay/night 2>&1 || {
      cat /var/lib/assay/night
      exit 1
    }
    left=$((left - 1))
    sleep "$ASSAY_DEMO_PAUSE"
  done
}

if assay campaign list -o json | grep -q '"nightly"'; then
  echo "this database already has nights"
  exit
fi
await_nodes 'state = connected'
assay campaign submit /demo/acceptance.yaml
nights "$nights_before"
echo "$nights_before" >"$upgraded"
await_nodes 'state = connected AND driver = "590.10"'
assay annotate "Driver 590.10 installed on all nodes"
nights "$nights_after"
assay node cordon h100-0002 --reason "fails every job"
assay schedule add /demo/nightly.yaml --cron "*/10 * * * *"
