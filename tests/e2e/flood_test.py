"""Floods: whatever a peer sends or holds open, the coordinator answers others afterwards, and its
memory comes back.

Slow tier. With --figures it prints a table instead of only judging: seconds until the port answers
after each flood, and resident memory before and after (./dev bench trust).
"""

import argparse
import socket
import sys
import time
import unittest

from attack import SecureFleet
from harness import eventually, fetch

MAX_GROWTH_MIB = 64
FIGURES = []


def resident_mib(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        return int(next(line for line in file if line.startswith("VmRSS:")).split()[1]) / 1024


def connect(address, source=None):
    host, port = address.split(":")
    return socket.create_connection((host, int(port)), 10, (source, 0) if source else None)


class FloodTest(unittest.TestCase):
    def judge(self, fleet, name, before):
        """A user's call is answered, the probes say ok, and memory is near what it was."""
        start = time.monotonic()
        fleet.cli("node", "list")
        answered = time.monotonic() - start
        http = fleet.coordinator.addresses["http"]
        for path in ("healthz", "readyz"):
            self.assertEqual(fetch(f"http://{http}/{path}").strip(), "ok")
        eventually(lambda: resident_mib(fleet.coordinator) < before + MAX_GROWTH_MIB, 60,
                   "memory within 64 MiB of before")
        FIGURES.append((name, answered, before, resident_mib(fleet.coordinator)))

    def test_idle_connections_at_200_descriptors(self):
        """gRPC's own listener never accepts again after this."""
        with SecureFleet() as fleet:
            fleet.prefix = ["prlimit", "--nofile=200:200"]
            fleet.start()
            before = resident_mib(fleet.coordinator)
            address = fleet.coordinator.addresses["grpc"]
            idle = [connect(address, "127.0.0.2") for _ in range(400)]
            fleet.cli("node", "list")  # From 127.0.0.1, during the flood.
            for one in idle:
                one.close()
            self.judge(fleet, "400 idle connections at 200 descriptors", before)

    def test_compressed_zeros(self):
        with SecureFleet() as fleet:
            fleet.start()
            before = resident_mib(fleet.coordinator)
            attacker = fleet.attacker("ann")
            import grpc  # pylint: disable=import-outside-toplevel
            bomb = attacker.channel.unary_unary("/assay.v1.NodeService/ListNodes")
            with self.assertRaises(grpc.RpcError) as refused:
                bomb(bytes(512 << 20), timeout=120, compression=grpc.Compression.Gzip)
            self.assertEqual(refused.exception.code().name, "UNIMPLEMENTED")
            self.judge(fleet, "512 MiB of compressed zeros", before)

    def test_streams_that_say_nothing(self):
        with SecureFleet() as fleet:
            fleet.certificates.node("bad")
            fleet.start()
            before = resident_mib(fleet.coordinator)
            attackers = [fleet.attacker("bad") for _ in range(20)]
            streams = [attacker.attach() for attacker in attackers for _ in range(100)]
            self.assertEqual(streams[0].status()[0], "DEADLINE_EXCEEDED")
            self.judge(fleet, "2,000 silent streams", before)

    def test_watchers_that_do_not_read(self):
        with SecureFleet() as fleet:
            fleet.certificates.user("vera", "viewer")
            fleet.start()
            fleet.secure_agent("honest")
            campaign = fleet.submit("name: long\nbenchmarks:\n  - hang: {}\n")
            before = resident_mib(fleet.coordinator)
            attacker = fleet.attacker("vera")
            from assay.v1 import campaign_service_pb2 as messages
            stub = attacker.channel.unary_stream(
                "/assay.v1.CampaignService/WatchCampaign",
                request_serializer=messages.WatchCampaignRequest.SerializeToString,
                response_deserializer=messages.WatchCampaignResponse.FromString)
            watches = [stub(messages.WatchCampaignRequest(campaign=campaign)) for _ in range(100)]
            refused = eventually(
                lambda: [one for one in watches if one.done()], 30, "watches that are refused")
            self.assertEqual({one.code().name for one in refused}, {"RESOURCE_EXHAUSTED"})
            for one in watches:
                one.cancel()
            self.judge(fleet, "100 watchers that do not read", before)

    def test_slow_http(self):
        with SecureFleet() as fleet:
            fleet.start()
            before = resident_mib(fleet.coordinator)
            http = fleet.coordinator.addresses["http"]
            slow = [connect(http) for _ in range(100)]
            for one in slow:
                one.sendall(b"GET /metrics HTTP/1.1\r\nX: ")
            self.assertIn("assay_", fetch(f"http://{http}/metrics"))
            for one in slow:
                one.close()
            self.judge(fleet, "100 slow HTTP peers", before)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--figures", action="store_true")
    arguments, rest = parser.parse_known_args()
    program = unittest.main(argv=[sys.argv[0], *rest], exit=False, verbosity=2)
    if arguments.figures:
        print(f"\n{'flood':45}{'answer':>10}{'RSS before':>13}{'after':>9}")
        for name, answered, before, after in FIGURES:
            print(f"{name:45}{answered * 1e3:7.0f} ms{before:9.1f} MiB{after:6.1f} MiB")
    return 0 if program.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
