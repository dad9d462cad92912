#!/bin/sh
# Simulates the nodes of one provider, with the faults of NAME.yaml:
#   fleet.sh NAME PROVIDER REGION OPTIONS...
set -eu
name=$1 provider=$2 region=$3
shift 3

# The driver changes once, some minutes after the first start. Later starts keep that time.
upgrade=/var/lib/assay/upgrade-$name
[ -e "$upgrade" ] || date -u -d "$ASSAY_DEMO_UPGRADE" +%Y-%m-%dT%H:%M:%SZ >"$upgrade"
sed "s/UPGRADE/$(cat "$upgrade")/" "/demo/$name.yaml" >"/var/lib/assay/$name-faults.yaml"
sed -e "s/^provider: .*/provider: \"$provider\"/" -e "s/^region: .*/region: \"$region\"/" \
  "/demo/profiles/8x-$name.textproto" >"/var/lib/assay/$name.textproto"

exec assay-agent simulate --prefix "$name-" --profile "/var/lib/assay/$name.textproto" \
  --faults "/var/lib/assay/$name-faults.yaml" --insecure "$@"
