#include "model/nccl_variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/wording.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(NcclVariables, AreSortedAndNeverNameFilesOrPlugins) {
  const auto& all = NcclVariables();
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(),
                             [](const auto& a, const auto& b) { return a.name < b.name; }));
  for (const NcclVariable& variable : all) {
    for (const char* word : {"FILE", "PLUGIN", "DUMP", "PATH", "DEBUG", "HOSTID"}) {
      EXPECT_EQ(variable.name.find(word), std::string_view::npos) << variable.name;
    }
    EXPECT_LE(variable.minimum, variable.maximum) << variable.name;
    EXPECT_FALSE(CheckNcclVariable(variable.name, "").ok()) << variable.name;
  }
}

struct Values {
  const char* name;
  std::vector<const char*> accepted;
  std::vector<const char*> refused;
};

class NcclValues : public ::testing::TestWithParam<Values> {};

TEST_P(NcclValues, AreChecked) {
  for (const char* value : GetParam().accepted) {
    EXPECT_TRUE(CheckNcclVariable(GetParam().name, value).ok()) << value;
  }
  for (const char* value : GetParam().refused) {
    EXPECT_EQ(CheckNcclVariable(GetParam().name, value).code(), Code::kInvalidArgument) << value;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, NcclValues,
    ::testing::Values(
        Values{"NCCL_P2P_DISABLE", {"0", "1"}, {"0x1", "-0", "2", "-1", "true", "01", "1.0", "+1"}},
        Values{"NCCL_IB_GID_INDEX", {"-1", "3"}, {"-2", "256"}},
        Values{"NCCL_NTHREADS", {"64", "512"}, {"32", "100"}},
        Values{"NCCL_BUFFSIZE", {"4194304"}, {"4M", "512", "99999999999999999999"}},
        Values{"NCCL_ALGO",
               {"Ring", "ring", "^Tree,NVLS", "ring,pat;allreduce:tree;broadcast:ring"},
               {"Rings", "^", ",", "LL", "AllToAll:Ring"}},
        Values{"NCCL_PROTO", {"LL", "ll128", "LL,Simple;allreduce:^LL"}, {"LL256", "Ring"}},
        Values{"NCCL_P2P_LEVEL", {"NVL", "SYS", "5"}, {"nvl", "NODE", "6", "0x2"}},
        Values{"NCCL_SOCKET_FAMILY", {"AF_INET6"}, {"INET", "af_inet"}},
        Values{"NCCL_SOCKET_IFNAME", {"=eth0,eth1", "^docker", "bond0.100"}, {"eth 0", "/dev/x"}},
        Values{"NCCL_IB_HCA", {"=mlx5_0:1,mlx5_1:1"}, {"$(id)", "\xff"}}));

TEST(CheckNcclVariable, OverlongValueOrNul_IsRefused) {
  EXPECT_FALSE(CheckNcclVariable("NCCL_NET", std::string(257, '1')).ok());
  EXPECT_FALSE(CheckNcclVariable("NCCL_NET", std::string("a\0b", 3)).ok());
}

TEST(CheckNcclVariable, OtherVariables_AreRefused) {
  for (const char* name : {"NCCL_TOPO_FILE", "NCCL_NET_PLUGIN", "LD_PRELOAD", ""}) {
    EXPECT_FALSE(CheckNcclVariable(name, "x").ok()) << name;
  }
}

TEST(CheckNcclVariable, Messages) {
  std::string text;
  for (const auto& [name, value] : {std::pair("NCCL_ALGOS", "Ring"),
                                    {"NCCL_HOSTID", "x"},
                                    {"NCCL_DEBUG", "INFO"},
                                    {"NCCL_NET_PLUGIN", "x"},
                                    {"NCCL_ALGO", "Rings"},
                                    {"NCCL_BUFFSIZE", "4MiB"},
                                    {"NCCL_LAUNCH_MODE", "group"},
                                    {"NCCL_NET", "a b"}}) {
    text += CheckNcclVariable(name, value).message() + "\n";
  }
  EXPECT_WORDING("model/nccl-variables", text);
}

TEST(NcclVariablesOf, ReadsAnEnvironment) {
  const char* const environment[] = {"PATH=/bin",  "NCCL_ALGO=Ring",      "NCCL_DEBUG=INFO",
                                     "NCCL_PROTO", "NCCL_IB_DISABLE=yes", "NCCL_NET=a/b",
                                     nullptr};
  EXPECT_THAT(NcclVariablesOf(environment),
              ElementsAre(Pair("NCCL_ALGO", "Ring"), Pair("NCCL_IB_DISABLE", "yes"),
                          Pair("NCCL_NET", "?")));
}

}  // namespace
}  // namespace assay
