#!/bin/sh
# Starts Prometheus with rules that judge simulated nodes in place of real ones. This is right for
# this demonstration alone: alerts.yaml leaves simulated nodes out on purpose.
set -eu
mkdir -p /prometheus/config
cp /etc/prometheus/prometheus.yml /etc/prometheus/recordings.yaml /prometheus/config
sed 's/simulated=""/simulated="true"/g' /etc/prometheus/alerts.yaml >/prometheus/config/alerts.yaml
exec prometheus --config.file=/prometheus/config/prometheus.yml "$@"
