// Certificates for tests, made by openssl as docs/guides/secure-a-fleet.md says.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/temporary_folder.h"

namespace assay::testing_support {

// A fleet's authority with the certificates that it signs, as PEM files in a temporary folder.
class CertificateFolder {
 public:
  CertificateFolder() { Authority("ca", "critical,CA:TRUE,pathlen:0"); }

  std::string Certificate(const std::string& name) const { return At(name + ".pem"); }
  std::string Key(const std::string& name) const { return At(name + ".key"); }
  std::string authority() const { return Certificate("ca"); }
  std::string At(const std::string& file) const { return folder_.path() + "/" + file; }

  // Makes an authority that signs itself.
  void Authority(const std::string& name, const std::string& constraints) const {
    Run("openssl req -x509 -nodes -newkey ec -pkeyopt ec_paramgen_curve:P-256 -days 1 -subj /CN=" +
        name + " -addext basicConstraints=" + constraints +
        " -addext keyUsage=critical,keyCertSign -keyout " + name + ".key -out " + name + ".pem");
  }

  // Makes NAME.pem and NAME.key with these alternative names ("URI:spiffe://f/node/1,DNS:a"),
  // signed by `signer`.
  void Leaf(const std::string& name, const std::string& names,
            const std::string& usage = "clientAuth,serverAuth", const std::string& signer = "ca",
            const std::string& constraints = "critical,CA:FALSE") const {
    std::ofstream extensions(At(name + ".ext"));
    extensions << "basicConstraints=" << constraints << "\nkeyUsage=critical,digitalSignature"
               << (constraints.find("CA:TRUE") == std::string::npos ? "\n" : ",keyCertSign\n");
    if (!usage.empty()) extensions << "extendedKeyUsage=" << usage << "\n";
    if (!names.empty()) extensions << "subjectAltName=" << names << "\n";
    extensions.close();
    Run("openssl req -new -nodes -newkey ec -pkeyopt ec_paramgen_curve:P-256 -subj /CN=" + name +
        " -keyout " + name + ".key -out " + name + ".csr && openssl x509 -req -days 1 -in " + name +
        ".csr -CA " + signer + ".pem -CAkey " + signer + ".key -CAcreateserial -extfile " + name +
        ".ext -out " + name + ".pem");
  }

 private:
  void Run(const std::string& command) const {
    const std::string whole = "cd " + folder_.path() + " && (" + command + ") >/dev/null 2>&1";
    EXPECT_EQ(std::system(whole.c_str()), 0) << command;
  }

  TemporaryFolder folder_;
};

}  // namespace assay::testing_support
