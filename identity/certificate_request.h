// Makes and checks certificate requests (PKCS #10). A node or user creates a private key, which
// never leaves its machine, and sends a request signed with this key. In return, it receives a
// certificate.
#pragma once

#include <openssl/evp.h>

#include <memory>
#include <string>

#include "common/status.h"

namespace assay::identity {

// Returns a certificate request in PEM, signed with the private key in the file `key_file`. Creates
// the file with a new P-256 key and mode 0600 if it does not exist.
Result<std::string> MakeCertificateRequest(const std::string& key_file);

// The public key of a certificate request with a verified signature, which proves that the sender
// has the private key. Cheap to copy.
struct RequestedKey {
  std::shared_ptr<EVP_PKEY> key;
  std::string hash;  // See KeyHash in identity/openssl.h.
};

// Checks a peer's certificate request and returns its key. The request must be one PEM block of at
// most 16 KiB, signed with its own key. The key must be P-256, P-384, Ed25519, or RSA with 2048 to
// 4096 bits. Ignores the subject and extensions of the request. If the request is invalid, returns
// INVALID_ARGUMENT (BAD_CERTIFICATE) with a violation for the field `certificate_request`.
Result<RequestedKey> CheckCertificateRequest(const std::string& pem);

}  // namespace assay::identity
