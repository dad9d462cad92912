"""Checks what a user gets when something is wrong: a message, an exit status, and nothing stored.
"""

import json
import unittest

import harness
from harness import Fleet, free_port


class FaultsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = Fleet().__enter__()
        try:
            cls.fleet.start()
            cls.fleet.agent("node-a")
        except BaseException:
            cls.fleet.__exit__(None, None, None)
            raise

    @classmethod
    def tearDownClass(cls):
        cls.fleet.__exit__(None, None, None)

    def refused(self, text, *words):
        before = self.fleet.postgres.value("SELECT count(*) FROM campaign")
        run = self.fleet.cli("campaign", "submit", self.fleet.write_campaign(text), code=2)
        for word in words:
            self.assertIn(word, run.stderr)
        self.assertEqual(self.fleet.postgres.value("SELECT count(*) FROM campaign"), before)

    def test_unknown_benchmark(self):
        self.refused("name: x\nbenchmarks:\n  - gem: {}\n", ".yaml:3", "gem")

    def test_unknown_parameter(self):
        self.refused("name: x\nbenchmarks:\n  - ok: {vallue: 1}\n", ".yaml:3", "vallue", "value")

    def test_wrong_type(self):
        self.refused("name: x\nbenchmarks:\n  - ok:\n      value: many\n", ".yaml:4", "many")

    def test_empty_matrix(self):
        self.refused("name: x\nbenchmarks:\n  - ok: {value: []}\n", "value")

    def test_exploding_matrix(self):
        self.refused("name: x\nbenchmarks:\n  - ok: {value: {from: 1, to: 1000000, step: 1}, "
                     "millis: {from: 1, to: 1000, step: 1}}\n", "1000000000 cases", "limit")

    def test_filter_without_a_node(self):
        self.refused("name: x\nnodes: 'gpu.model = \"H200\"'\nbenchmarks:\n  - ok: {}\n",
                     "node-a", "gpu.model")

    def test_alias_bomb(self):
        lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]"]
        lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
        self.refused("\n".join(lines) + "\nname: x\n", ".yaml")

    def test_no_coordinator(self):
        fleet = self.fleet
        addresses = dict(fleet.coordinator.addresses)
        try:
            fleet.coordinator.addresses = {"grpc": f"127.0.0.1:{free_port()}"}
            run = fleet.cli("node", "list", code=3)
        finally:
            fleet.coordinator.addresses = addresses
        self.assertNotEqual(run.stderr, "")

    def test_coordinator_on_a_taken_port(self):
        taken = self.fleet.coordinator.addresses
        for name, options in (("taken-grpc", {"grpc": taken["grpc"]}),
                              ("taken-http", {"http": taken["http"]})):
            second = self.fleet.new_coordinator(name, **options)
            with self.assertRaises(AssertionError):
                second.start()
            self.assertEqual(second.process.wait(10), 2)
            self.assertIn((options.get("grpc") or options["http"]).split(":")[1], second.tail())

    def test_coordinator_without_a_database(self):
        lonely = self.fleet.add("lonely", [
            f"{harness.BUILD}/bin/assay-coordinator", "--listen", "127.0.0.1:0",
            "--http", "127.0.0.1:0"], ready=True, env={
                "ASSAY_DATABASE":
                f"host=127.0.0.1 port={free_port()} user=assay dbname=assay"})
        with self.assertRaises(AssertionError):
            lonely.start(seconds=60)
        if lonely.running():
            lonely.stop()
        self.assertIn("database", lonely.tail().lower())

    def test_second_agent_of_a_name(self):
        twin = self.fleet.new_agent("twin", name="node-a")
        twin.start()
        harness.eventually(lambda: "node-a" in twin.tail(), 20, "a word about the taken name")
        self.assertEqual(
            [node["description"]["name"] for node in self.fleet.nodes()].count("node-a"), 1)
        twin.stop()

    def test_a_node_that_jobs_wait_for(self):
        fleet = self.fleet
        agent = fleet.agent("node-b")
        campaign = fleet.submit("name: waits\nnodes: name = node-b\nretries: 3\n"
                                "benchmarks:\n  - ok: {value: 1, millis: 60000}\n")
        harness.eventually(lambda: fleet.jobs(campaign)[0]["state"] == "JOB_STATE_RUNNING", 20,
                           "the start of the job")
        agent.kill()
        watch = fleet.add("watch", [
            f"{harness.BUILD}/bin/assay", "--coordinator", fleet.coordinator.addresses["grpc"],
            "campaign", "watch", campaign]).start()
        waits = "1 job waits for node node-b (disconnected since 20"
        harness.eventually(lambda: waits in watch.tail(), 120, "the line about the lost node")
        shown = json.loads(fleet.cli("campaign", "show", campaign, "-o", "json").stdout)
        self.assertEqual(shown["waiting"][0]["nodes"][0]["name"], "node-b")
        fleet.cli("campaign", "cancel", campaign)
        self.assertEqual(watch.process.wait(20), 1)
        self.assertEqual(watch.tail().count("waits for node"), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
