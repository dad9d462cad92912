#include "wire/certificate.h"

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include "common/digest.h"
#include "common/text.h"

namespace assay::rpc {
namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

constexpr char kRecipe[] =
    "docs/guides/secure-a-fleet.md says how to make certificates of each role";

Bio Memory(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free);
}

Certificate Next(BIO* pem) {
  Certificate certificate(PEM_read_bio_X509(pem, nullptr, nullptr, nullptr), X509_free);
  ERR_clear_error();
  return certificate;
}

std::string Serial(const X509* certificate) {
  const std::unique_ptr<BIGNUM, decltype(&BN_free)> number(
      ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr), BN_free);
  if (!number) return "";
  char* const text = BN_bn2hex(number.get());
  std::string serial = text == nullptr ? "" : text;
  OPENSSL_free(text);
  return serial;
}

std::string KeyHash(const X509* certificate) {
  unsigned char* der = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der);
  if (size <= 0) return "";
  std::string hash =
      Sha256Hex(std::string_view(reinterpret_cast<const char*>(der), static_cast<size_t>(size)));
  OPENSSL_free(der);
  return hash;
}

WallTime ExpireTime(const X509* certificate) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &parts) != 1) return {};
  // The year 9999, which stands for "never", does not fit.
  constexpr auto kMost = std::chrono::floor<std::chrono::seconds>(WallTime::max());
  return std::min<std::chrono::sys_seconds>(
      std::chrono::sys_seconds(std::chrono::seconds(::timegm(&parts))), kMost);
}

// Returns the subject's alternative names of one kind: GEN_URI or GEN_DNS.
std::vector<std::string> AlternativeNames(const X509* certificate, int kind) {
  std::vector<std::string> found;
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> names(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      GENERAL_NAMES_free);
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != kind) continue;
    const ASN1_IA5STRING* const text = name->d.ia5;
    found.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                       static_cast<size_t>(ASN1_STRING_length(text)));
  }
  return found;
}

Status Refused(std::string message) {
  return Status(Code::kUnauthenticated, Reason::kBadCertificate, std::move(message))
      .WithHint(kRecipe);
}

Result<Identity> IdentityOfLeaf(X509* certificate, CertificateUse use) {
  if (certificate == nullptr) return Refused("the peer's certificate cannot be read");
  if (const Status leaf = CheckLeaf("the peer's certificate", certificate, use); !leaf.ok()) {
    return Refused(leaf.message());
  }
  return IdentityOf(certificate);
}

}  // namespace

Status CheckLeaf(const std::string& what, X509* certificate, CertificateUse use) {
  const auto refused = [&](const std::string& why) {
    return InvalidArgument(what + why, Reason::kBadCertificate).WithHint(kRecipe);
  };
  if (X509_check_ca(certificate) > 0) {
    return refused(" is an authority's: its holder could sign certificates of others");
  }
  // All bits are set if the certificate does not have this extension.
  const uint32_t usage = X509_get_extended_key_usage(certificate);
  if (use == CertificateUse::kServer && (usage & XKU_SSL_SERVER) == 0) {
    return refused(" is not for servers: its extended key usage lacks serverAuth");
  }
  if (use == CertificateUse::kClient && (usage & XKU_SSL_CLIENT) == 0) {
    return refused(" is not for clients: its extended key usage lacks clientAuth");
  }
  return Status::Ok();
}

Result<Identity> IdentityOf(X509* certificate) {
  const std::vector<std::string> uris = AlternativeNames(certificate, GEN_URI);
  if (uris.size() != 1) {
    return Status(Code::kUnauthenticated, Reason::kNoIdentity,
                  "the certificate has " + std::to_string(uris.size()) +
                      " URIs among its alternative names; it must have one, "
                      "spiffe://FLEET/ROLE/ID")
        .WithHint(kRecipe);
  }
  ASSAY_ASSIGN_OR_RETURN(Identity identity, ParseSpiffeId(uris.front()));
  if (identity.role == Role::kNode) {
    const std::vector<std::string> names = AlternativeNames(certificate, GEN_DNS);
    if (names.empty()) {
      return Status(Code::kUnauthenticated, Reason::kNoIdentity,
                    "the node's certificate has no DNS name, which is the node's name")
          .WithHint(kRecipe);
    }
    identity.name = names.front();
  }
  identity.serial = Serial(certificate);
  identity.key_hash = KeyHash(certificate);
  identity.expire_time = ExpireTime(certificate);
  return identity;
}

Result<Identity> IdentityOfPem(const std::string& pem, CertificateUse use) {
  return IdentityOfLeaf(Next(Memory(pem).get()).get(), use);
}

Result<Identity> IdentityOfDer(const std::string& der, CertificateUse use) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
  const Certificate certificate(d2i_X509(nullptr, &bytes, static_cast<long>(der.size())),
                                X509_free);
  ERR_clear_error();
  return IdentityOfLeaf(certificate.get(), use);
}

Status CheckChain(const std::string& pem_chain) {
  const Bio text = Memory(pem_chain);
  Next(text.get());
  while (const Certificate signer = Next(text.get())) {
    if (X509_check_ca(signer.get()) <= 0) {
      return Refused("the peer's certificate was signed by one that is not an authority's");
    }
  }
  return Status::Ok();
}

}  // namespace assay::rpc
