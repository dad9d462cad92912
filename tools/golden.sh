#!/usr/bin/env bash
# Accepts the wire protocol, the wording of messages and the generated reference pages as they are
# now: writes proto/golden/assay_v1.textproto, which tests/style/proto_test.cc compares every later
# descriptor with, tests/golden/*.txt, which EXPECT_WORDING compares messages with
# (tests/wording.h), and the generated blocks of docs/reference (tests/docs/page.h).
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

if [[ -d "$root/build/tests" ]]; then
  rm -f "$root"/tests/golden/*.txt
  ASSAY_ACCEPT_WORDING=1 ctest --test-dir "$root/build" -L 'unit|contract' -LE slow \
    --parallel "$(cores)" >/dev/null || true
  say "wrote tests/golden and docs/reference: commit them with the change that they accept"
fi
