#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/views/node_view.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

void AddGpu(v1::NodeInventory* inventory, int numa_node, const std::string& cpus,
            const std::string& pcie_switch) {
  v1::GpuInventory* gpu = inventory->add_gpus();
  gpu->set_index(inventory->gpus_size() - 1);
  gpu->set_uuid("GPU-" + std::to_string(gpu->index()));
  gpu->set_cpus(cpus);
  gpu->set_pcie_switch(pcie_switch);
  if (numa_node >= 0) gpu->set_numa_node(numa_node);
}

v1::GpuLink* Link(v1::NodeInventory* inventory, int a, int b, const std::string& kind) {
  v1::GpuLink* link = inventory->add_gpu_links();
  link->set_gpu_a(a);
  link->set_gpu_b(b);
  link->set_kind(kind);
  return link;
}

// Three GPUs behind NVSwitches.
v1::NodeInventory Switched() {
  v1::NodeInventory inventory;
  for (int i = 0; i < 3; ++i) {
    AddGpu(&inventory, i / 2, i < 2 ? "0-47" : "48-95", i < 2 ? "0000:16:00.0" : "0000:96:00.0");
    inventory.mutable_gpus(i)->set_nvlinks_to_switch(18);
    inventory.mutable_gpus(i)->set_nvlink_bytes_per_second(26'562'000'000);
  }
  Link(&inventory, 0, 1, "NV18");
  Link(&inventory, 0, 2, "NV18");
  Link(&inventory, 1, 2, "NV18");
  return inventory;
}

TEST(TopologyText, Legend_HasOnlyTheKindsThatOccur) {
  EXPECT_WORDING("views/topology-nvswitch", TopologyText(Switched(), {}));
}

TEST(TopologyText, PcieAndPairsWithoutPeerAccess_AreShown) {
  v1::NodeInventory inventory;
  for (int i = 0; i < 3; ++i) AddGpu(&inventory, -1, "", "");
  Link(&inventory, 0, 1, "PIX");
  Link(&inventory, 0, 2, "SYS")->set_no_peer_access("the chipset does not support it");
  Link(&inventory, 1, 2, "SYS");
  EXPECT_WORDING("views/topology-pcie", TopologyText(inventory, {}));
}

TEST(TopologyText, BridgedGpus_HaveNoSwitchInTheLegend) {
  v1::NodeInventory inventory;
  for (int i = 0; i < 2; ++i) AddGpu(&inventory, -1, "", "");
  Link(&inventory, 1, 0, "NV4");
  EXPECT_WORDING("views/topology-bridge", TopologyText(inventory, {}));
}

TEST(TopologyText, OneGpu_HasItsPlaceAndUnknownTopologyIsEmpty) {
  v1::NodeInventory one;
  AddGpu(&one, 1, "48-95", "");
  EXPECT_WORDING("views/topology-one-gpu", TopologyText(one, {}));
  v1::NodeInventory silent;
  AddGpu(&silent, -1, "", "");
  EXPECT_EQ(TopologyText(silent, {}), "");
  EXPECT_EQ(TopologyText({}, {}), "");
}

v1::StoredResult Transfer(const std::string& from, const std::string& to, const std::string& mode,
                          double bandwidth) {
  v1::StoredResult stored;
  v1::CaseResult& result = *stored.mutable_case_result();
  result.set_benchmark("peer_transfer");
  result.set_outcome(v1::CASE_OUTCOME_OK);
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"from", from},
                                                        {"to", to},
                                                        {"mode", mode},
                                                        {"direction", "unidirectional"},
                                                        {"engine", "copy"},
                                                        {"bytes", "1073741824"}}) {
    (*result.mutable_parameters())[name] = value;
  }
  // The job had the node's GPUs 2, 0 and 1.
  for (const char* uuid : {"GPU-2", "GPU-0", "GPU-1"}) {
    result.mutable_provenance()->add_gpu_uuids(uuid);
  }
  result.add_measurements()->set_median(bandwidth);
  return stored;
}

TEST(MeasuredLinks, NewestResultOfEachPair_IsShown) {
  EXPECT_EQ(MeasuredLinks(Switched(),
                          {Transfer("0", "1", "write", 396.12), Transfer("1", "0", "write", 395),
                           Transfer("0", "1", "write", 1), Transfer("1", "2", "read", 2)},
                          {}),
            "GB/s last measured from row to column: unidirectional write by copy engine, 1GiB\n"
            "GPU      0  1      2\n"
            "  0      -  -  395.0\n"
            "  1      -  -      -\n"
            "  2  396.1  -      -\n");
}

TEST(MeasuredLinks, OtherNodesGpusAndFailures_AreLeftOut) {
  v1::StoredResult elsewhere = Transfer("0", "1", "write", 300);
  elsewhere.mutable_case_result()->mutable_provenance()->set_gpu_uuids(0, "GPU-x");
  v1::StoredResult failed = Transfer("0", "1", "write", 300);
  failed.mutable_case_result()->set_outcome(v1::CASE_OUTCOME_FAILED);
  v1::StoredResult beyond = Transfer("0", "7", "write", 300);
  EXPECT_EQ(MeasuredLinks(Switched(), {elsewhere, failed, beyond}, {}), "");
}

}  // namespace
}  // namespace assay::cli
