// Keys and certificate requests for tests.
#pragma once

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <functional>
#include <string>
#include <utility>

#include "identity/certificate_request.h"
#include "identity/openssl.h"

namespace assay::identity {

struct TestRequest {
  const EVP_MD* digest = EVP_sha256();
  const char* header = PEM_STRING_X509_REQ;
  // Changes the request before it is signed, and its DER afterwards.
  std::function<void(X509_REQ*)> before_signing = [](X509_REQ*) {};
  std::function<void(std::string&)> after_signing = [](std::string&) {};
};

inline std::string PemOf(const char* header, const std::string& der) {
  const Bio bio = Writing();
  PEM_write_bio(bio.get(), header, "", reinterpret_cast<const unsigned char*>(der.data()),
                static_cast<long>(der.size()));
  return Written(bio.get());
}

inline std::string RequestDer(EVP_PKEY* key, const TestRequest& options = {}) {
  const Request request(X509_REQ_new());
  X509_REQ_set_pubkey(request.get(), key);
  options.before_signing(request.get());
  EXPECT_GT(X509_REQ_sign(request.get(), key, options.digest), 0);
  unsigned char* bytes = nullptr;
  const int size = i2d_X509_REQ(request.get(), &bytes);
  std::string der(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
  OPENSSL_free(bytes);
  options.after_signing(der);
  return der;
}

inline std::string RequestPem(EVP_PKEY* key, const TestRequest& options = {}) {
  return PemOf(options.header, RequestDer(key, options));
}

// A new key with a request that the coordinator accepts.
inline RequestedKey NewRequestedKey() {
  const Key key = std::move(NewKey().value());
  return CheckCertificateRequest(RequestPem(key.get())).value();
}

}  // namespace assay::identity
