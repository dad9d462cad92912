#include "identity/certificate_request.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/objects.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "common/digest.h"
#include "identity/key_file.h"
#include "identity/openssl.h"

namespace assay::identity {
namespace {

constexpr size_t kMaxRequestBytes = 16 << 10;
constexpr int kMinRsaBits = 2048;
constexpr int kMaxRsaBits = 4096;
constexpr int kMaxExponentBits = 32;
// The first byte of an elliptic-curve point that is not compressed.
constexpr unsigned char kUncompressed = 4;

Status BadRequest(const std::string& why) {
  const std::string what = "the certificate request " + why;
  return InvalidArgument(what, Reason::kBadCertificate)
      .WithViolations({{"certificate_request", what, 0}})
      .WithHint(
          "send one block of PEM, as `openssl req -new -newkey ec -pkeyopt "
          "ec_paramgen_curve:P-256 -nodes` makes it");
}

std::string_view Trimmed(std::string_view text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Returns the DER of the only block in `pem`.
Result<std::string> OnlyBlock(const std::string& pem) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  constexpr std::string_view kEnd = "-----";
  const std::string_view text = Trimmed(pem);
  if (text.empty()) return BadRequest("is missing");
  if (text.size() > kMaxRequestBytes) {
    return BadRequest("has more than " + std::to_string(kMaxRequestBytes) + " bytes");
  }
  if (text.find('\0') != text.npos || text.substr(0, kBegin.size()) != kBegin ||
      text.substr(text.size() - kEnd.size()) != kEnd) {
    return BadRequest("is not PEM");
  }
  if (text.find(kBegin, 1) != text.npos) return BadRequest("has more than one block of PEM");
  char* name = nullptr;
  char* header = nullptr;
  unsigned char* data = nullptr;
  long size = 0;
  const int read = PEM_read_bio(Reading(pem).get(), &name, &header, &data, &size);
  ERR_clear_error();
  if (read != 1) return BadRequest("is not PEM");
  const std::string kind = name;
  const bool encrypted = header[0] != '\0';
  std::string der(reinterpret_cast<const char*>(data), static_cast<size_t>(size));
  OPENSSL_free(name);
  OPENSSL_free(header);
  OPENSSL_free(data);
  if (kind.find("PRIVATE KEY") != kind.npos) {
    return BadRequest("is a private key, which must stay on its machine");
  }
  if ((kind != PEM_STRING_X509_REQ && kind != PEM_STRING_X509_REQ_OLD) || encrypted) {
    return BadRequest("is another kind of PEM");
  }
  return der;
}

// Refuses weak and unusual keys.
Status CheckKey(EVP_PKEY* key) {
  if (EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519) return Status::Ok();
  if (EVP_PKEY_get_base_id(key) == EVP_PKEY_EC) {
    std::array<char, 64> curve{};
    size_t length = 0;
    const bool named = EVP_PKEY_get_group_name(key, curve.data(), curve.size(), &length) == 1;
    const int number = named ? OBJ_sn2nid(curve.data()) : NID_undef;
    if (number == NID_X9_62_prime256v1 || number == NID_secp384r1) return Status::Ok();
    return BadRequest("has a key of a curve other than P-256 and P-384");
  }
  if (EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA) {
    const int bits = EVP_PKEY_get_bits(key);
    if (bits < kMinRsaBits || bits > kMaxRsaBits) {
      return BadRequest("has an RSA key of " + std::to_string(bits) + " bits; it must have " +
                        std::to_string(kMinRsaBits) + " to " + std::to_string(kMaxRsaBits));
    }
    BIGNUM* exponent = nullptr;
    EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_E, &exponent);
    const bool usual = exponent != nullptr && BN_is_odd(exponent) != 0 &&
                       BN_is_one(exponent) == 0 && BN_num_bits(exponent) <= kMaxExponentBits;
    BN_free(exponent);
    return usual ? Status::Ok() : BadRequest("has an RSA key with an unusual exponent");
  }
  return BadRequest("has a key that is not P-256, P-384, Ed25519 or RSA");
}

// Rejects keys in an unusual encoding. Bans apply to the hash of a key's encoding. If several
// encodings were accepted, a banned node could rejoin with the same key but a different hash.
Status CheckEncoding(X509_REQ* request, EVP_PKEY* key) {
  X509_PUBKEY* const sent = X509_REQ_get_X509_PUBKEY(request);
  const unsigned char* point = nullptr;
  int size = 0;
  const bool read = X509_PUBKEY_get0_param(nullptr, &point, &size, nullptr, sent) == 1;
  const bool compressed =
      EVP_PKEY_get_base_id(key) == EVP_PKEY_EC && (size == 0 || point[0] != kUncompressed);
  unsigned char* der = nullptr;
  const int length = i2d_X509_PUBKEY(sent, &der);
  const std::string hash = length <= 0
                               ? ""
                               : Sha256Hex(std::string_view(reinterpret_cast<const char*>(der),
                                                            static_cast<size_t>(length)));
  OPENSSL_free(der);
  if (read && !compressed && hash == KeyHash(key)) return Status::Ok();
  return BadRequest("has a key in an unusual encoding");
}

bool HasStrongSignature(const X509_REQ* request) {
  int digest = NID_undef;
  const int signature = X509_REQ_get_signature_nid(request);
  if (signature == NID_ED25519) return true;
  if (OBJ_find_sigid_algs(signature, &digest, nullptr) != 1) return false;
  return digest == NID_sha256 || digest == NID_sha384 || digest == NID_sha512;
}

Result<RequestedKey> CheckDer(const std::string& der) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
  const auto* const end = bytes + der.size();
  const Request request(d2i_X509_REQ(nullptr, &bytes, static_cast<long>(der.size())));
  if (!request || bytes != end) return BadRequest("cannot be read");
  Key key(X509_REQ_get_pubkey(request.get()));
  if (!key) return BadRequest("has an unreadable public key");
  ASSAY_RETURN_IF_ERROR(CheckKey(key.get()));
  ASSAY_RETURN_IF_ERROR(CheckEncoding(request.get(), key.get()));
  if (!HasStrongSignature(request.get())) return BadRequest("is not signed with SHA-256 or better");
  if (X509_REQ_verify(request.get(), key.get()) != 1) {
    return BadRequest("is not signed by its own key");
  }
  std::string hash = KeyHash(key.get());
  return RequestedKey{std::shared_ptr<EVP_PKEY>(key.release(), EVP_PKEY_free), std::move(hash)};
}

}  // namespace

Result<std::string> MakeCertificateRequest(const std::string& key_file) {
  ASSAY_ASSIGN_OR_RETURN(const Key key, LoadOrMakeKey(key_file));
  const Request request(X509_REQ_new());
  // Ed25519 includes its own digest, so none must be given.
  const EVP_MD* const digest =
      EVP_PKEY_get_base_id(key.get()) == EVP_PKEY_ED25519 ? nullptr : EVP_sha256();
  const Bio bio = Writing();
  if (!request || X509_REQ_set_version(request.get(), X509_REQ_VERSION_1) != 1 ||
      X509_REQ_set_pubkey(request.get(), key.get()) != 1 ||
      X509_REQ_sign(request.get(), key.get(), digest) <= 0 ||
      PEM_write_bio_X509_REQ(bio.get(), request.get()) != 1) {
    return OpenSslError("cannot make a certificate request for " + key_file);
  }
  return Written(bio.get());
}

Result<RequestedKey> CheckCertificateRequest(const std::string& pem) {
  ASSAY_ASSIGN_OR_RETURN(const std::string der, OnlyBlock(pem));
  Result<RequestedKey> key = CheckDer(der);
  ERR_clear_error();
  return key;
}

}  // namespace assay::identity
