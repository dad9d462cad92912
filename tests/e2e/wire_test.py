"""Tests the wire as other programs see it: reflection, health, TLS and mutual TLS."""

import json
import subprocess
import unittest

import harness
from harness import Fleet, eventually, fetch

SERVICES = {
    "coordinator": {"assay.v1.CampaignService", "assay.v1.NodeService", "assay.v1.ResultService",
                    "assay.v1.FleetService", "grpc.health.v1.Health"},
    "agent": {"assay.v1.AgentService", "grpc.health.v1.Health"},
}


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def make_certificate(fleet, name, authority=None):
    """Returns the paths (certificate, key) for loopback, signed by `authority` or by itself."""
    certificate, key = fleet.path(f"{name}.pem"), fleet.path(f"{name}.key")
    options = ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    if authority:
        options += ["-CA", authority[0], "-CAkey", authority[1]]
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-days", "2", "-subj", f"/CN={name}", "-keyout", key, "-out", certificate, *options)
    return certificate, key


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
        with Fleet() as fleet:
            authority = make_certificate(fleet, "authority")
            server = make_certificate(fleet, "server", authority)
            client = make_certificate(fleet, "client", authority)
            stranger = make_certificate(fleet, "stranger")

            def files(pair):
                return ["--tls-cert", pair[0], "--tls-key", pair[1], "--tls-ca", authority[0]]

            fleet.cli_options = files(client)
            fleet.start(*files(server))
            fleet.agent("node-a", *files(server))
            campaign = fleet.submit("name: tls\nbenchmarks:\n  - ok: {value: 1}\n")
            self.assertEqual(fleet.await_end(campaign)["jobs"]["succeeded"], 1)
            # Clients without a certificate of the authority are refused.
            for options in ([], ["--tls-ca", authority[0]], files(stranger)):
                fleet.cli_options = options
                fleet.cli("node", "list", code=3)

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
