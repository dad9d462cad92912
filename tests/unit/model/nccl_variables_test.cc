#include "model/nccl_variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(NcclVariablesTest, AreSortedAndNeverNameFilesOrPlugins) {
  const auto& all = NcclVariables();
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(),
                             [](const auto& a, const auto& b) { return a.name < b.name; }));
  for (const NcclVariable& variable : all) {
    for (const char* word : {"FILE", "PLUGIN", "DUMP", "PATH", "DEBUG", "HOSTID"}) {
      EXPECT_EQ(variable.name.find(word), std::string_view::npos) << variable.name;
    }
  }
}

TEST(NcclVariablesTest, AcceptsWhatChoosesAmongNcclsOwn) {
  EXPECT_TRUE(CheckNcclVariable("NCCL_ALGO", "^Tree,NVLS").ok());
  EXPECT_TRUE(CheckNcclVariable("NCCL_SOCKET_IFNAME", "=eth0").ok());
}

TEST(NcclVariablesTest, RefusesWithTheReason) {
  EXPECT_THAT(CheckNcclVariable("NCCL_ALGOS", "Ring").message(), HasSubstr("mean NCCL_ALGO?"));
  EXPECT_THAT(CheckNcclVariable("NCCL_HOSTID", "x").message(), HasSubstr("--nccl-host-id"));
  EXPECT_THAT(CheckNcclVariable("NCCL_DEBUG", "INFO").message(), HasSubstr("Assay sets it"));
  EXPECT_FALSE(CheckNcclVariable("NCCL_TOPO_FILE", "x").ok());
  EXPECT_FALSE(CheckNcclVariable("NCCL_NET_PLUGIN", "x").ok());
  EXPECT_FALSE(CheckNcclVariable("LD_PRELOAD", "x").ok());
  EXPECT_FALSE(CheckNcclVariable("", "x").ok());
  for (const std::string& value :
       {std::string(), std::string("a b"), std::string("/etc/passwd"), std::string("$(id)"),
        std::string("a\0b", 3), std::string(257, '1'), std::string("\xff")}) {
    EXPECT_THAT(CheckNcclVariable("NCCL_ALGO", value).message(), HasSubstr("no value"));
  }
}

TEST(NcclVariablesTest, ReadsAnEnvironment) {
  const char* const environment[] = {"PATH=/bin",  "NCCL_ALGO=Ring",      "NCCL_DEBUG=INFO",
                                     "NCCL_PROTO", "NCCL_IB_DISABLE=yes", "NCCL_NET=a/b",
                                     nullptr};
  EXPECT_THAT(NcclVariablesOf(environment),
              ElementsAre(Pair("NCCL_ALGO", "Ring"), Pair("NCCL_IB_DISABLE", "yes"),
                          Pair("NCCL_NET", "?")));
}

}  // namespace
}  // namespace assay
