#include "rpc/status_conversion.h"

#include "assay/v1/failure.pb.h"

namespace assay::rpc {

grpc::Status ToGrpc(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  v1::ErrorDetail detail;
  detail.set_reason(status.reason());
  detail.set_hint(status.hint());
  for (const Violation& violation : status.violations()) {
    v1::FieldViolation* added = detail.add_violations();
    added->set_field(violation.field);
    added->set_description(violation.description);
    added->set_line(violation.line);
  }
  return {static_cast<grpc::StatusCode>(status.code()), status.message(),
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
  return Status(static_cast<Code>(status.error_code()), detail.reason(), status.error_message())
      .WithHint(detail.hint())
      .WithViolations(std::move(violations));
}

}  // namespace assay::rpc
