// Checks the certificates of peers and reads identities from them.
#pragma once

#include <openssl/x509.h>

#include <string>

#include "common/status.h"
#include "wire/roles.h"

namespace assay::rpc {

enum class CertificateUse { kServer, kClient };

// Checks that a client or server may identify itself with `certificate`. Returns an error if it is
// the certificate of a certificate authority, which could be used to sign further certificates, or
// if its extended key usage does not allow `use`. `what` is the certificate's name in the error.
Status CheckLeaf(const std::string& what, X509* certificate, CertificateUse use);

// Returns the identity in a certificate. The certificate's subject alternative names must contain
// exactly one URI, spiffe://FLEET/ROLE/ID. In a node's certificate, their first DNS name is the
// name of the node. Returns an error with reason NO_IDENTITY if the certificate contains no
// identity.
Result<Identity> IdentityOf(X509* certificate);

// Check a peer's certificate with CheckLeaf and return its identity. Return UNAUTHENTICATED if the
// certificate cannot be read or the check fails.
Result<Identity> IdentityOfPem(const std::string& pem, CertificateUse use);
Result<Identity> IdentityOfDer(const std::string& der, CertificateUse use);

// Checks the chain of certificates that a peer sent. Returns an error unless all certificates but
// the first belong to certificate authorities. gRPC 1.51 does not check this if the authority's
// path length is unlimited, so without this check any client could sign certificates for others.
Status CheckChain(const std::string& pem_chain);

}  // namespace assay::rpc
