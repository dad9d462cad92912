// Certificates of peers: whether one may stand at the end of a chain, and whose it is.
#pragma once

#include <openssl/x509.h>

#include <string>

#include "common/status.h"
#include "wire/roles.h"

namespace assay::rpc {

enum class CertificateUse { kServer, kClient };

// Refuses a certificate of an authority, because its holder could sign further ones, and one whose
// extended key usage excludes `use`. `what` names the certificate in the message.
Status CheckLeaf(const std::string& what, X509* certificate, CertificateUse use);

// Returns the identity in the certificate's only URI SAN, spiffe://FLEET/ROLE/ID, with the first
// DNS SAN as the name of a node. NO_IDENTITY if it has none.
Result<Identity> IdentityOf(X509* certificate);

// Checks a peer's certificate as a leaf for `use` and returns its identity. UNAUTHENTICATED if it
// cannot be read or is refused.
Result<Identity> IdentityOfPem(const std::string& pem, CertificateUse use);
Result<Identity> IdentityOfDer(const std::string& der, CertificateUse use);

// Returns an error if a certificate after the first of the chain, as the peer sent it, is not an
// authority's. gRPC 1.51 accepts a leaf that another leaf has signed if the authority has no path
// length.
Status CheckChain(const std::string& pem_chain);

}  // namespace assay::rpc
