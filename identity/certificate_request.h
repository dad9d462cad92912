// Requests for certificates (PKCS #10). A node or user makes a key, which never leaves its machine,
// and sends a request that the key signs.
#pragma once

#include <openssl/evp.h>

#include <memory>
#include <string>

#include "common/status.h"

namespace assay::identity {

// Returns a request in PEM for the private key in the file `key_file`. Makes the file with a new
// P-256 key and mode 0600 if it does not exist.
Result<std::string> MakeCertificateRequest(const std::string& key_file);

// The public key that a request proves possession of. Cheap to copy.
struct RequestedKey {
  std::shared_ptr<EVP_PKEY> key;
  std::string hash;  // See KeyHash in identity/openssl.h.
};

// Checks a peer's request: one PEM block of at most 16 KiB, signed by its own key, which must be
// P-256, P-384, Ed25519 or RSA with 2048 to 4096 bits. Returns the key. Ignores the subject and
// extensions that the request asks for, because the coordinator decides. Otherwise returns
// INVALID_ARGUMENT with the reason BAD_CERTIFICATE and a violation for `certificate_request`.
Result<RequestedKey> CheckCertificateRequest(const std::string& pem);

}  // namespace assay::identity
