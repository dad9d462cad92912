#include "agent/join/enrolment.h"

#include <optional>
#include <utility>

#include "agent/join/machine.h"
#include "common/log.h"
#include "common/text.h"

namespace assay::agent {

std::string IdentityFolder(const std::string& data) { return data + "/identity"; }

Status CheckRole(const identity::Enrolled& enrolled) {
  if (enrolled.role == "node") return Status::Ok();
  return InvalidArgument("the invite was for a user (" + Sanitize(enrolled.role) + " " +
                             Sanitize(enrolled.name) + "); an agent needs a node's",
                         Reason::kBadCertificate)
      .WithHint("remove " + enrolled.folder +
                ", ask for an invite of `assay node invite`, and use `assay login` for users");
}

void UseRental(const Rental& rental, AgentOptions* options) {
  if (options->provider.empty()) options->provider = rental.provider;
  if (options->region.empty()) options->region = rental.region;
}

Status UseEnrolment(const Rental& rental, AgentOptions* options) {
  if (!options->tls.empty()) return Status::Ok();
  const std::string folder = IdentityFolder(options->data);
  ASSAY_ASSIGN_OR_RETURN(std::optional<identity::Enrolled> enrolled,
                         identity::LoadEnrolled(folder));
  if (!enrolled) return Status::Ok();
  ASSAY_RETURN_IF_ERROR(CheckRole(*enrolled));
  ASSAY_RETURN_IF_ERROR(CheckMachine(folder, ReadMachine(rental)));
  if (enrolled->expire_time <= Clock::Real().WallNow()) {
    Result<identity::Enrolled> renewed = identity::RenewByKey(*enrolled);
    if (renewed.ok()) {
      enrolled = *std::move(renewed);
    } else if (renewed.status().code() == Code::kUnavailable) {
      Log().warn("the certificate has expired and cannot be renewed now: {}",
                 renewed.status().message());
    } else {
      return renewed.status();
    }
  }
  options->tls = {enrolled->certificate_file(), enrolled->key_file(), enrolled->authority_file()};
  if (options->coordinators.empty()) {
    options->coordinators = enrolled->coordinators;
    if (!options->listen_given) options->listen.clear();
  }
  options->enrolled = std::move(enrolled);
  return Status::Ok();
}

}  // namespace assay::agent
