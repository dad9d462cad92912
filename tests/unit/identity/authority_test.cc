#include "identity/authority.h"

#include <gmock/gmock.h>
#include <openssl/x509_vfy.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "common/file.h"
#include "identity/key_file.h"
#include "tests/temporary_folder.h"
#include "tests/unit/identity/records.h"
#include "tests/virtual_clock.h"
#include "tests/wording.h"
#include "wire/certificate.h"

namespace assay::identity {
namespace {

constexpr Duration kDay = std::chrono::hours(24);

Certificate ParsePem(const std::string& pem) {
  return Certificate(PEM_read_bio_X509(Reading(pem).get(), nullptr, nullptr, nullptr));
}

class AuthorityTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Authority>> Open(const std::string& fleet = "lab") const {
    return Authority::Open(folder, fleet, now);
  }
  std::string At(const std::string& file) const { return folder + "/" + file; }
  mode_t ModeOf(const std::string& file) const {
    struct stat facts {};
    EXPECT_EQ(::stat(At(file).c_str(), &facts), 0) << file;
    return facts.st_mode & 07777;
  }
  void Write(const std::string& file, const std::string& content) const {
    std::ofstream(At(file)) << content;
  }
  // Returns the error of X509_verify_cert for a certificate that `ca` has signed.
  std::string Verify(const std::string& pem, const std::string& ca, int purpose,
                     Duration later = Duration(0)) const {
    const std::unique_ptr<X509_STORE, OpenSslDeleter<X509_STORE_free>> store(X509_STORE_new());
    const std::unique_ptr<X509_STORE_CTX, OpenSslDeleter<X509_STORE_CTX_free>> context(
        X509_STORE_CTX_new());
    const Certificate authority = ParsePem(ca);
    const Certificate leaf = ParsePem(pem);
    X509_STORE_add_cert(store.get(), authority.get());
    X509_STORE_CTX_init(context.get(), store.get(), leaf.get(), nullptr);
    X509_STORE_CTX_set_purpose(context.get(), purpose);
    X509_STORE_CTX_set_flags(context.get(), X509_V_FLAG_X509_STRICT);
    X509_STORE_CTX_set_time(
        context.get(), 0,
        std::chrono::system_clock::to_time_t(
            std::chrono::time_point_cast<std::chrono::microseconds>(now + later)));
    if (X509_verify_cert(context.get()) == 1) return "";
    return X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()));
  }

  const TemporaryFolder temporary;
  const std::string folder = temporary.path() + "/deep/ca";
  VirtualClock clock;
  const WallTime now = clock.WallNow();
};

TEST_F(AuthorityTest, IsMadeOnceWithPrivateFiles) {
  const auto first = Open();
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(ModeOf(""), 0700U);
  EXPECT_EQ(ModeOf("ca.key"), 0600U);
  const auto second = Open();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ((*first)->pem(), (*second)->pem());
  EXPECT_EQ((*first)->fleet(), "lab");
  EXPECT_GT((*first)->expire_time(), now + 3649 * kDay);
  const Certificate certificate = ParsePem((*first)->pem());
  EXPECT_EQ(X509_check_ca(certificate.get()), 1);
  EXPECT_EQ(X509_get_pathlen(certificate.get()), 0);
  EXPECT_EQ(X509_get_key_usage(certificate.get()), uint32_t{KU_KEY_CERT_SIGN});
}

