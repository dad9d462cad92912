"""One bad node: what a peer with one certificate, or none, cannot do to the others.

Each test is an attack. An honest node and a user work beside it, and the test says what they see.
"""

import subprocess
import unittest

import harness
from attack import SecureFleet

CAMPAIGN = """
name: {name}
nodes: name = {node}
benchmarks:
  - ok: {{value: 1}}
"""


class IdentityTest(unittest.TestCase):
    """A certificate is one node, and signs nothing."""

    def test_a_node_cannot_be_another(self):
        with SecureFleet() as fleet:
            fleet.start()
            fleet.secure_agent("honest")
            fleet.certificates.node("bad")
            attacker = fleet.attacker("bad")
            from assay.v1 import session_pb2 as session
            honest = fleet.call("NodeService/GetNode", {"node": "honest"},
                                tls=fleet_tls(fleet))[0]["node"]["description"]
            for name, node_id in (("honest", honest["node_id"]), ("bad", honest["node_id"]),
                                  ("honest", "7d1e5a3c-1f0e-4f1a-9d6b-3a8f2b6c4d5e")):
                stream = attacker.attach()
                hello = session.Hello(protocol_revision=1)
                hello.node.node_id, hello.node.name = node_id, name
                stream.send(session.AgentMessage(hello=hello))
                code, text = stream.status()
                self.assertEqual(code, "PERMISSION_DENIED", text)
            campaign = fleet.submit(CAMPAIGN.format(name="still", node="honest"))
            self.assertEqual(fleet.await_end(campaign)["jobs"]["succeeded"], 1)

    def test_a_node_signs_no_certificate(self):
        with SecureFleet() as fleet:
            certificates = fleet.certificates
            certificates.node("bad")
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                 "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-subj", "/CN=forged",
                 "-CA", certificates.path("bad.pem"), "-CAkey", certificates.path("bad.key"),
                 "-addext", "basicConstraints=critical,CA:FALSE",
                 "-addext", "subjectAltName=URI:spiffe://lab/admin/forged",
                 "-keyout", certificates.path("forged.key"),
                 "-out", certificates.path("forged.pem")], check=True, capture_output=True)
            with open(certificates.path("bad.pem"), encoding="ascii") as bad, \
                 open(certificates.path("forged.pem"), "a", encoding="ascii") as forged:
                forged.write(bad.read())
            fleet.start()
            fleet.cli_options = certificates.options("forged")
            fleet.cli("node", "list", code=4)
            fleet.cli_options = certificates.options("ann")
            fleet.cli("node", "list")


class RolesTest(unittest.TestCase):
    def test_each_role_calls_what_its_row_allows(self):
        with SecureFleet() as fleet:
            fleet.certificates.node("bad")
            for role in ("viewer", "submitter", "admin"):
                fleet.certificates.user(role, role)
            fleet.start()
            agent = fleet.secure_agent("honest")
            self.assertEqual(agent.addresses["grpc"], "", "an agent that dials out listens")
            for name, reads, submits, removes in (
                    ("bad", False, False, False), ("viewer", True, False, False),
                    ("submitter", True, True, False), ("ann", True, True, True),
                    ("admin", True, True, True)):
                attacker = fleet.attacker(name)
                from assay.v1 import campaign_service_pb2 as campaign
                from assay.v1 import node_service_pb2 as node
                calls = (("NodeService/ListNodes", node.ListNodesRequest(),
                          node.ListNodesResponse, reads),
                         ("CampaignService/CreateCampaign", campaign.CreateCampaignRequest(),
                          campaign.CreateCampaignResponse, submits),
                         ("NodeService/RemoveNode", node.RemoveNodeRequest(node="nobody"),
                          node.RemoveNodeResponse, removes))
                for method, request, response, allowed in calls:
                    code, _ = attacker.call(method, request, response)
                    self.assertEqual(code != "PERMISSION_DENIED", allowed, f"{name}: {method}")

    def test_a_submitter_cancels_only_its_own_campaigns(self):
        with SecureFleet() as fleet:
            for name in ("bob", "eve"):
                fleet.certificates.user(name, "submitter")
            fleet.start()
            fleet.secure_agent("honest")
            fleet.cli_options = fleet.certificates.options("bob")
            campaign = fleet.submit("name: bobs\nbenchmarks:\n  - hang: {}\n")
            fleet.cli_options = fleet.certificates.options("eve")
            self.assertNotEqual(fleet.cli("campaign", "cancel", campaign, code=None).returncode, 0)
            fleet.cli_options = fleet.certificates.options("bob")
            fleet.cli("campaign", "cancel", campaign)


class AgentTest(unittest.TestCase):
    def test_an_agent_obeys_a_coordinator_alone(self):
        """A session of another node's certificate deletes nothing from the spool."""
        with SecureFleet() as fleet:
            fleet.certificates.node("bad")
            fleet.node_ids["honest"] = fleet.certificates.node("honest", "serverAuth,clientAuth")
            fleet.start()
            agent = fleet.secure_agent("honest", listen="127.0.0.1:0", attach=False)
            stream = fleet.attacker("bad", agent).session()
            self.assertEqual(stream.status()[0], "PERMISSION_DENIED")
            fleet.cli("node", "add", agent.addresses["grpc"])
            campaign = fleet.submit(CAMPAIGN.format(name="dialled", node="honest"))
            self.assertEqual(fleet.await_end(campaign)["jobs"]["succeeded"], 1)


def fleet_tls(fleet):
    """The arguments of grpc_client for the operator's certificate."""
    return [fleet.certificates.path(file) for file in ("ca.pem", "ann.pem", "ann.key")]


if __name__ == "__main__":
    unittest.main(verbosity=2)
