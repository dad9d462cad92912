// Owning pointers for OpenSSL 3.0, and conversions to and from PEM.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

#include "common/status.h"

namespace assay::identity {

template <auto kFree>
struct OpenSslDeleter {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};

using Bio = std::unique_ptr<BIO, OpenSslDeleter<BIO_free>>;
using Key = std::unique_ptr<EVP_PKEY, OpenSslDeleter<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, OpenSslDeleter<X509_free>>;
using Request = std::unique_ptr<X509_REQ, OpenSslDeleter<X509_REQ_free>>;

// Returns a BIO that reads `text`, which must outlive it.
Bio Reading(const std::string& text);
// Return an empty BIO to write to, and the text that has been written to it.
Bio Writing();
std::string Written(BIO* bio);

// Returns INTERNAL with the newest OpenSSL error of this thread, and clears OpenSSL's error queue.
Status OpenSslError(const std::string& what);

// Returns `count` bytes, at most 256, from the kernel's random numbers.
std::string RandomBytes(size_t count);

// Makes a P-256 key.
Result<Key> NewKey();
// Converts private keys from and to PEM. A key with a password counts as unreadable.
Result<Key> ParseKey(const std::string& pem);
Result<std::string> KeyPem(EVP_PKEY* key);

// Returns the SHA-256 digest of the public key (SubjectPublicKeyInfo in DER) in hexadecimal.
std::string KeyHash(EVP_PKEY* key);
// Returns the same digest in base64, for `curl --pinnedpubkey sha256//PIN`.
std::string KeyPin(EVP_PKEY* key);

}  // namespace assay::identity
