"""Tests the wire as other programs see it: reflection, health, TLS and mutual TLS."""

import json
import unittest

import harness
from attack import Certificates, SecureFleet
from harness import Fleet, eventually, fetch

SERVICES = {
    "coordinator": {"assay.v1.CampaignService", "assay.v1.NodeService", "assay.v1.ResultService",
                    "assay.v1.FleetService", "grpc.health.v1.Health"},
    "agent": {"assay.v1.AgentService", "grpc.health.v1.Health"},
}


class WireTest(unittest.TestCase):
    def test_reflection_lists_and_calls_every_service(self):
        with Fleet() as fleet:
            fleet.start()
            agent = fleet.agent("node-a")
            for server, expected in ((fleet.coordinator, SERVICES["coordinator"]),
                                     (agent, SERVICES["agent"])):
                self.assertLessEqual(expected, set(fleet.grpc("list", server=server)))
                health = fleet.grpc("call", "grpc.health.v1.Health/Check", "{}", server=server)
                self.assertEqual(json.loads(health[0])["status"], "SERVING")
            nodes = fleet.call("NodeService/ListNodes")[0]["nodes"]
            self.assertEqual([node["description"]["name"] for node in nodes], ["node-a"])
            self.assertEqual(fleet.call("CampaignService/ListCampaigns")[0]["campaigns"], [])
            self.assertEqual(fleet.call("ResultService/ListResults")[0]["results"], [])
            described = fleet.call("AgentService/GetInventory", server=agent)[0]["node"]
            self.assertEqual(described["name"], "node-a")
            offered = fleet.call("AgentService/ListBenchmarks", server=agent)[0]["benchmarks"]
            self.assertIn("ok", [benchmark["name"] for benchmark in offered])
            answers = fleet.call("AgentService/RunJob",
                                 {"benchmark": "ok", "parameters": {"value": "3"}}, server=agent)
            results = [answer["case_result"] for answer in answers if "case_result" in answer]
            self.assertEqual(results[0]["measurements"][0]["median"], 3)

    def test_http_health(self):
        with Fleet() as fleet:
            fleet.start()
            agent = fleet.agent("node-a")
            for server in (fleet.coordinator, agent):
                self.assertEqual(fetch(f"http://{server.addresses['http']}/healthz").strip(), "ok")

            def discovered():
                groups = json.loads(fetch(f"http://{fleet.coordinator.addresses['http']}/sd"))
                return agent.addresses["http"] in sum((group["targets"] for group in groups), [])
            eventually(discovered, 20, "the agent's discovery")

    def test_mutual_tls(self):
        with SecureFleet() as fleet:
            other = Certificates(fleet.path("other"))
            fleet.start()
            fleet.secure_agent("node-a")
            campaign = fleet.submit("name: tls\nbenchmarks:\n  - ok: {value: 1}\n")
            self.assertEqual(fleet.await_end(campaign)["jobs"]["succeeded"], 1)
            # Peers without a certificate of the authority are refused.
            stranger = other.options("ann")
            stranger[-1] = fleet.certificates.path("ca.pem")
            for options in ([], ["--tls-ca", fleet.certificates.path("ca.pem")], stranger):
                fleet.cli_options = options
                fleet.cli("node", "list", code=4)

    def test_plaintext_off_loopback_needs_a_word(self):
        with Fleet() as fleet:
            fleet.postgres.start()
            refused = fleet.new_coordinator("open", grpc="0.0.0.0:0")
            with self.assertRaises(AssertionError):
                refused.start()
            self.assertIn("--insecure", refused.tail())
            allowed = fleet.new_coordinator("insecure", "--insecure", grpc="0.0.0.0:0")
            allowed.start()

    def test_memory_of_idle_services(self):
        with Fleet() as fleet:
            fleet.start()
            agent = fleet.agent("node-a", runner=harness.RUNNER)
            for process, maximum_mib in ((agent, 40), (fleet.coordinator, 80)):
                self.assertLess(resident_mib(process.pid), maximum_mib, process.name)


def resident_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        line = next(line for line in file if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    unittest.main(verbosity=2)