TEST_F(AuthorityTest, ProcessesThatStartTogetherGetTheSame) {
  std::vector<std::string> pems(8);
  std::vector<std::thread> threads;
  for (std::string& pem : pems) {
    threads.emplace_back([&] {
      const auto authority = Open();
      pem = authority.ok() ? (*authority)->pem() : authority.status().ToString();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& pem : pems) EXPECT_EQ(pem, pems[0]);
  EXPECT_EQ((*Open())->pem(), pems[0]);
}

TEST_F(AuthorityTest, GoesOnAfterACrashBetweenKeyAndCertificate) {
  ASSERT_TRUE(Open().ok());
  const std::string key = *ReadFile(At("ca.key"));
  std::filesystem::remove(At("ca.pem"));
  Write("ca.pem.a1b2c3", "half");
  const auto authority = Open();
  ASSERT_TRUE(authority.ok()) << authority.status();
  EXPECT_EQ(*ReadFile(At("ca.key")), key);
}

TEST_F(AuthorityTest, UnusableFilesAreRefused) {
  const auto refused = [&](const std::string& name, const std::string& fleet = "lab") {
    const Status status = Open(fleet).status();
    EXPECT_FALSE(status.ok()) << name;
    std::string text = status.ToString();
    for (size_t at = 0; (at = text.find(folder)) != text.npos;)
      text.replace(at, folder.size(), "CA");
    EXPECT_WORDING("identity/authority-" + name, text);
  };
  const auto authority = Open();
  ASSERT_TRUE(authority.ok()) << authority.status();
  const std::string pem = *ReadFile(At("ca.pem"));
  const std::string key = *ReadFile(At("ca.key"));
  refused("other-fleet", "shop");
  refused("fleet-name", "a b/c");

  ::chmod(At("ca.key").c_str(), 0640);
  refused("readable-key");
  ::chmod(At("ca.key").c_str(), 0600);
  ::chmod(folder.c_str(), 0770);
  refused("writable-folder");
  ::chmod(folder.c_str(), 0700);

  Write("ca.key", *KeyPem(std::move(NewKey().value()).get()));
  refused("other-key");
  Write("ca.key", "garbage");
  refused("garbage-key");
  std::filesystem::remove(At("ca.key"));
  refused("no-key");
  Write("ca.key", key);
  ::chmod(At("ca.key").c_str(), 0600);

  Write("ca.pem", "garbage");
  refused("garbage-certificate");
  Write("ca.pem", "");
  refused("empty-certificate");
  const Key own = std::move(ParseKey(key).value());
  const RequestedKey requested = *CheckCertificateRequest(RequestPem(own.get()));
  Write("ca.pem",
        *(*authority)->Issue(requested, {"node", "lab", {"lab"}, NewSerial(), now + kDay}, now));
  refused("leaf");
  Write("ca.pem", pem);
  ASSERT_TRUE(Open().ok());
  const Status expired = Authority::Open(folder, "lab", now + 3651 * kDay).status();
  EXPECT_EQ(expired.reason(), Reason::kBadCertificate);
  const Status early = Authority::Open(folder, "lab", now - kDay).status();
  EXPECT_EQ(early.reason(), Reason::kBadCertificate);
}

TEST_F(AuthorityTest, IssuesCertificatesOfNodes) {
  const auto authority = Open();
  ASSERT_TRUE(authority.ok()) << authority.status();
  const RequestedKey key = NewRequestedKey();
  const std::string serial = NewSerial();
  const auto pem = (*authority)
                       ->Issue(key,
                               {"node",
                                "7d1e",
                                {"rack 7, URI:spiffe://lab/admin/x"},
                                serial,
                                now + std::chrono::hours(1)},
                               now);
  ASSERT_TRUE(pem.ok()) << pem.status();
  const Result<Identity> identity = rpc::IdentityOfPem(*pem, rpc::CertificateUse::kClient);
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_EQ(identity->role, Role::kNode);
  EXPECT_EQ(identity->fleet, "lab");
  EXPECT_EQ(identity->id, "7d1e");
  EXPECT_EQ(identity->name, "rack 7, URI:spiffe://lab/admin/x");
  EXPECT_EQ(identity->serial, serial);
  EXPECT_EQ(identity->key_hash, key.hash);
  EXPECT_FALSE(rpc::IdentityOfPem(*pem, rpc::CertificateUse::kServer).ok());
  const std::string ca = (*authority)->pem();
  EXPECT_EQ(Verify(*pem, ca, X509_PURPOSE_SSL_CLIENT), "");
  EXPECT_NE(Verify(*pem, ca, X509_PURPOSE_SSL_SERVER), "");
  EXPECT_EQ(Verify(*pem, ca, X509_PURPOSE_SSL_CLIENT, std::chrono::minutes(-4)), "");
  EXPECT_EQ(Verify(*pem, ca, X509_PURPOSE_SSL_CLIENT, std::chrono::minutes(59)), "");
  EXPECT_NE(Verify(*pem, ca, X509_PURPOSE_SSL_CLIENT, std::chrono::minutes(61)), "");
}

TEST_F(AuthorityTest, ANameThatLooksLikeAnAddressIsANodesName) {
  const auto authority = Open();
  ASSERT_TRUE(authority.ok()) << authority.status();
  for (const char* name : {"10.0.0.5", "dead:beef::1"}) {
    const auto pem =
        (*authority)
            ->Issue(NewRequestedKey(),
                    {"node", "7d1e", {name}, NewSerial(), now + std::chrono::hours(1)}, now);
    ASSERT_TRUE(pem.ok()) << pem.status();
    const Result<Identity> identity = rpc::IdentityOfPem(*pem, rpc::CertificateUse::kClient);
    ASSERT_TRUE(identity.ok()) << identity.status();
    EXPECT_EQ(identity->name, name);
  }
}

TEST_F(AuthorityTest, ACertificateDoesNotOutliveTheAuthority) {
  const auto authority = Open();
  ASSERT_TRUE(authority.ok()) << authority.status();
  const auto pem =
      (*authority)
          ->Issue(NewRequestedKey(), {"viewer", "eve", {}, NewSerial(), now + 9999 * kDay}, now);
  ASSERT_TRUE(pem.ok()) << pem.status();
  const Certificate leaf = ParsePem(*pem);
  const Certificate ca = ParsePem((*authority)->pem());
  EXPECT_EQ(ASN1_TIME_compare(X509_get0_notAfter(leaf.get()), X509_get0_notAfter(ca.get())), 0);
}

TEST_F(AuthorityTest, ServerCertificateChangesAndItsKeyDoesNot) {
  const auto authority = Open();
  ASSERT_TRUE(authority.ok()) << authority.status();
  const auto first = (*authority)->IssueServer("1", {"localhost", "10.0.0.1", "::1"}, now);
  ASSERT_TRUE(first.ok()) << first.status();
  const std::string pem = *ReadFile(first->certificate_file);
  EXPECT_EQ(ModeOf("server.key"), 0600U);
  const auto pin = (*authority)->ServerPin();
  ASSERT_TRUE(pin.ok()) << pin.status();
  EXPECT_EQ(pin->size(), 44U);
  const Certificate certificate = ParsePem(pem);
  const Certificate ca = ParsePem((*authority)->pem());
  EXPECT_EQ(ASN1_TIME_compare(X509_get0_notAfter(certificate.get()), X509_get0_notAfter(ca.get())),
            0);
  EXPECT_EQ(X509_check_host(certificate.get(), "localhost", 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_ip_asc(certificate.get(), "10.0.0.1", 0), 1);
  EXPECT_EQ(X509_check_ip_asc(certificate.get(), "::1", 0), 1);
  EXPECT_EQ(X509_check_host(certificate.get(), "other", 0, 0, nullptr), 0);
  EXPECT_EQ(Verify(pem, (*authority)->pem(), X509_PURPOSE_SSL_SERVER), "");
  EXPECT_EQ(Verify(pem, (*authority)->pem(), X509_PURPOSE_SSL_CLIENT), "");
  EXPECT_EQ(rpc::IdentityOfPem(pem, rpc::CertificateUse::kServer)->role, Role::kCoordinator);

  const auto second = (*authority)->IssueServer("1", {"localhost"}, now + 20 * kDay);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(*(*authority)->ServerPin(), *pin);
  EXPECT_NE(*ReadFile(second->certificate_file), pem);
  const auto other = (*authority)->IssueServer("2", {"other"}, now);
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_NE(other->certificate_file, second->certificate_file);
  EXPECT_EQ(other->key_file, second->key_file);
  for (const char* bad : {"", "a b", "a\nb"}) {
    EXPECT_EQ((*authority)->IssueServer("1", {bad}, now).status().code(), Code::kInvalidArgument);
  }
}

TEST(Serial, IsPositiveAndRandom) {
  std::set<std::string> serials;
  for (int i = 0; i < 1000; ++i) serials.insert(NewSerial());
  EXPECT_EQ(serials.size(), 1000U);
  for (const std::string& serial : serials) {
    EXPECT_THAT(serial, ::testing::MatchesRegex("[4-7][0-9A-F]{31}"));
  }
}

}  // namespace
}  // namespace assay::identity
