// Checks the certificates of peers and reads identities from them.
#pragma once

#include <openssl/x509.h>

#include <string>

#include "common/status.h"
#include "wire/roles.h"

namespace assay::rpc {

enum class CertificateUse { kServer, kClient };

// Checks that a client or server may identify itself with `certificate`. Returns an error if its
// extended key usage does not allow `use`, or if it belongs to a certificate authority, because
// that could sign further certificates. `what` is the certificate's name in the error.
Status CheckLeaf(const std::string& what, X509* certificate, CertificateUse use);

// Returns the identity in a certificate. The identity is the only URI among the subject alternative
// names, spiffe://FLEET/ROLE/ID. In a node's certificate, the first DNS name is the name of the
// node. Returns an error with reason NO_IDENTITY if the certificate contains no identity.
Result<Identity> IdentityOf(X509* certificate);

// Check a peer's certificate with CheckLeaf and return its identity. Return UNAUTHENTICATED if the
// certificate cannot be read or the check fails.
Result<Identity> IdentityOfPem(const std::string& pem, CertificateUse use);
Result<Identity> IdentityOfDer(const std::string& der, CertificateUse use);

// Checks the chain of certificates that a peer sent. All certificates but the first must belong to
// certificate authorities. gRPC 1.51 does not check this if the authority's path length is
// unlimited. Without this check, any client could then sign certificates for others.
Status CheckChain(const std::string& pem_chain);

}  // namespace assay::rpc
