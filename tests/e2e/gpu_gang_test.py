"""Tests gangs of simulated GPUs over several agents: which GPUs a result names, which models a gang
may have, what is left out if there are too few GPUs, and NCCL's variables from the campaign to the
filter.

The agents read fake NVML libraries, and their runner is assay-runner with a fake GPU.
"""

import csv
import io
import os
import re
import unittest

import harness
from harness import Fleet

FAKE_NVML = os.path.join(harness.BUILD, "tests", "unit", "host", "libfake_nvml.so")
RUNNER = os.path.join(harness.BUILD, "tests", "fake_gpu_runner")
CAMPAIGN = """
name: {name}
nodes: {nodes}
timeout: 60s
{more}
benchmarks:
  - fake_all_reduce: {{ranks: 4, nodes: 2}}
"""
MODEL = r"H[12]00 (?:SXM|PCIe)"
TOO_LARGE = """
name: partly
nodes: name = a
timeout: 60s
unplaceable: skip
benchmarks:
  - fake_all_reduce: {ranks: [2, 16]}
  - fake_all_reduce: {ranks: 4, nodes: 2}
"""


class GpuFleet(Fleet):
    def gpu_agent(self, name, model, found=None):
        """Starts a node with eight GPUs of this model and `name` in their UUIDs. Ranks see the
        model `found` instead, if given."""
        env = {"ASSAY_NVML_LIBRARY": FAKE_NVML, "FAKE_NVML_NAME": model,
               "FAKE_NVML_HOST": name, "CUDA_FAKE_NAME": found or model}
        self.new_agent(name, runner=RUNNER, env=env).start()
        self.await_node(name)

    def run(self, name, nodes, more=""):
        campaign = self.submit(CAMPAIGN.format(name=name, nodes=nodes, more=more))
        return self.await_end(campaign)

    def refused(self, nodes, more=""):
        """Returns what the CLI prints about a campaign that must be refused."""
        file = self.write_campaign(CAMPAIGN.format(name="refused", nodes=nodes, more=more))
        return self.cli("campaign", "submit", file, code=2).stderr

    def results(self, filter_text):
        return self.cli_json("results", "--filter", filter_text)


def uuid(digit, index):
    return f"GPU-00000000-0000-4000-8000-{digit}0000000000{index}"


