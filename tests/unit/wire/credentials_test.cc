#include "wire/credentials.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "common/file.h"
#include "tests/temporary_folder.h"
#include "tests/wording.h"

namespace assay::rpc {
namespace {

const HostPort kHere = {"127.0.0.1", 0};

// Makes an authority `ca`, and `server`, whose certificate it signs.
class CredentialsTest : public testing::Test {
 protected:
  void SetUp() override {
    Make("ca", "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -days 1");
    Make("server", kOfCa);
  }

  std::string At(const std::string& name) const { return folder_.path() + "/" + name; }

  void Make(const std::string& name, const std::string& how) const {
    const std::string command = "cd " + folder_.path() +
                                " && openssl req -x509 -nodes -subj /CN=" + name + " " + how +
                                " -keyout " + name + ".key -out " + name + ".pem >/dev/null 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }

  std::string Write(const std::string& name, const std::string& text) const {
    std::string path = At(name);
    std::ofstream(path, std::ios::binary) << text;
    std::filesystem::permissions(path, std::filesystem::perms::owner_read);
    return path;
  }

  TlsFiles Files(const std::string& name, const std::string& authorities) const {
    return {At(name + ".pem"), At(name + ".key"), authorities};
  }

  static Status Served(const TlsFiles& files) {
    return ServerCredentials(kHere, files, false).status();
  }
  static Status Dialled(const TlsFiles& files) {
    return ClientCredentials(kHere, files, false).status();
  }

  // Adds what is wrong with the files to `text`, without the folder's name.
  void Describe(const Status& status, std::string& text) const {
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    std::string message = status.ToString() + "\n";
    for (size_t at; (at = message.find(folder_.path())) != std::string::npos;) {
      message.replace(at, folder_.path().size(), "FOLDER");
    }
    text += message;
  }

  static constexpr char kOfCa[] =
      "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -days 1 -CA ca.pem -CAkey ca.key "
      "-addext basicConstraints=critical,CA:FALSE "
      "-addext subjectAltName=URI:spiffe://lab/coordinator/one";
  TemporaryFolder folder_;
};

TEST_F(CredentialsTest, FilesThatBelongTogetherAreAccepted) {
  const TlsFiles files = Files("server", At("ca.pem"));
  EXPECT_TRUE(Served(files).ok()) << Served(files);
  EXPECT_TRUE(Dialled(files).ok()) << Dialled(files);
  // A chain, and text between the certificates.
  const std::string chain = *ReadFile(At("server.pem")) + "issued by\n" + *ReadFile(At("ca.pem"));
  const TlsFiles chained = {Write("chain.pem", chain), At("server.key"),
                            Write("both.pem", chain + "\n# the end\n")};
  EXPECT_TRUE(Served(chained).ok()) << Served(chained);
  const std::string all = Write("all.pem", *ReadFile(At("server.key")) + chain);
  EXPECT_TRUE(Served({all, all, At("ca.pem")}).ok()) << Served({all, all, At("ca.pem")});
}

// gRPC itself reports none of these mistakes. It ignores all certificates after the first that it
// cannot read, or fails to listen without a reason.
TEST_F(CredentialsTest, UnusableFilesAreNamed) {
  const std::string half = ReadFile(At("ca.pem"))->substr(0, 250);
  const std::string cut = Write("cut.pem", half);
  const std::string ends_early = Write("ends_early.pem", *ReadFile(At("server.pem")) + half);
  const TlsFiles as_chain = {ends_early, At("server.key"), At("ca.pem")};
  Make("weak", "-newkey rsa:512 -days 1");
  std::string text;
  Describe(Served(Files("server", cut)), text);
  Describe(Dialled({"", "", cut}), text);
  Describe(Served(as_chain), text);
  Describe(Dialled(as_chain), text);
  Describe(Served(Files("server", ends_early)), text);
  Describe(Served(Files("weak", "")), text);
  Describe(Served({At("server.pem"), At("ca.key"), ""}), text);
  Describe(Served({At("server.pem"), "", ""}), text);
  Describe(Served({folder_.path(), At("server.key"), ""}), text);
  Describe(Served({"/dev/zero", At("server.key"), ""}), text);
  EXPECT_WORDING("wire/credentials", text);
}

TEST_F(CredentialsTest, KeyThatEveryoneCanReadIsRefused) {
  std::filesystem::permissions(At("server.key"), std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  const Status status = Served(Files("server", At("ca.pem")));
  EXPECT_EQ(status.reason(), Reason::kFileUnreadable);
  EXPECT_EQ(status.hint(), "chmod 600 " + At("server.key"));
}

TEST_F(CredentialsTest, CertificateOfAnAuthorityIsRefused) {
  EXPECT_EQ(Served(Files("ca", At("ca.pem"))).reason(), Reason::kBadCertificate);
  EXPECT_EQ(Dialled(Files("ca", At("ca.pem"))).reason(), Reason::kBadCertificate);
}

TEST_F(CredentialsTest, CertificateForOtherUseIsRefused) {
  Make("client", std::string(kOfCa) + " -addext extendedKeyUsage=clientAuth");
  EXPECT_EQ(Served(Files("client", At("ca.pem"))).reason(), Reason::kBadCertificate);
  EXPECT_TRUE(Dialled(Files("client", At("ca.pem"))).ok());
}

TEST_F(CredentialsTest, ServerWithoutIdentityIsRefused) {
  Make("nameless",
       "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -days 1 -CA ca.pem -CAkey ca.key "
       "-addext basicConstraints=critical,CA:FALSE");
  EXPECT_EQ(Served(Files("nameless", At("ca.pem"))).reason(), Reason::kNoIdentity);
}

TEST_F(CredentialsTest, TlsWithoutClientCertificatesOffLoopbackIsRefused) {
  const TlsFiles files = Files("server", "");
  const HostPort everywhere = {"0.0.0.0", 0};
  EXPECT_EQ(ServerCredentials(everywhere, files, false).status().reason(), Reason::kTlsRequired);
  EXPECT_TRUE(ServerCredentials(everywhere, files, true).ok());
  EXPECT_TRUE(Served(files).ok());
}

}  // namespace
}  // namespace assay::rpc
