#include "identity/authority.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstring>
#include <ctime>
#include <utility>

#include "common/digest.h"
#include "common/file.h"
#include "common/text.h"
#include "identity/key_file.h"

namespace assay::identity {
namespace {

using Names = std::unique_ptr<GENERAL_NAMES, OpenSslDeleter<GENERAL_NAMES_free>>;

constexpr size_t kMaxPemBytes = 64 << 10;
constexpr size_t kMaxFleetBytes = 64;  // The limit of a common name.
constexpr size_t kMaxNameBytes = 253;  // The limit of DNS.
constexpr Duration kClockSkew = std::chrono::minutes(5);
constexpr int kAuthorityYears = 10;
constexpr char kServerKey[] = "server.key";

std::string At(const std::string& folder, const char* file) { return folder + "/" + file; }

Status BadAuthority(const std::string& what, const std::string& hint = "") {
  return FailedPrecondition(what, Reason::kBadCertificate).WithHint(hint);
}

Certificate ParseCertificate(const std::string& pem) {
  Certificate certificate(PEM_read_bio_X509(Reading(pem).get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  return certificate;
}

time_t SecondsOf(WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

WallTime TimeOfAsn1(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return WallTime(std::chrono::seconds(::timegm(&parts)));
}

bool AddExtension(X509* certificate, X509* issuer, int kind, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value);
  const bool added = extension != nullptr && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

bool AddName(GENERAL_NAMES* names, int kind, const std::string& text) {
  ASN1_STRING* const value = kind == GEN_IPADD ? a2i_IPADDRESS(text.c_str()) : ASN1_IA5STRING_new();
  if (value == nullptr) return false;
  GENERAL_NAME* const name = GENERAL_NAME_new();
  if (name == nullptr ||
      (kind != GEN_IPADD &&
       ASN1_STRING_set(value, text.data(), static_cast<int>(text.size())) != 1) ||
      sk_GENERAL_NAME_push(names, name) <= 0) {
    GENERAL_NAME_free(name);
    ASN1_STRING_free(value);
    return false;
  }
  GENERAL_NAME_set0_value(name, kind, value);
  return true;
}

bool IsIpAddress(const std::string& text) {
  ASN1_OCTET_STRING* const address = a2i_IPADDRESS(text.c_str());
  ASN1_OCTET_STRING_free(address);
  ERR_clear_error();
  return address != nullptr;
}

// Adds the names for which the certificate is valid (subject alternative names): first `uri`, then
// the names in `leaf`. For a coordinator, these are the DNS names and IP addresses to which clients
// connect. A node's name is added as a DNS name even if it looks like an IP address, because
// wire/certificate.h reads it from there.
bool AddNames(X509* certificate, const std::string& uri, const Leaf& leaf) {
  const Names names(GENERAL_NAMES_new());
  if (!names || !AddName(names.get(), GEN_URI, uri)) return false;
  for (const std::string& text : leaf.names) {
    const bool address = leaf.role == "coordinator" && IsIpAddress(text);
    if (!AddName(names.get(), address ? GEN_IPADD : GEN_DNS, text)) return false;
  }
  return X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, 0) == 1;
}

bool SetSerial(X509* certificate, const std::string& serial) {
  BIGNUM* number = nullptr;
  const bool set = BN_hex2bn(&number, serial.c_str()) == static_cast<int>(serial.size()) &&
                   BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nullptr;
  BN_free(number);
  return set;
}

bool SetCommonName(X509_NAME* name, const std::string& text) {
  return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()), -1, 0) == 1;
}

std::string CommonName(X509* certificate) {
  std::string text(kMaxFleetBytes + 1, '\0');
  const int size = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName,
                                             text.data(), static_cast<int>(text.size()));
  return size <= 0 ? "" : text.substr(0, static_cast<size_t>(size));
}

// Signs the certificate and returns it in PEM.
Result<std::string> Signed(X509* certificate, EVP_PKEY* key) {
  const EVP_MD* const digest =
      EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519 ? nullptr : EVP_sha256();
  const Bio bio = Writing();
  if (X509_sign(certificate, key, digest) <= 0 || PEM_write_bio_X509(bio.get(), certificate) != 1) {
    return OpenSslError("cannot sign a certificate");
  }
  return Written(bio.get());
}

// Returns a new authority's certificate, signed by its own key.
Result<std::string> NewAuthority(EVP_PKEY* key, const std::string& fleet, WallTime now) {
  const Certificate certificate(X509_new());
  X509* const raw = certificate.get();
  const time_t begin = SecondsOf(now - kClockSkew);
  if (raw == nullptr || X509_set_version(raw, X509_VERSION_3) != 1 ||
      !SetSerial(raw, NewSerial()) || X509_set_pubkey(raw, key) != 1 ||
      ASN1_TIME_set(X509_getm_notBefore(raw), begin) == nullptr ||
      ASN1_TIME_adj(X509_getm_notAfter(raw), begin, kAuthorityYears * 365, 0) == nullptr ||
      !SetCommonName(X509_get_subject_name(raw), fleet) ||
      X509_set_issuer_name(raw, X509_get_subject_name(raw)) != 1 ||
      !AddExtension(raw, raw, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
      !AddExtension(raw, raw, NID_key_usage, "critical,keyCertSign") ||
      !AddExtension(raw, raw, NID_subject_key_identifier, "hash")) {
    return OpenSslError("cannot make an authority");
  }
  return Signed(raw, key);
}

bool IsFleetName(const std::string& fleet) {
  return !fleet.empty() && fleet.size() <= kMaxFleetBytes &&
         std::all_of(fleet.begin(), fleet.end(), [](unsigned char c) {
           return c < 0x80 && (std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_');
         });
}

Status CheckFolder(const std::string& folder) {
  struct stat facts {};
  if (::stat(folder.c_str(), &facts) != 0) {
    return FailedPrecondition("cannot read " + folder + ": " + std::strerror(errno));
  }
  if (facts.st_uid != ::geteuid() && facts.st_uid != 0) {
    return BadAuthority("the authority's folder " + folder + " belongs to another user",
                        "run as its owner, or change its owner");
  }
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) == 0) return Status::Ok();
  return BadAuthority("other users can write to the authority's folder " + folder,
                      "chmod 700 " + folder);
}

bool Exists(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0;
}

}  // namespace

