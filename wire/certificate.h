// Checks the certificates of peers and reads identities from them.
#pragma once

#include <openssl/x509.h>

#include <string>

#include "common/status.h"
#include "wire/roles.h"

namespace assay::rpc {

enum class CertificateUse { kServer, kClient };

// Checks that a client or server may identify itself with `certificate`. Returns an error if its
// extended key usage does not allow `use`, or if it is the certificate of an authority, which could
// sign further certificates. `what` names the certificate in the error.
Status CheckLeaf(const std::string& what, X509* certificate, CertificateUse use);

// Returns the identity in a certificate: the only URI among the subject alternative names, in the
// form spiffe://FLEET/ROLE/ID. In a node's certificate, the first DNS name is the node's name.
// Returns an error with reason NO_IDENTITY if the certificate contains no identity.
Result<Identity> IdentityOf(X509* certificate);

// Checks a peer's certificate with CheckLeaf and returns its identity, or UNAUTHENTICATED if the
// certificate cannot be read or the check fails.
Result<Identity> IdentityOfPem(const std::string& pem, CertificateUse use);
Result<Identity> IdentityOfDer(const std::string& der, CertificateUse use);

// Checks that all certificates in a peer's chain, except the first, belong to certificate
// authorities. Without this check, any client could sign certificates for others, because gRPC 1.51
// does not check it if the authority's path length is unlimited.
Status CheckChain(const std::string& pem_chain);

}  // namespace assay::rpc
