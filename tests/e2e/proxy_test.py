"""deploy/haproxy: a coordinator behind the proxy serves each client by its own certificate."""

import os
import shutil
import socket
import subprocess
import sys
import unittest

import harness
from attack import SecureFleet
from harness import eventually

CONFIGURATION = os.path.join(harness.ROOT, "deploy", "haproxy", "haproxy.cfg")


class Proxied(SecureFleet):
    """A coordinator that everyone else reaches through HAProxy alone."""

    def start(self, *options):
        super().start(*options)
        certificates, folder = self.certificates, self.path("haproxy")
        certificates.make("proxy", "URI:spiffe://lab/proxy/1,IP:127.0.0.1,DNS:localhost",
                          "serverAuth,clientAuth")
        os.makedirs(folder)
        shutil.copy(CONFIGURATION, folder)
        shutil.copy(certificates.path("ca.pem"), folder)
        for name in ("server.both", "proxy.both"):
            with open(os.path.join(folder, name), "w", encoding="ascii") as both:
                for part in ("proxy.pem", "proxy.key"):
                    with open(certificates.path(part), encoding="ascii") as file:
                        both.write(file.read())
        self.backend = self.coordinator.addresses["grpc"]
        self.public = f"127.0.0.1:{harness.free_port()}"
        proxy = self.add("haproxy", [
            shutil.which("haproxy", path="/usr/sbin:/usr/bin"), "-db", "-f",
            os.path.join(folder, "haproxy.cfg"), "-C", folder],
            env={"HAPROXY_LISTEN": self.public, "ASSAY_COORDINATOR": self.backend})
        proxy.start()
        host, port = self.public.split(":")

        def listening():
            with socket.socket() as probe:
                return probe.connect_ex((host, int(port))) == 0
        eventually(listening, 30, "HAProxy's port")
        self.coordinator.addresses["grpc"] = self.public
        return self


class ProxyTest(unittest.TestCase):
    def test_nodes_and_users_keep_their_own_roles(self):
        with Proxied() as fleet:
            fleet.start()
            fleet.secure_agent("g1")
            campaign = fleet.submit("name: proxied\nbenchmarks:\n  - ok: {value: 1}\n")
            self.assertEqual(fleet.await_end(campaign)["jobs"]["succeeded"], 1)
            fleet.certificates.user("vera", "viewer")
            fleet.cli_options = fleet.certificates.options("vera")
            fleet.cli("node", "list")
            self.assertEqual(fleet.cli("node", "remove", "g1", code=None).returncode, 4)

    def test_a_client_cannot_name_itself(self):
        """The proxy overwrites the header; a node that reaches the backend is not believed."""
        with Proxied() as fleet:
            fleet.start()
            fleet.certificates.node("bad")
            with open(fleet.certificates.path("ann.pem"), encoding="ascii") as file:
                forged = "".join(file.read().split("-----")[2].split())
            fleet.messages()
            from assay.v1 import node_service_pb2 as node
            for address in (fleet.public, fleet.backend):
                fleet.coordinator.addresses["grpc"] = address
                attacker = fleet.attacker("bad")
                code, _ = attacker.call("NodeService/ListNodes", node.ListNodesRequest(),
                                        node.ListNodesResponse,
                                        metadata=(("x-assay-peer", forged),))
                self.assertEqual(code, "PERMISSION_DENIED", address)

    def test_a_peer_without_a_certificate_is_refused_before_http2(self):
        with Proxied() as fleet:
            fleet.start()
            run = subprocess.run(
                ["openssl", "s_client", "-connect", fleet.public, "-alpn", "h2", "-quiet"],
                input="", capture_output=True, text=True, check=False, timeout=30)
            self.assertNotIn("HTTP", run.stdout)


if __name__ == "__main__":
    if shutil.which("haproxy", path="/usr/sbin:/usr/bin") is None:
        print("skipped: HAProxy is not installed (Debian's package haproxy)")
        sys.exit(77)
    unittest.main(verbosity=2)