class GpuGangTest(unittest.TestCase):
    def test_every_ranks_gpu_one_model_and_nccls_variables(self):
        with GpuFleet() as fleet:
            fleet.start()
            fleet.gpu_agent("a", "NVIDIA H200")
            fleet.gpu_agent("b", "NVIDIA H200")
            fleet.gpu_agent("c", "NVIDIA H100 80GB HBM3")
            fleet.gpu_agent("d", "NVIDIA H200", found="NVIDIA H100 PCIe")
            self.check_nccl(fleet)
            self.check_models(fleet)
            self.check_left_out(fleet)

    def check_nccl(self, fleet):
        ended = fleet.run("ring", "name = a OR name = b", "nccl: {NCCL_ALGO: Ring}")
        self.assertEqual(ended["jobs"]["succeeded"], 1, ended)
        (result,) = fleet.results("nccl_variables.NCCL_ALGO = Ring")
        self.assertEqual(result["node"], ["a", "b"])
        self.assertEqual(result["gpu"]["uuid"],
                         [uuid("a", 0), uuid("a", 1), uuid("b", 0), uuid("b", 1)])
        self.assertEqual(result["gpu"]["model"], "H200")
        # The agent chose the interface with the address that it advertises.
        self.assertEqual(result["nccl_variables"],
                         {"NCCL_ALGO": "Ring", "NCCL_SOCKET_IFNAME": "=lo"})
        self.assertEqual(fleet.results("nccl_variables.NCCL_ALGO = Tree"), [])
        self.assertEqual(fleet.results(f"gpu.uuid = {uuid('b', 1)}"), [result])
        (row,) = csv.DictReader(io.StringIO(fleet.cli("results", "-o", "csv").stdout))
        self.assertEqual(row["nccl_variables"], "NCCL_ALGO=Ring;NCCL_SOCKET_IFNAME==lo")
        self.assertIn('invalid value "4M" for NCCL_BUFFSIZE',
                      fleet.refused("gpu.model = H200", "nccl: {NCCL_BUFFSIZE: 4M}"))

    def check_models(self, fleet):
        # The inventory does not show this difference. The ranks notice it when they meet.
        ended = fleet.run("found", "name = a OR name = d")
        self.assertEqual(ended["jobs"]["failed"], 1, ended)
        failure = fleet.jobs(ended["campaign_id"])[0]["failure"]
        self.assertEqual(failure["reason"], "REASON_MIXED_GPUS")
        self.assertEqual(re.findall(rf"({MODEL})\D*(\d), (\d)", failure["message"]),
                         [("H200 SXM", "0", "1"), ("H100 PCIe", "2", "3")])
        refused = fleet.refused("name = b OR name = c")
        self.assertEqual(re.findall(rf"({MODEL}) \w+ (\w)\b", refused),
                         [("H200 SXM", "b"), ("H100 SXM", "c")])
        ended = fleet.run("mixed", "name = b OR name = c", "mixed_gpus: true")
        self.assertEqual(ended["jobs"]["succeeded"], 1, ended)
        spec = {**ended["spec"], "name": "refused", "mixed_gpus": False}
        self.assertEqual(fleet.refusal("CampaignService/CreateCampaign", {"spec": spec}),
                         "INVALID_CAMPAIGN")
        (result,) = fleet.results("campaign = mixed")
        self.assertEqual(result["gpu"]["model"], "H100 SXM + H200 SXM")
        models = ["H200 SXM", "H200 SXM", "H100 SXM", "H100 SXM"]
        if result["node"] == ["c", "b"]:
            models.reverse()
        self.assertEqual(result["gpu"]["rank_model"], models)
        self.assertEqual(len(set(result["gpu"]["uuid"])), 4)

    def check_left_out(self, fleet):
        file = fleet.write_campaign(TOO_LARGE)
        told = ("  Left out: 2 cases that no matching node can take\n"
                "    16 ranks on GPUs of one node: the most that any matching node has is 8 GPUs\n"
                "      fake_all_reduce (line 7, 1 case)\n"
                "    4 ranks over 2 nodes need 2 nodes with 2 GPUs each; 1 node matches: a has 8\n"
                "      fake_all_reduce (line 8, 1 case)\n")
        self.assertIn(told, fleet.cli("campaign", "submit", "--dry-run", file).stdout)
        self.assertIn(told, fleet.cli("campaign", "submit", file).stdout)
        ended = fleet.await_end("partly")
        self.assertEqual(ended["verdict"], "VERDICT_PASSED", ended)
        self.assertEqual(ended["case_count"], 1)
        self.assertEqual([(one["line"], one["ranks"], one["nodes"]) for one in ended["left_out"]],
                         [(7, 16, 1), (8, 4, 2)])
        self.assertEqual(ended["spec"]["left_out"], [])
        self.assertIn(told, fleet.cli("campaign", "show", "partly").stdout)
        self.assertIn("1/1, 2 left out", fleet.cli("campaign", "list").stdout)
        file = fleet.write_campaign(TOO_LARGE.replace("unplaceable: skip", "priority: 1"))
        refused = fleet.cli("campaign", "submit", file, code=2).stderr
        self.assertEqual(re.findall(r":(\d+): \S+: (.*)$", refused, re.MULTILINE),
                         [(str(one["line"]), one["reason"]) for one in ended["left_out"]])
        spec = {**ended["spec"], "name": "refused", "unplaceable": "UNPLACEABLE_REFUSE"}
        self.assertEqual(fleet.refusal("CampaignService/CreateCampaign", {"spec": spec}),
                         "INVALID_CAMPAIGN")


if __name__ == "__main__":
    unittest.main()
