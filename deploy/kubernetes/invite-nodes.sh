#!/usr/bin/env bash
# Gives each agent that has not joined yet an invite of its own:
#
#   deploy/kubernetes/invite-nodes.sh [--namespace NAMESPACE] [OPTIONS OF assay node invite]
#
# For whoever may both exec into the agents' pods and invite nodes: it needs kubectl and assay, with
# a context whose role is admin. The invite goes to one pod's data folder, not to a Secret, which
# all nodes of the cluster could read. Nodes get the names of their machines in Kubernetes.
set -euo pipefail

namespace=assay
if [[ ${1:-} == --namespace ]]; then
  namespace=${2:?--namespace needs a value}
  shift 2
fi

in_pod() {
  kubectl --namespace "$namespace" exec -i "$1" -- sh -c "$2"
}

failed=0
pods=$(kubectl --namespace "$namespace" get pods --selector app=assay-agent \
  --field-selector status.phase=Running \
  --output 'jsonpath={range .items[*]}{.metadata.name}{" "}{.spec.nodeName}{"\n"}{end}')
while read -r pod node; do
  [[ -n $pod ]] || continue
  # The pod waits for its invite.
  # shellcheck disable=SC2016
  if in_pod "$pod" 'test -e "$ASSAY_DATA/identity/enrolment.json"' </dev/null; then
    continue
  fi
  answer=$(assay node invite --name "$node" --ttl 10m "$@" -o json)
  line=$(sed -n 's/.*"command": *"\([^"]*\)".*/\1/p' <<<"$answer")
  # The line is: curl -fsSk --pinnedpubkey sha256//PIN URL/join | sh -s -- TOKEN
  pin=${line#*sha256//}
  url=${pin#* }
  # shellcheck disable=SC2016
  if in_pod "$pod" 'umask 077 && cat >"$ASSAY_DATA/invite.new" &&
      mv "$ASSAY_DATA/invite.new" "$ASSAY_DATA/invite"' \
    <<<"${url%%/join *} ${pin%% *} ${line##* }"; then
    echo "$node: invited"
  else
    echo "$node: cannot write to pod $pod" >&2
    failed=1
  fi
done <<<"$pods"
exit "$failed"
