#include "wire/credentials.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "common/file.h"
#include "tests/temporary_folder.h"

namespace assay::rpc {
namespace {

const HostPort kHere = {"127.0.0.1", 0};

// An authority `ca`, and `server` of its making.
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

  static constexpr char kOfCa[] =
      "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -days 1 -CA ca.pem -CAkey ca.key";
  TemporaryFolder folder_;
};

TEST_F(CredentialsTest, FilesThatBelongTogetherAreTaken) {
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

// gRPC told of no fault, and the coordinator of a port that was taken.
TEST_F(CredentialsTest, AuthoritiesThatCannotBeReadAreNamed) {
  const std::string cut = Write("cut.pem", ReadFile(At("ca.pem"))->substr(0, 250));
  for (const Status& status : {Served(Files("server", cut)), Dialled({"", "", cut})}) {
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_EQ(status.message(), cut + " holds no readable certificate");
  }
}

// gRPC ignores all certificates after the first that it cannot read.
TEST_F(CredentialsTest, AFileThatEndsTooEarlyIsNamed) {
  const std::string cut =
      Write("cut.pem", *ReadFile(At("server.pem")) + ReadFile(At("ca.pem"))->substr(0, 250));
  const TlsFiles as_chain = {cut, At("server.key"), At("ca.pem")};
  for (const Status& status : {Served(as_chain), Dialled(as_chain), Served(Files("server", cut))}) {
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_EQ(status.message(), "certificate 2 in " + cut + " cannot be read");
  }
}

TEST_F(CredentialsTest, ACertificateTooWeakForTlsIsNamed) {
  Make("weak", "-newkey rsa:512 -days 1");
  const Status status = Served(Files("weak", ""));
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "OpenSSL does not take " + At("weak.pem") + " for TLS: ee key too small");
}

TEST_F(CredentialsTest, WhatIsNoFileOfThatKindIsNamed) {
  EXPECT_EQ(Served({folder_.path(), At("server.key"), ""}).message(),
            "cannot read " + folder_.path() + ": Is a directory");
  EXPECT_EQ(Served({"/dev/zero", At("server.key"), ""}).message(),
            "cannot read /dev/zero: it is larger than 4194304 bytes");
}

}  // namespace
}  // namespace assay::rpc
