#include "model/nccl_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "model/nccl_variables.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct Case {
  const char* name;
  std::vector<const char*> good;
  std::vector<const char*> bad;
};

class NcclValuesTest : public ::testing::TestWithParam<Case> {};

TEST_P(NcclValuesTest, TakesWhatNcclTakesForIt) {
  for (const char* value : GetParam().good) {
    const Status sound = CheckNcclVariable(GetParam().name, value);
    EXPECT_TRUE(sound.ok()) << sound;
  }
  for (const char* value : GetParam().bad) {
    EXPECT_THAT(
        CheckNcclVariable(GetParam().name, value).message(),
        AllOf(HasSubstr(std::string("\"") + value + "\" is no value for " + GetParam().name + ": "),
              HasSubstr("write")))
        << value;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, NcclValuesTest,
    ::testing::Values(
        Case{"NCCL_P2P_DISABLE",
             {"0", "1"},
             {"0x1", "-0", "2", "-1", "true", "yes", "on", "01", "1.0", "+1"}},
        Case{"NCCL_CROSS_NIC", {"0", "1", "2"}, {"3", "auto"}},
        Case{"NCCL_IB_GID_INDEX", {"-1", "3"}, {"-2", "256"}},
        Case{"NCCL_IB_QPS_PER_CONNECTION", {"1", "128"}, {"0", "129"}},
        Case{"NCCL_MIN_NCHANNELS", {"1", "64"}, {"0", "65", "16k", "010", "0x10", "0x", "0x-1"}},
        Case{"NCCL_NTHREADS", {"64", "96", "512"}, {"32", "100", "544"}},
        Case{"NCCL_BUFFSIZE", {"4194304"}, {"0x400000", "4M", "4MiB", "512", "2147483648"}},
        Case{"NCCL_ALGO",
             {"Ring", "ring", "^Tree,NVLS", "CollnetDirect,CollnetChain,NVLSTree,PAT",
              "ring,collnetdirect;allreduce:tree,collnetdirect;broadcast:ring", "AllReduce:^NVLS"},
             {"Rings", "Ring,", ",", "^", "^^Ring", "Ring;Tree", "AllToAll:Ring", "Ring:Tree",
              "AllReduce:", "Ring;", "LL", "Ring,^Tree", "AllReduce:Ring:Tree"}},
        Case{"NCCL_PROTO",
             {"LL", "ll128", "^Simple", "LL,Simple;allreduce:^LL"},
             {"LL256", "Ring", "LL;Simple"}},
        Case{"NCCL_P2P_LEVEL",
             {"LOC", "NVL", "PIX", "PXB", "PHB", "SYS", "0", "5"},
             {"nvl", "NODE", "6", "0x2", "-1", "NV18"}},
        Case{"NCCL_NET_GDR_LEVEL", {"PHB", "3"}, {"phb"}},
        Case{"NCCL_SOCKET_FAMILY", {"AF_INET", "AF_INET6"}, {"INET", "af_inet", "4"}},
        Case{"NCCL_LAUNCH_MODE", {"PARALLEL", "group"}, {"GROUPS", "1"}},
        Case{"NCCL_NET", {"Socket", "IB", "AWS-OFI"}, {"IB,Socket", "^IB"}},
        Case{"NCCL_SOCKET_IFNAME",
             {"eth", "=eth0,eth1", "^docker,lo", "^=docker0", "bond0.100"},
             {"=^eth0", "eth0,=eth1", "eth0,^lo", "eth0,", "==eth0", "=", "eth0:1",
              "a-name-of-sixteen"}},
        Case{"NCCL_IB_HCA",
             {"mlx5", "=mlx5_0:1,mlx5_1:1", "^=mlx5_3,mlx5_4"},
             {"mlx5_0:", "mlx5_0:0", "mlx5_0:a", "mlx5_0,=mlx5_1", ":1"}}));

TEST(NcclValuesTest, SaysWhatNcclWouldMakeOfIt) {
  const auto why = [](const char* name, const char* value) {
    return CheckNcclVariable(name, value).message();
  };
  EXPECT_THAT(why("NCCL_BUFFSIZE", "4MiB"),
              HasSubstr("write an integer of bytes from 1024 to 1073741824, here 4194304; NCCL "
                        "would read it as 4"));
  EXPECT_THAT(why("NCCL_MAX_NCHANNELS", "010"), HasSubstr("NCCL would read it as 8"));
  EXPECT_THAT(why("NCCL_MAX_NCHANNELS", "65"), Not(HasSubstr("read it")));
  EXPECT_THAT(why("NCCL_MAX_NCHANNELS", "99999999999999999999"), HasSubstr("would ignore it"));
  EXPECT_THAT(why("NCCL_NTHREADS", "100"), HasSubstr("a multiple of 32 from 64 to 512"));
  EXPECT_THAT(why("NCCL_ALGO", "Rings"),
              AllOf(HasSubstr("\"Rings\" is none; write a list of Tree, Ring, CollNetDirect"),
                    HasSubstr("for example \"Tree;AllReduce:^Ring\"")));
  EXPECT_THAT(why("NCCL_ALGO", "AllToAll:Ring"), HasSubstr("\"AllToAll\" is no collective"));
  EXPECT_THAT(why("NCCL_P2P_LEVEL", "nvl"), HasSubstr("in upper case, or 0 to 5; NCCL would "
                                                      "ignore it"));
  EXPECT_THAT(why("NCCL_P2P_LEVEL", "7"), HasSubstr("NCCL would read it as SYS"));
}

TEST(NcclValuesTest, NeverTakesAnEmptyValueAndAlwaysHasBounds) {
  for (const NcclVariable& variable : NcclVariables()) {
    EXPECT_FALSE(CheckNcclVariable(variable.name, "").ok()) << variable.name;
    EXPECT_FALSE(CheckNcclVariable(variable.name, "^").ok()) << variable.name;
    EXPECT_LE(variable.values.minimum, variable.values.maximum) << variable.name;
  }
}

TEST(NcclValuesTest, NamesTheDecimalOfAHexadecimalNumber) {
  for (const auto& [name, value, decimal] :
       {std::tuple("NCCL_IB_DISABLE", "0x1", "decimal, 1,"),
        {"NCCL_BUFFSIZE", "0X400000", "decimal, 4194304,"},
        {"NCCL_P2P_LEVEL", "0x2", "decimal, 2,"},
        {"NCCL_MIN_NCHANNELS", "0x100", "write an integer from 1 to 64"}}) {
    EXPECT_THAT(CheckNcclVariable(name, value).message(), HasSubstr(decimal)) << value;
  }
}

TEST(NcclValuesTest, ComparesSettingsThatContradictEachOther) {
  EXPECT_TRUE(CheckNcclTogether({}).ok());
  // Bounds are not checked here, and no product is too large.
  const std::string most = "9223372036854775807";
  EXPECT_FALSE(
      CheckNcclTogether({{"NCCL_SOCKET_NTHREADS", most}, {"NCCL_NSOCKS_PERTHREAD", most}}).ok());
  EXPECT_TRUE(CheckNcclTogether({{"NCCL_MIN_CTAS", "4"}, {"NCCL_MAX_CTAS", "4"}}).ok());
  EXPECT_TRUE(CheckNcclTogether({{"NCCL_MIN_CTAS", "8"}, {"NCCL_MAX_NCHANNELS", "4"}}).ok());
  EXPECT_THAT(
      CheckNcclTogether({{"NCCL_MIN_NCHANNELS", "16"}, {"NCCL_MAX_NCHANNELS", "8"}}).message(),
      HasSubstr("NCCL_MIN_NCHANNELS is 16 and NCCL_MAX_NCHANNELS is 8"));
  EXPECT_TRUE(
      CheckNcclTogether({{"NCCL_SOCKET_NTHREADS", "8"}, {"NCCL_NSOCKS_PERTHREAD", "8"}}).ok());
  EXPECT_THAT(
      CheckNcclTogether({{"NCCL_SOCKET_NTHREADS", "16"}, {"NCCL_NSOCKS_PERTHREAD", "8"}}).message(),
      HasSubstr("their product at most 64"));
}

}  // namespace
}  // namespace assay
