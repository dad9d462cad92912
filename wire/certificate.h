// Checks the certificates of peers and reads identities from them.
#pragma once

#include <openssl/x509.h>

#include <string>

#include "common/status.h"
#include "wire/roles.h"

namespace assay::rpc {

enum class CertificateUse { kServer, kClient };

// Checks that a client or server may identify itself with `certificate`. Returns an error if the
// certificate belongs to a certificate authority, whose owner could sign further certificates, or
// if its extended key usage excludes `use`. `what` names the certificate in the error.
Status CheckLeaf(const std::string& what, X509* certificate, CertificateUse use);

// Returns the identity in a certificate. Its subject alternative names must contain exactly one
// URI, spiffe://FLEET/ROLE/ID. The first DNS name among them is the name of a node. Returns an
// error with reason NO_IDENTITY if the certificate contains no identity.
Result<Identity> IdentityOf(X509* certificate);

// These functions check a peer's certificate with CheckLeaf and return its identity. They return
// UNAUTHENTICATED if the certificate cannot be read or the check fails.
Result<Identity> IdentityOfPem(const std::string& pem, CertificateUse use);
Result<Identity> IdentityOfDer(const std::string& der, CertificateUse use);

// Checks the chain of certificates that a peer sent. All but the first must belong to certificate
// authorities; otherwise returns an error. gRPC 1.51 does not check this if the authority's path
// length is unlimited, so any client could sign certificates of others.
Status CheckChain(const std::string& pem_chain);

}  // namespace assay::rpc
