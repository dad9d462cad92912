#include "identity/openssl.h"

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/random.h>

#include <array>
#include <cstdlib>

#include "common/digest.h"

namespace assay::identity {
namespace {

// Never asks the terminal for the password of an encrypted key.
int RefusePassword(char*, int, int, void*) { return 0; }

}  // namespace

Bio Reading(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Bio Writing() { return Bio(BIO_new(BIO_s_mem())); }

std::string Written(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size <= 0 ? "" : std::string(data, static_cast<size_t>(size));
}

Status OpenSslError(const std::string& what) {
  const char* const why = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return Internal(what + ": " + (why != nullptr ? why : "OpenSSL gave no reason"));
}

std::string RandomBytes(size_t count) {
  std::string bytes(count, '\0');
  // Linux returns up to 256 bytes at once and does not fail.
  if (getrandom(bytes.data(), count, 0) != static_cast<ssize_t>(count)) std::abort();
  return bytes;
}

Result<Key> NewKey() {
  Key key(EVP_EC_gen("P-256"));
  if (!key) return OpenSslError("cannot make a key");
  return key;
}

Result<Key> ParseKey(const std::string& pem) {
  Key key(PEM_read_bio_PrivateKey(Reading(pem).get(), nullptr, RefusePassword, nullptr));
  ERR_clear_error();
  if (!key) {
    return InvalidArgument("it has no readable private key", Reason::kBadFile)
        .WithHint("a key with a password cannot be used");
  }
  return key;
}

Result<std::string> KeyPem(EVP_PKEY* key) {
  const Bio bio = Writing();
  if (PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return OpenSslError("cannot encode a key");
  }
  return Written(bio.get());
}

std::string KeyPin(EVP_PKEY* key) {
  const std::string hash = KeyHash(key);
  std::array<unsigned char, 32> digest{};
  for (size_t i = 0; i < digest.size() && 2 * i + 2 <= hash.size(); ++i) {
    digest[i] = static_cast<unsigned char>(std::stoi(hash.substr(2 * i, 2), nullptr, 16));
  }
  std::array<unsigned char, 45> text{};
  EVP_EncodeBlock(text.data(), digest.data(), static_cast<int>(digest.size()));
  return reinterpret_cast<const char*>(text.data());
}

std::string KeyHash(EVP_PKEY* key) {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key, &der);
  if (size <= 0) return "";
  std::string hash =
      Sha256Hex(std::string_view(reinterpret_cast<const char*>(der), static_cast<size_t>(size)));
  OPENSSL_free(der);
  return hash;
}

}  // namespace assay::identity
