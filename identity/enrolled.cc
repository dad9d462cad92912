#include "identity/enrolled.h"

#include <openssl/asn1.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "assay/v1/identity_service.pb.h"
#include "common/file.h"
#include "common/host_port.h"
#include "common/text.h"
#include "identity/certificate_request.h"
#include "identity/invite_token.h"
#include "identity/join_client.h"
#include "identity/key_file.h"
#include "identity/openssl.h"
#include "wire/timestamps.h"

namespace assay::identity {
namespace {

constexpr size_t kMaxFileBytes = 512 << 10;
constexpr size_t kMaxCoordinators = 64;

// The content of the file enrolment.json, which holds the whole enrolment except its private key.
// The file is replaced atomically. certificate.pem and authority.pem repeat its certificates for
// programs that read PEM.
struct Content {
  Enrolled enrolled;
  std::string certificate;
  std::string authority;
};

Status Unusable(const std::string& path, const std::string& why) {
  return FailedPrecondition(path + why, Reason::kBadFile)
      .WithHint("join again with a new invite and a new folder");
}

std::string EnrolmentFile(const std::string& folder) { return folder + "/enrolment.json"; }

Certificate FirstCertificate(const std::string& pem) {
  Certificate certificate(PEM_read_bio_X509(Reading(pem).get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  return certificate;
}

WallTime TimeOf(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return WallTime(std::chrono::seconds(timegm(&parts)));
}

// Sets the issue and expiry times in `enrolled` to those of the certificate `pem`. Returns false if
// the certificate cannot be read.
bool ReadTimes(const std::string& pem, Enrolled* enrolled) {
  const Certificate certificate = FirstCertificate(pem);
  if (!certificate) return false;
  enrolled->issue_time = TimeOf(X509_get0_notBefore(certificate.get()));
  enrolled->expire_time = TimeOf(X509_get0_notAfter(certificate.get()));
  return true;
}

Status CheckOwnKey(const std::string& key_file, const std::string& certificate_pem) {
  ASSAY_ASSIGN_OR_RETURN(const std::string pem, ReadKeyFile(key_file));
  ASSAY_ASSIGN_OR_RETURN(const Key key, ParseKey(pem));
  const Certificate certificate = FirstCertificate(certificate_pem);
  const bool match = certificate && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (match) return Status::Ok();
  return FailedPrecondition(
             "the coordinator has sent a certificate that is not for the key " + key_file,
             Reason::kWrongPeer)
      .WithHint("check the coordinator's log");
}

Status WriteIfOther(const std::string& path, const std::string& content) {
  const Result<std::string> present = ReadFile(path, kMaxFileBytes);
  if (present.ok() && *present == content) return Status::Ok();
  return ReplacePrivateFile(path, content);
}

Status WriteCopies(const Content& content) {
  ASSAY_RETURN_IF_ERROR(WriteIfOther(content.enrolled.authority_file(), content.authority));
  return WriteIfOther(content.enrolled.certificate_file(), content.certificate);
}

Status Store(const Content& content) {
  const Enrolled& enrolled = content.enrolled;
  const nlohmann::json json = {{"url", enrolled.join.url},
                               {"pin", enrolled.join.pin},
                               {"fleet", enrolled.fleet},
                               {"role", enrolled.role},
                               {"id", enrolled.id},
                               {"name", enrolled.name},
                               {"coordinators", enrolled.coordinators},
                               {"certificate", content.certificate},
                               {"authority", content.authority}};
  ASSAY_RETURN_IF_ERROR(ReplacePrivateFile(EnrolmentFile(enrolled.folder), json.dump(2) + "\n"));
  return WriteCopies(content);
}

Result<std::optional<Content>> Load(const std::string& folder) {
  const std::string path = EnrolmentFile(folder);
  std::error_code error;
  if (!std::filesystem::exists(path, error) && !error) return std::optional<Content>();
  const Result<std::string> text = ReadFile(path, kMaxFileBytes);
  if (!text.ok()) {
    return FailedPrecondition(text.status().message(), Reason::kFileUnreadable)
        .WithHint("run this as the user who joined");
  }
  const nlohmann::json json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  Content content;
  Enrolled& enrolled = content.enrolled;
  enrolled.folder = folder;
  try {
    json.at("url").get_to(enrolled.join.url);
    json.at("pin").get_to(enrolled.join.pin);
    json.at("fleet").get_to(enrolled.fleet);
    json.at("role").get_to(enrolled.role);
    json.at("id").get_to(enrolled.id);
    json.at("name").get_to(enrolled.name);
    json.at("coordinators").get_to(enrolled.coordinators);
    json.at("certificate").get_to(content.certificate);
    json.at("authority").get_to(content.authority);
  } catch (const nlohmann::json::exception&) {
    return Unusable(path, " is damaged");
  }
  if (!ReadTimes(content.certificate, &enrolled)) {
    return Unusable(path, " has no readable certificate");
  }
  return std::optional<Content>(std::move(content));
}

// Checks what the coordinator has sent, and stores it.
Result<Enrolled> StoreResponse(const std::string& folder, const JoinPoint& join,
                               const v1::EnrolResponse& response) {
  const auto refused = [&](const std::string& why) {
    return FailedPrecondition("the response of " + join.url + " " + why, Reason::kWrongPeer)
        .WithHint("check the coordinator's version and log");
  };
  Content content{{folder,
                   join,
                   response.fleet(),
                   response.scope().role(),
                   response.identity_id(),
                   response.name(),
                   {},
                   {},
                   {}},
                  response.certificate_chain(),
                  response.authority()};
  Enrolled& enrolled = content.enrolled;
  for (const std::string* text : {&enrolled.fleet, &enrolled.role, &enrolled.id, &enrolled.name}) {
    if (text->empty() || !IsPlainText(*text)) return refused("does not say who this is");
  }
  for (const std::string& address : response.coordinators()) {
    const Result<HostPort> parsed = ParseHostPort(address);
    if (!parsed.ok() || parsed->port == 0 || enrolled.coordinators.size() == kMaxCoordinators) {
      return refused("has bad addresses of coordinators");
    }
    enrolled.coordinators.push_back(parsed->ToString());
  }
  if (enrolled.coordinators.empty()) return refused("names no coordinator");
  if (!ReadTimes(content.certificate, &enrolled)) return refused("has no readable certificate");
  ASSAY_RETURN_IF_ERROR(CheckOwnKey(enrolled.key_file(), content.certificate));
  const Certificate authority = FirstCertificate(content.authority);
  const bool signed_by = authority && X509_verify(FirstCertificate(content.certificate).get(),
                                                  X509_get0_pubkey(authority.get())) == 1;
  ERR_clear_error();
  if (!signed_by) return refused("has a certificate that its authority has not signed");
  ASSAY_RETURN_IF_ERROR(Store(content));
  return enrolled;
}

Result<Enrolled> Enrol(const std::string& folder, const JoinPoint& join, const std::string& token,
                       const std::string& host_name) {
  const Enrolled place{folder, {}, {}, {}, {}, {}, {}, {}, {}};
  v1::EnrolRequest request;
  request.set_token(token);
  request.set_host_name(host_name);
  ASSAY_ASSIGN_OR_RETURN(*request.mutable_certificate_request(),
                         MakeCertificateRequest(place.key_file()));
  *request.mutable_time() = schema::ToTimestamp(Clock::Real().WallNow());
  ASSAY_ASSIGN_OR_RETURN(const v1::EnrolResponse response, PostEnrol(join, request));
  return StoreResponse(folder, join, response);
}

}  // namespace

Result<Enrolled> Join(const std::string& folder, const JoinPoint& join, const std::string& token,
                      const std::string& host_name) {
  // Check the token here, so that a token with a typing error is not sent.
  ASSAY_ASSIGN_OR_RETURN(const InviteToken parsed, ParseInviteToken(token));
  if (const Status made = MakePrivateFolder(folder); !made.ok()) {
    return FailedPrecondition(made.message(), Reason::kDataFolder);
  }
  return Enrol(folder, join, InviteTokenText(parsed), IsPlainText(host_name) ? host_name : "");
}

Result<std::optional<Enrolled>> LoadEnrolled(const std::string& folder) {
  ASSAY_ASSIGN_OR_RETURN(const std::optional<Content> content, Load(folder));
  if (!content) return std::optional<Enrolled>();
  ASSAY_RETURN_IF_ERROR(WriteCopies(*content));
  return std::optional<Enrolled>(content->enrolled);
}

Result<Enrolled> RenewByKey(const Enrolled& enrolled) {
  return Enrol(enrolled.folder, enrolled.join, "", "");
}

Result<Enrolled> StoreCertificate(const Enrolled& enrolled, const std::string& certificate_chain) {
  ASSAY_ASSIGN_OR_RETURN(std::optional<Content> content, Load(enrolled.folder));
  if (!content) return Unusable(EnrolmentFile(enrolled.folder), " is missing");
  ASSAY_RETURN_IF_ERROR(CheckOwnKey(enrolled.key_file(), certificate_chain));
  content->certificate = certificate_chain;
  if (!ReadTimes(certificate_chain, &content->enrolled)) {
    return Unusable(enrolled.certificate_file(), " cannot be read");
  }
  ASSAY_RETURN_IF_ERROR(Store(*content));
  return content->enrolled;
}

}  // namespace assay::identity
