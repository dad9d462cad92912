#!/usr/bin/env bash
# Writes proto/golden/assay_v1.textproto: the wire protocol as accepted. A test
# compares every later descriptor with it (tests/style/proto_test.cc).
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
source "$root/tools/common.sh"

descriptor="$(mktemp)"
trap 'rm -f "$descriptor"' EXIT
cd "$root/proto"
protoc -I. --descriptor_set_out="$descriptor" assay/v1/*.proto
mkdir -p golden
protoc --decode google.protobuf.FileDescriptorSet google/protobuf/descriptor.proto \
  -I/usr/include <"$descriptor" >golden/assay_v1.textproto
say "wrote proto/golden/assay_v1.textproto: commit it with the change that it accepts"