std::string NewSerial() {
  std::string serial = Sha256Hex(RandomBytes(32)).substr(0, 32);
  for (char& c : serial) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  serial[0] = "4567"[serial[0] % 4];
  return serial;
}

Result<std::unique_ptr<Authority>> Authority::Open(const std::string& folder,
                                                   const std::string& fleet, WallTime now) {
  if (!IsFleetName(fleet)) {
    return InvalidArgument("a fleet's name has 1 to 64 letters, digits, \"-\", \".\" and \"_\"; " +
                           Quote(fleet) + " does not");
  }
  ASSAY_RETURN_IF_ERROR(MakePrivateFolder(folder));
  ASSAY_RETURN_IF_ERROR(CheckFolder(folder));
  // Fail if there is a certificate without a key. The key is always created first, so even a
  // process that is killed in between leaves only a key, from which the next process creates the
  // certificate.
  if (Exists(At(folder, "ca.pem")) && !Exists(At(folder, "ca.key"))) {
    return BadAuthority(folder + " has the authority's certificate ca.pem, but not its key ca.key",
                        "bring back ca.key, or give an empty folder to make a new authority, which "
                        "every node and user must join again");
  }
  std::unique_ptr<Authority> authority(new Authority(folder, fleet));
  ASSAY_ASSIGN_OR_RETURN(authority->key_, LoadOrMakeKey(At(folder, "ca.key")));
  if (!Exists(At(folder, "ca.pem"))) {
    ASSAY_ASSIGN_OR_RETURN(const std::string pem, NewAuthority(authority->key_.get(), fleet, now));
    ASSAY_RETURN_IF_ERROR(MakePrivateFile(At(folder, "ca.pem"), pem).status());
  }
  ASSAY_RETURN_IF_ERROR(authority->Load(now));
  return authority;
}

