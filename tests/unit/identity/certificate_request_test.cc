#include "identity/certificate_request.h"

#include <gmock/gmock.h>
#include <openssl/core_names.h>
#include <openssl/rsa.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <thread>

#include "identity/key_file.h"
#include "tests/temporary_folder.h"
#include "tests/unit/identity/records.h"
#include "tests/wording.h"

namespace assay::identity {
namespace {

Key Generated(const char* kind, const char* curve = nullptr) {
  return Key(curve != nullptr ? EVP_EC_gen(curve) : EVP_PKEY_Q_keygen(nullptr, nullptr, kind));
}

Key Rsa(size_t bits) { return Key(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", bits)); }

mode_t ModeOf(const std::string& path) {
  struct stat facts {};
  EXPECT_EQ(::stat(path.c_str(), &facts), 0) << path;
  return facts.st_mode & 07777;
}

TEST(CertificateRequest, KeyStaysTheSameAndPrivate) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/node.key";
  const Result<std::string> first = MakeCertificateRequest(path);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(ModeOf(path), 0600U);
  const Result<std::string> second = MakeCertificateRequest(path);
  ASSERT_TRUE(second.ok()) << second.status();
  const Result<RequestedKey> key = CheckCertificateRequest(*first);
  ASSERT_TRUE(key.ok()) << key.status();
  EXPECT_EQ(key->hash, CheckCertificateRequest(*second)->hash);
  EXPECT_EQ(key->hash.size(), 64U);
}

TEST(CertificateRequest, ProcessesThatStartTogetherShareOneKey) {
  const TemporaryFolder folder;
  std::vector<std::string> hashes(8);
  std::vector<std::thread> threads;
  for (std::string& hash : hashes) {
    threads.emplace_back([&] {
      const Result<std::string> request = MakeCertificateRequest(folder.path() + "/node.key");
      if (request.ok()) hash = CheckCertificateRequest(*request)->hash;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_NE(hashes[0], "");
  EXPECT_EQ(std::set<std::string>(hashes.begin(), hashes.end()).size(), 1U);
}

TEST(CertificateRequest, KeyFilesThatOthersCanReadAreRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/node.key";
  ASSERT_TRUE(MakeCertificateRequest(path).ok());
  for (const mode_t mode : {0640U, 0604U, 0660U}) {
    ::chmod(path.c_str(), mode);
    EXPECT_EQ(MakeCertificateRequest(path).status().code(), Code::kFailedPrecondition) << mode;
  }
  ::chmod(path.c_str(), 0600);
  std::ofstream(path) << "garbage";
  EXPECT_EQ(MakeCertificateRequest(path).status().reason(), Reason::kBadFile);
  EXPECT_FALSE(MakeCertificateRequest(folder.path()).ok());
  EXPECT_FALSE(MakeCertificateRequest(folder.path() + "/none/node.key").ok());
}

TEST(CertificateRequest, UsualKeysAreAccepted) {
  const Key rsa = Rsa(2048);
  const Key p384 = Generated("EC", "P-384");
  const Key ed25519 = Generated("ED25519");
  EXPECT_TRUE(CheckCertificateRequest(RequestPem(rsa.get())).ok());
  EXPECT_TRUE(CheckCertificateRequest(RequestPem(p384.get(), {EVP_sha384()})).ok());
  EXPECT_TRUE(CheckCertificateRequest(RequestPem(ed25519.get(), {nullptr})).ok());
}

TEST(CertificateRequest, WishesAreIgnored) {
  const Key key = std::move(NewKey().value());
  TestRequest options;
  options.before_signing = [](X509_REQ* request) {
    X509_NAME_add_entry_by_txt(X509_REQ_get_subject_name(request), "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>("coordinator"), -1, -1, 0);
    STACK_OF(X509_EXTENSION)* const wishes = sk_X509_EXTENSION_new_null();
    sk_X509_EXTENSION_push(
        wishes, X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, "critical,CA:TRUE"));
    EXPECT_EQ(X509_REQ_add_extensions(request, wishes), 1);
    sk_X509_EXTENSION_pop_free(wishes, X509_EXTENSION_free);
  };
  const Result<RequestedKey> checked = CheckCertificateRequest(RequestPem(key.get(), options));
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(checked->hash, KeyHash(key.get()));
}

TEST(CertificateRequest, OthersAreRefused) {
  const Key key = std::move(NewKey().value());
  const Key compressed = Generated("EC", "P-256");
  EVP_PKEY_set_utf8_string_param(compressed.get(), OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT,
                                 "compressed");
  const std::string good = RequestPem(key.get());
  TestRequest forged;
  forged.after_signing = [](std::string& der) { der.back() = static_cast<char>(der.back() ^ 1); };
  TestRequest stolen;  // Of another's public key.
  const Key other = std::move(NewKey().value());
  const std::vector<std::pair<std::string, std::string>> requests = {
      {"missing", " \n"},
      {"garbage", "hello"},
      {"large", std::string(17 << 10, 'a')},
      {"two", good + good},
      {"prefixed", "hello\n" + good},
      {"private-key", *KeyPem(key.get())},
      {"certificate", PemOf(PEM_STRING_X509, RequestDer(key.get()))},
      {"unreadable", PemOf(PEM_STRING_X509_REQ, "hello")},
      {"longer", PemOf(PEM_STRING_X509_REQ, RequestDer(key.get()) + "x")},
      {"curve", RequestPem(Generated("EC", "secp256k1").get())},
      {"rsa-1024", RequestPem(Rsa(1024).get())},
      {"ed448", RequestPem(Generated("ED448").get(), {nullptr})},
      {"compressed", RequestPem(compressed.get())},
      {"sha1", RequestPem(key.get(), {EVP_sha1()})},
      {"forged", RequestPem(key.get(), forged)},
  };
  for (const auto& [name, pem] : requests) {
    const Status status = CheckCertificateRequest(pem).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << name;
    EXPECT_EQ(status.reason(), Reason::kBadCertificate) << name;
    ASSERT_EQ(status.violations().size(), 1U) << name;
    EXPECT_EQ(status.violations()[0].field, "certificate_request") << name;
    EXPECT_WORDING("identity/request-" + name, status.message());
  }
}

// A request that was changed is refused, or has the same key.
void ExpectNoOtherKey(const std::string& pem, const std::string& hash) {
  const Result<RequestedKey> key = CheckCertificateRequest(pem);
  EXPECT_EQ(key.ok() ? key->hash : hash, hash);
}

TEST(CertificateRequest, MutatedRequestsGetNoOtherKey) {
  std::mt19937 random(11);
  for (const auto* const curve : {"P-256", "P-384"}) {
    const Key key = Generated("EC", curve);
    const std::string hash = KeyHash(key.get());
    const std::string der = RequestDer(key.get());
    for (size_t i = 0; i < der.size(); ++i) {
      for (const int bit : {0, 3, 7}) {
        std::string changed = der;
        changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
        ExpectNoOtherKey(PemOf(PEM_STRING_X509_REQ, changed), hash);
      }
      ExpectNoOtherKey(PemOf(PEM_STRING_X509_REQ, der.substr(0, i)), hash);
    }
    const std::string pem = PemOf(PEM_STRING_X509_REQ, der);
    for (size_t i = 0; i < pem.size(); ++i) {
      std::string changed = pem;
      changed[i] = static_cast<char>(random() % 256);
      ExpectNoOtherKey(changed, hash);
      ExpectNoOtherKey(pem.substr(0, i), hash);
      ExpectNoOtherKey(pem.substr(i), hash);
    }
    for (int round = 0; round < 2000; ++round) {
      std::string changed = der;
      for (int i = 0; i < 4; ++i) {
        changed[random() % changed.size()] = static_cast<char>(random() % 256);
      }
      if (round % 3 == 0) changed.insert(random() % changed.size(), random() % 64, 'x');
      ExpectNoOtherKey(PemOf(PEM_STRING_X509_REQ, changed), hash);
    }
  }
}

TEST(KeyFile, ReplacedFilesAreWhole) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/server.pem";
  ASSERT_TRUE(ReplacePrivateFile(path, "one").ok());
  ASSERT_TRUE(ReplacePrivateFile(path, "two").ok());
  EXPECT_EQ(*ReadKeyFile(path), "two");
  EXPECT_EQ(ModeOf(path), 0600U);
  EXPECT_EQ(*MakePrivateFile(path, "three"), "two");
  EXPECT_FALSE(ReplacePrivateFile(folder.path() + "/none/file", "x").ok());
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    ++files;
  }
  EXPECT_EQ(files, 1) << "temporary files are left";
}

}  // namespace
}  // namespace assay::identity
