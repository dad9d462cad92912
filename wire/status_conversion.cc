#include "wire/status_conversion.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "assay/v1/failure.pb.h"
#include "common/text.h"
#include "common/violations.h"

namespace assay::rpc {
namespace {

// Limits, in bytes, for the parts of an error status. gRPC sends a status in the trailer of a call,
// where clients accept at most 8 KiB. Encoding makes the parts longer: texts are percent-encoded,
// and details grow by a third because of base64.
constexpr size_t kMostText = 1000;
constexpr size_t kMostDetails = 4500;

size_t PercentEncodedSize(std::string_view bytes) {
  const auto plain = std::count_if(bytes.begin(), bytes.end(),
                                   [](char c) { return c >= ' ' && c <= '~' && c != '%'; });
  return bytes.size() * 3 - static_cast<size_t>(plain) * 2;
}

// `text`, or its beginning with "...".
std::string Cut(std::string_view text) {
  if (PercentEncodedSize(text) <= kMostText) return std::string(text);
  size_t kept = 0;
  size_t encoded = 0;
  while (true) {
    const size_t next = DecodeUtf8(text.substr(kept)).bytes;
    encoded += PercentEncodedSize(text.substr(kept, next));
    if (encoded > kMostText) return std::string(text.substr(0, kept)) + "...";
    kept += next;
  }
}

}  // namespace

grpc::Status ToGrpc(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  v1::ErrorDetail detail;
  detail.set_reason(static_cast<v1::Reason>(status.reason()));
  detail.set_hint(Cut(status.hint()));
  for (const Violation& violation : status.violations()) {
    v1::FieldViolation* const added = detail.add_violations();
    added->set_field(Cut(violation.field));
    added->set_description(Cut(violation.description));
    added->set_line(violation.line);
    if (detail.ByteSizeLong() <= kMostDetails) continue;
    added->Clear();
    added->set_description(std::string(kMoreErrors));
    break;
  }
  return {static_cast<grpc::StatusCode>(status.code()), Cut(status.message()),
          detail.SerializeAsString()};
}

Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return Status::Ok();
  v1::ErrorDetail detail;
  if (!detail.ParseFromString(status.error_details())) detail.Clear();
  std::vector<Violation> violations;
  for (const v1::FieldViolation& violation : detail.violations()) {
    violations.push_back({violation.field(), violation.description(), violation.line()});
  }
  return Status(static_cast<Code>(status.error_code()), static_cast<Reason>(detail.reason()),
                status.error_message())
      .WithHint(detail.hint())
      .WithViolations(std::move(violations));
}

}  // namespace assay::rpc
