#include "wire/status_conversion.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "assay/v1/failure.pb.h"
#include "common/text.h"
#include "common/violations.h"
#include "google/rpc/error_details.pb.h"

namespace assay::rpc {
namespace {

// Limits, in bytes, for each text and for all details of an error status. gRPC sends a status in
// the trailer of a call, which clients limit to 8 KiB. The limits here are lower, because texts are
// sent percent-encoded and details base64-encoded.
constexpr size_t kMostText = 1000;
constexpr size_t kMostDetails = 5000;
// The share of the space for violations that an ErrorDetail may use. Violations are sent twice, in
// an ErrorDetail and in a BadRequest, which gets the remaining space.
constexpr double kShareOfErrorDetail = 0.6;
// Room for an Any's type and for the lengths of its fields.
constexpr size_t kAnyBytes = 60;

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

v1::ErrorDetail DetailOf(const Status& status) {
  v1::ErrorDetail detail;
  detail.set_reason(static_cast<v1::Reason>(status.reason()));
  detail.set_hint(Cut(status.hint()));
  return detail;
}

google::rpc::ErrorInfo InfoOf(const Status& status) {
  google::rpc::ErrorInfo info;
  info.set_reason(std::string(ReasonWord(status.reason())));
  info.set_domain("assay");
  if (!status.hint().empty()) (*info.mutable_metadata())["hint"] = Cut(status.hint());
  return info;
}

// Adds the violations of `status` to `message`, up to about `most` bytes. If some do not fit, the
// last one added says that there are more. `add` must append an empty violation to `message` and
// return it.
template <typename Message, typename Add>
void AddViolations(const Status& status, size_t most, Message& message, Add add) {
  for (const Violation& violation : status.violations()) {
    auto* const added = add(violation);
    added->set_field(Cut(violation.field));
    added->set_description(Cut(violation.description));
    if (message.ByteSizeLong() <= most) continue;
    added->Clear();
    added->set_description(std::string(kMoreErrors));
    return;
  }
}

// Removes a reason in parentheses from the end of a message; see AccessControl in wire/access.cc.
void TakeReason(std::string& message, Reason& reason) {
  const size_t begin = message.rfind(" (");
  if (begin == std::string::npos || message.back() != ')') return;
  const Reason found =
      ReasonOfWord(std::string_view(message).substr(begin + 2, message.size() - begin - 3));
  if (found == Reason::kNone) return;
  reason = found;
  message.resize(begin);
}

}  // namespace

grpc::Status ToGrpc(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  v1::ErrorStatus sent;
  sent.set_code(static_cast<int>(status.code()));
  sent.set_message(Cut(status.message()));
  sent.add_details()->PackFrom(InfoOf(status));
  v1::ErrorDetail detail = DetailOf(status);
  google::rpc::BadRequest bad_request;
  const size_t fixed = sent.ByteSizeLong() + detail.ByteSizeLong() + 2 * kAnyBytes;
  const size_t room = kMostDetails - std::min(kMostDetails, fixed);
  const auto share = static_cast<size_t>(static_cast<double>(room) * kShareOfErrorDetail);
  AddViolations(status, detail.ByteSizeLong() + share, detail, [&](const Violation& violation) {
    v1::FieldViolation* const added = detail.add_violations();
    added->set_line(violation.line);
    return added;
  });
  AddViolations(status, room - share, bad_request,
                [&](const Violation&) { return bad_request.add_field_violations(); });
  sent.add_details()->PackFrom(detail);
  if (!status.violations().empty()) sent.add_details()->PackFrom(bad_request);
  return {static_cast<grpc::StatusCode>(status.code()), sent.message(), sent.SerializeAsString()};
}

Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return Status::Ok();
  v1::ErrorStatus received;
  v1::ErrorDetail detail;
  if (received.ParseFromString(status.error_details())) {
    for (const google::protobuf::Any& one : received.details()) {
      if (one.Is<v1::ErrorDetail>() && !one.UnpackTo(&detail)) detail.Clear();
    }
  }
  auto reason = static_cast<Reason>(detail.reason());
  std::string message = status.error_message();
  if (status.error_details().empty()) TakeReason(message, reason);
  std::vector<Violation> violations;
  for (const v1::FieldViolation& violation : detail.violations()) {
    violations.push_back({violation.field(), violation.description(), violation.line()});
  }
  return Status(static_cast<Code>(status.error_code()), reason, std::move(message))
      .WithHint(detail.hint())
      .WithViolations(std::move(violations));
}

}  // namespace assay::rpc