Status Authority::Load(WallTime now) {
  const std::string path = At(folder_, "ca.pem");
  ASSAY_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxPemBytes));
  certificate_ = ParseCertificate(text);
  if (!certificate_) return BadAuthority(path + " has no readable certificate");
  X509* const raw = certificate_.get();
  if (X509_check_private_key(raw, key_.get()) != 1) {
    ERR_clear_error();
    return BadAuthority(At(folder_, "ca.key") + " is not the key of " + path,
                        "both must be of the same authority");
  }
  if (X509_check_ca(raw) != 1 || (X509_get_key_usage(raw) & KU_KEY_CERT_SIGN) == 0) {
    return BadAuthority(path + " is not the certificate of an authority",
                        "it needs basicConstraints CA:TRUE and keyUsage keyCertSign");
  }
  const WallTime begin = TimeOfAsn1(X509_get0_notBefore(raw));
  expire_time_ = TimeOfAsn1(X509_get0_notAfter(raw));
  if (now < begin || now >= expire_time_) {
    return BadAuthority(path + (now < begin ? " is not valid yet" : " has expired"),
                        now < begin ? "is this machine's clock right?"
                                    : "give an empty folder to make a new authority, which every "
                                      "node and user must join again");
  }
  if (CommonName(raw) != fleet_) {
    return BadAuthority(path + " is the authority of the fleet " + Quote(CommonName(raw)) +
                            ", not of " + Quote(fleet_),
                        "give the folder of this fleet's authority");
  }
  // Without comments or further certificates that the file may have.
  const Bio bio = Writing();
  if (PEM_write_bio_X509(bio.get(), raw) != 1) return OpenSslError("cannot encode " + path);
  pem_ = Written(bio.get());
  return Status::Ok();
}

Result<std::string> Authority::Issue(const RequestedKey& key, const Leaf& leaf,
                                     WallTime now) const {
  return Sign(key.key.get(), leaf, now);
}

Result<std::string> Authority::Sign(EVP_PKEY* key, const Leaf& leaf, WallTime now) const {
  const Certificate certificate(X509_new());
  X509* const raw = certificate.get();
  const std::string uri = "spiffe://" + fleet_ + "/" + leaf.role + "/" + leaf.id;
  const char* const usage = leaf.role == "coordinator" ? "serverAuth,clientAuth" : "clientAuth";
  const WallTime end = std::min(leaf.expire_time, expire_time_);
  if (raw == nullptr || X509_set_version(raw, X509_VERSION_3) != 1 ||
      !SetSerial(raw, leaf.serial) || X509_set_pubkey(raw, key) != 1 ||
      ASN1_TIME_set(X509_getm_notBefore(raw), SecondsOf(now - kClockSkew)) == nullptr ||
      ASN1_TIME_set(X509_getm_notAfter(raw), SecondsOf(end)) == nullptr ||
      !SetCommonName(X509_get_subject_name(raw), leaf.id) ||
      X509_set_issuer_name(raw, X509_get_subject_name(certificate_.get())) != 1 ||
      !AddExtension(raw, certificate_.get(), NID_basic_constraints, "critical,CA:FALSE") ||
      !AddExtension(raw, certificate_.get(), NID_key_usage, "critical,digitalSignature") ||
      !AddExtension(raw, certificate_.get(), NID_ext_key_usage, usage) ||
      !AddExtension(raw, certificate_.get(), NID_subject_key_identifier, "hash") ||
      !AddExtension(raw, certificate_.get(), NID_authority_key_identifier, "keyid") ||
      !AddNames(raw, uri, leaf)) {
    return OpenSslError("cannot make a certificate for " + uri);
  }
  return Signed(raw, key_.get());
}

Result<ServerCertificate> Authority::IssueServer(const std::string& id,
                                                 const std::vector<std::string>& names,
                                                 WallTime now) const {
  for (const std::string& name : names) {
    const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
      return c < 0x80 && (std::isalnum(c) != 0 || std::strchr("-._*:", c) != nullptr);
    });
    if (name.empty() || name.size() > kMaxNameBytes || !plain) {
      return InvalidArgument(Quote(name) + " is neither a DNS name nor an IP address");
    }
  }
  ServerCertificate server;
  server.certificate_file = At(folder_, "server-") + id + ".pem";
  server.key_file = At(folder_, kServerKey);
  server.authority_file = At(folder_, "ca.pem");
  ASSAY_ASSIGN_OR_RETURN(const Key key, LoadOrMakeKey(server.key_file));
  ASSAY_ASSIGN_OR_RETURN(
      const std::string pem,
      Sign(key.get(), {"coordinator", id, names, NewSerial(), expire_time_}, now));
  ASSAY_RETURN_IF_ERROR(ReplacePrivateFile(server.certificate_file, pem));
  return server;
}

Result<std::string> Authority::ServerPin() const {
  ASSAY_ASSIGN_OR_RETURN(const Key key, LoadOrMakeKey(At(folder_, kServerKey)));
  return KeyPin(key.get());
}

}  // namespace assay::identity
