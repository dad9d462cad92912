"""Tests gangs that lose a rank, a node, the network or the coordinator, in every phase.

Agents in separate network namespaces run tcp_all_reduce. As soon as the gang reaches the chosen
phase, a real signal kills something. After each kill the attempt must end with the failure that
names what died. Nothing else may remain: no runner, no allocation, no result of an unfinished
attempt, no descriptor and no memory.

    gang_test.py [MeetingTest]          each phase once, three ranks; or only those of one class
    gang_test.py --kills 200 --seed 1   this many random kills, two to eight ranks (label slow)
    gang_test.py --kills 20 --kind stop the same with one kind of kill
"""

import argparse
import collections
import dataclasses
import os
import random
import re
import signal
import sys
import time
import traceback
import unittest

import namespaces
from gang_fleet import GangFleet
from harness import eventually

# The phases in the order in which a gang passes them. "final" is the verification after timing.
PHASES = ("prepare", "ready", "rendezvous", "verify", "warm_up", "measure", "final")
# A runner or an agent is killed. A runner is stopped, like one on a host that swaps heavily (or one
# whose rank never arrives). All cables of a node are pulled, or only the one to the other nodes.
# The coordinator is killed and restarted.
KINDS = ("runner", "agent", "stop", "partition", "gang_link", "coordinator")
# Never drawn at random: cuts the link between the victim and the next rank. Neither may be rank 0.
PART = "part"

GANG = """
name: gang
placement: any
effort: {effort}
retries: {retries}
timeout: {timeout}s
benchmarks:
  - tcp_all_reduce: {{ranks: {ranks}, bytes: 4MiB}}
"""
PROBE = """
name: probe
effort: quick
benchmarks:
  - cpu_vector_sum: {elements: 1000}
"""

TIMEOUT = 120  # Time limit of a job in seconds, longer than it may take to notice any kill.
# The cost of stopping a runner before the ranks have met: a minute before it is ready, then half a
# minute at the rendezvous or the job's timeout. (timeout, bound)
EARLY_STOPS = {"prepare": (TIMEOUT, 125), "ready": (45, 65), "rendezvous": (45, 65)}
# Limits for the end of the attempt, in seconds from the kill, on a busy machine: one to three until
# the cause is reported, two heartbeats or a lease for an agent, ten for a silent host, fifteen
# heartbeats of a rank for a stopped one.
BOUNDS = {"runner": 20, "agent": 25, "stop": 40, "partition": 30, "gang_link": 30,
          "coordinator": 150, PART: 30}
# For a gang that cannot meet: half a minute more, at the rendezvous.
MEETING = 30


@dataclasses.dataclass
class Trial:
    phase: str
    kind: str
    ranks: int = 3
    victim: int = 1  # Rank.
    retries: int = 3
    timeout: int = 0  # Time limit of the job, which ends the attempt.

    @property
    def early_stop(self):
        """Returns true if the runner is stopped before the ranks hear each other's heartbeats."""
        return self.kind == "stop" and self.phase in EARLY_STOPS

    @property
    def loses_one_that_came(self):
        """Returns true if rank 0 loses the only rank that came, and another is late anyway."""
        return (self.kind == "gang_link" and self.phase == "rendezvous" and self.ranks == 3 and
                self.victim == 0)

    @property
    def unknowable(self):
        """Returns true if the blame cannot be decided: two ranks do not reach each other and no
        third rank can tell which of them failed, or it is late, or it is rank 0 and reaches both.
        """
        if self.early_stop:
            # The agent of a runner that is never ready knows about it. If rank 0 does not answer,
            # the hosts of the others know about it.
            return self.phase != "prepare" and self.ranks == 2 and self.victim == 1
        if self.loses_one_that_came:
            return True
        return self.kind == PART or self.kind == "gang_link" and self.ranks == 2

    def __str__(self):
        return (f"{self.kind} at {self.phase}, rank {self.victim} of {self.ranks}, "
                f"{self.retries} retries")


# The reasons with which an attempt may end, and the class that belongs to each.
CLASSES = {"RUNNER_CRASHED": "JOB", "TIMEOUT": "JOB", "AGENT_LOST": "NODE",
           "RUNNER_NOT_READY": "NODE", "GANG_NOT_READY": "NODE",
           "PEER_LOST": "INFRASTRUCTURE", "PEER_TIMEOUT": "NODE", "PEER_FROZEN": "NODE",
           "PEER_UNREACHABLE": "NODE",
           "GANG_NOT_STARTED": "INFRASTRUCTURE", "LEASE_LOST": "INFRASTRUCTURE"}
REASONS = {"runner": {"RUNNER_CRASHED"}, "agent": {"AGENT_LOST"},
           "stop": {"PEER_FROZEN"}, "partition": {"AGENT_LOST"},
           # PEER_TIMEOUT of ranks that never connected.
           "gang_link": {"PEER_UNREACHABLE", "PEER_TIMEOUT"},
           PART: {"PEER_UNREACHABLE", "PEER_TIMEOUT"},
           # The last one occurs if a rank's agent has not reconnected within a lease and ends its
           # rank, and another agent that has reconnected reports it first. No node is blamed.
           "coordinator": {"GANG_NOT_STARTED", "LEASE_LOST", "PEER_LOST"}}
EARLY_STOP_REASONS = {"prepare": {"RUNNER_NOT_READY"},
                      "ready": {"TIMEOUT", "PEER_TIMEOUT", "PEER_FROZEN"},
                      "rendezvous": {"TIMEOUT", "PEER_TIMEOUT", "PEER_FROZEN"}}


class Run:
    """One kill on a fleet, with all checks."""

    def __init__(self, fleet, trial):
        self.fleet, self.trial = fleet, trial
        self.campaign = self.job = None
        self.members, self.pids = [], []  # Indexed by rank.
        self.parted = False

    def run(self):
        """Returns the seconds from the kill to the end of the attempt, or raises AssertionError.
        The fleet is repaired in any case."""
        self.fleet.mark_logs()
        try:
            self._begin()
            self._reach()
            killed = time.monotonic()
            self._kill()
            self._await_end_of_attempt()
            took = time.monotonic() - killed
        finally:
            self._repair()
        self._expect_policy()
        self._expect_nothing_left()
        return took

    def _repair(self):
        if self.parted:
            self.fleet.network.part(self.victim, self.next_of_victim, True)
        self.fleet.repair()

    @property
    def victim(self):
        return self.members[self.trial.victim]

    @property
    def next_of_victim(self):
        return self.members[(self.trial.victim + 1) % self.trial.ranks]

    def _begin(self):
        fleet, trial = self.fleet, self.trial
        for gate in fleet.gates.values():
            gate.close()
        timeout = trial.timeout or (EARLY_STOPS[trial.phase][0] if trial.early_stop else TIMEOUT)
        self.campaign = fleet.submit(
            GANG.format(ranks=trial.ranks, retries=trial.retries, timeout=timeout,
                        # Long enough that it still runs when the signal arrives.
                        effort="standard" if trial.phase in ("warm_up", "measure") else "quick"))
        eventually(lambda: sum(gate.held() > 0 for gate in fleet.gates.values()) == trial.ranks,
                   30, f"{trial.ranks} runners at their gates", 0.01)
        (self.job, nodes), = fleet.postgres.rows(
            f"SELECT job_id, array_to_string(node_ids, ' ') FROM job "
            f"WHERE campaign_id = '{self.campaign}'")
        names = dict(fleet.postgres.rows("SELECT node_id, name FROM node"))
        self.members = [names[node] for node in nodes.split()]
        self.pids = [fleet.gates[name].held() for name in self.members]

    def _reach(self):
        """Lets the gang go to the phase, and holds it there if that is possible."""
        gates = self.fleet.gates
        phase = self.trial.phase
        if phase == "prepare":
            return
        if phase == "ready":
            gates[self.victim].open()
            self._await_phase("ready", self.victim)
            return
        if phase == "rendezvous":
            # A rank that is stopped when it is ready never arrives.
            late = self._late()
            gates[self.members[late]].open()
            self._await_phase("ready", self.members[late])
            os.kill(self.pids[late], signal.SIGSTOP)
        for gate in gates.values():
            gate.open()
        if phase == "rendezvous":
            self._await_phase("rendezvous", self.victim)
            if self.trial.kind == "gang_link" and self.trial.victim == 0:
                for rank in range(2, self.trial.ranks):  # Rank 1 is the late one.
                    self._await_arrival(rank)
        elif phase == "final":
            self._await_phase("measure.*in phase verify", self.members[0])
        else:
            self._await_phase(phase, self.members[0])

    def _late(self):
        if self.trial.kind == "stop":
            return self.trial.victim
        return (self.trial.victim + 1) % self.trial.ranks

    def _await_arrival(self, rank):
        """Waits until the rank has both connections to rank 0, for messages and for heartbeats."""
        eventually(
            lambda: self.fleet.network.connections(self.pids[0], self.members[rank]) == 2,
            30, f"the arrival of rank {rank}", 0.002)

    def _await_phase(self, phase, node):
        eventually(
            lambda: self.fleet.said(f"{self.job} epoch 1 is in phase {phase}\n", node),
            60, f"phase {phase} on {node}", 0.002)

    def _kill(self):
        fleet, kind = self.fleet, self.trial.kind
        if kind == "runner":
            os.kill(self.pids[self.trial.victim], signal.SIGKILL)
        elif kind == "stop":
            os.kill(self.pids[self.trial.victim], signal.SIGSTOP)
        elif kind == "agent":
            fleet.agents[self.victim].kill()
        elif kind == "partition":
            fleet.network.plug(self.victim, False)
        elif kind == "gang_link":
            fleet.network.plug_gang_link(self.victim, False)
            for pid in self.pids:
                _continue(pid)
        elif kind == PART:
            fleet.network.part(self.victim, self.next_of_victim, False)
            self.parted = True
        else:
            fleet.coordinator.kill()
            fleet.restart_coordinator("--log-level", "debug")
        if kind in ("stop", "gang_link", PART):
            for gate in fleet.gates.values():
                gate.open()

    def _await_end_of_attempt(self):
        """Waits for the end of the attempt and expects the failure that fits the kill."""
        trial = self.trial
        bound, reasons = BOUNDS[trial.kind], REASONS[trial.kind]
        if trial.early_stop:
            bound, reasons = EARLY_STOPS[trial.phase][1], EARLY_STOP_REASONS[trial.phase]
        if trial.timeout:
            bound, reasons = trial.timeout + 20, {"TIMEOUT"}
        if trial.kind in ("gang_link", PART) and trial.phase in PHASES[:3]:
            bound += MEETING
        if trial.kind == "coordinator":
            self._await_adoption(bound, reasons)
            return
        match = eventually(
            lambda: self.fleet.coordinator_said(
                rf"job {self.job} epoch 1 failed \((\w+)\): ([^\n]*)")
            or trial.phase == "final" and self._succeeded(),
            bound, f"the end of the attempt ({trial})")
        if match is True:  # The last phase may end before the signal arrives.
            return
        reason, message = match.groups()
        assert reason in reasons, f"{trial}: {reason}: {message}"
        failure = self.fleet.jobs(self.campaign)[0]["failure"]
        assert self._names_the_victim(reason, failure), f"{trial}: {failure}"
        self._expect_record(reason, failure)

    def _succeeded(self):
        state = self.fleet.postgres.value(f"SELECT state FROM job WHERE job_id = '{self.job}'")
        return state == "succeeded"

    def _names_the_victim(self, reason, failure):
        """Tells whether the failure names the node at fault or the rank that failed; for a timeout,
        the last phase; for a cut link, its two ranks; no node if either of two may be cut off."""
        victim, loss = self.trial.victim, failure.get("peer_loss", {})
        node = failure.get("node_id") and self.fleet.postgres.value(
            f"SELECT name FROM node WHERE node_id = '{failure['node_id']}'")
        if reason == "TIMEOUT":
            return node == self.victim if self.trial.phase == "prepare" else failure["last_phase"]
        if self.trial.kind == PART:
            return {loss.get("rank", 0), loss.get("lost_rank", 0)} == {victim, victim + 1}
        if self.trial.unknowable:
            return not node
        if reason == "RUNNER_CRASHED":
            return failure.get("rank", 0) == victim
        return node == self.victim

    def _expect_record(self, reason, failure):
        """Expects that the failure is stored with the class of its reason."""
        record = self.fleet.postgres.rows(
            f"SELECT failures->0->>'class', failures->0->>'reason' FROM job "
            f"WHERE job_id = '{self.job}' AND jsonb_array_length(failures) > 0")
        if self.trial.retries == 0:
            expected = "INFRASTRUCTURE" if self.trial.unknowable else CLASSES[reason]
            assert failure["failure_class"] == f"FAILURE_CLASS_{expected}", failure
            assert failure["reason"] == f"REASON_{reason}", failure
        else:
            assert record and record[0][1] == reason, record

    def _await_adoption(self, bound, reasons):
        """Expects that killing the coordinator costs a gang nothing. It costs one attempt if the
        gang was about to begin, or if the new coordinator takes longer than a lease to start."""
        for gate in self.fleet.gates.values():
            gate.open()
        for pid in self.pids:
            _continue(pid)
        ended = self.fleet.await_end(self.campaign, bound)
        assert ended["jobs"]["succeeded"] == 1, ended
        failures = self.fleet.postgres.rows(
            "SELECT f->>'reason' FROM job, jsonb_array_elements(failures) f "
            f"WHERE job_id = '{self.job}'")
        assert len(failures) <= 1 and {failure[0] for failure in failures} <= reasons, failures

    def _expect_policy(self):
        """Expects a retry until success if the failure allows one, otherwise a failed job."""
        ended = self.fleet.await_end(self.campaign, 180)
        jobs = ended["jobs"]
        results = self.fleet.postgres.rows(
            "SELECT case_index, count(*) FROM result "
            f"WHERE campaign_id = '{self.campaign}' AND \"primary\" GROUP BY 1")
        if jobs.get("succeeded"):
            assert len(results) == 1 and results[0][1] == "1", results
            self._expect_others()
            return
        assert self.trial.retries == 0, (str(self.trial), self.fleet.jobs(self.campaign))
        # Rank 0 may have sent its whole result before the other rank was killed.
        assert len(results) <= (1 if self.trial.phase == "final" else 0), results

    def _expect_others(self):
        """Expects that the next attempt avoids the blamed node if enough other nodes are left."""
        trial = self.trial
        if trial.kind != "gang_link" and not trial.timeout:
            return
        if trial.unknowable or trial.ranks == len(self.fleet.names):
            return
        again = self.fleet.said(f"{self.job} epoch [2-9] is in phase", self.victim)
        assert not again, f"{trial}: the node at fault was in the next attempt"

    def _expect_nothing_left(self):
        fleet = self.fleet
        eventually(lambda: fleet.postgres.value("SELECT count(*) FROM allocation") == "0", 15,
                   "the end of every allocation")
        eventually(lambda: not fleet.runners(), 15, "the end of every runner")
        eventually(lambda: not fleet.spooled(), 15, "the delivery of every result")
        self._expect_free_nodes()
        fleet.expect_no_growth()

    def _expect_free_nodes(self):
        """Expects that every node takes a job once its agent is back. After the coordinator's death
        an agent may wait a minute before it dials. For some seconds of that it counts as connected;
        afterwards a campaign would leave the node out."""
        fleet = self.fleet
        for name in fleet.names:
            fleet.await_node(name, seconds=90)
        fleet.mark_logs()
        probe = fleet.submit(PROBE)
        for name in fleet.names:
            eventually(lambda name=name: fleet.said("is in phase verify", name), 90,
                       f"a job on {name}")
        fleet.cli("campaign", "cancel", probe)
        fleet.await_end(probe)
        eventually(lambda: not fleet.runners(), 15, "the end of the probes' runners")
        assert fleet.postgres.value("SELECT count(*) FROM allocation") == "0"


def _continue(pid):
    try:
        os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        pass


class KillsTest:
    """Kills on a fleet of four nodes that all tests of a class share."""

    @classmethod
    def setUpClass(cls):
        cls.fleet = GangFleet(4, gang_links=True)
        cls.enterClassContext(cls.fleet)
        cls.fleet.start()

    def expect(self, *arguments, **options):
        Run(self.fleet, Trial(*arguments, **options)).run()


class MeetingTest(KillsTest, unittest.TestCase):
    """Kills in each phase until the ranks have met."""

    def test_runner_killed_before_it_is_ready(self):
        self.expect("prepare", "runner")

    def test_rank_that_is_not_ready_when_the_jobs_time_is_over(self):
        self.expect("prepare", "stop", timeout=30)

    def test_agent_killed_when_ready(self):
        self.expect("ready", "agent")

    def test_coordinator_killed_when_ready(self):
        self.expect("ready", "coordinator")

    def test_runner_killed_at_the_rendezvous(self):
        self.expect("rendezvous", "runner", victim=0)

    def test_peer_that_never_comes(self):
        self.expect("rendezvous", "stop", retries=0)

    def test_rank_0_that_never_accepts_the_others(self):
        self.expect("rendezvous", "stop", ranks=2, victim=0, retries=0)

    def test_one_of_two_that_lose_each_other_while_a_third_is_late(self):
        self.expect("rendezvous", "gang_link", victim=0, retries=0)

    def test_rank_0_that_reaches_nobody_at_the_rendezvous(self):
        self.expect("ready", "gang_link", victim=0, retries=0)

    def test_rank_0_that_is_cut_off_while_it_waits_for_one(self):
        self.expect("rendezvous", "gang_link", ranks=4, victim=0, retries=0)

    def test_two_of_three_ranks_that_never_reach_each_other(self):
        self.expect("ready", PART, retries=0)


class RunningTest(KillsTest, unittest.TestCase):
    """Kills in each phase after that, and with each kind."""

    def test_agent_killed_while_verifying(self):
        self.expect("verify", "agent", victim=2)

    def test_node_cut_off_while_warming_up(self):
        self.expect("warm_up", "partition")

    def test_runner_killed_while_measuring(self):
        self.expect("measure", "runner", victim=2)

    def test_rank_that_reaches_nobody_while_measuring(self):
        self.expect("measure", "gang_link", retries=0)

    def test_rank_0_that_reaches_nobody_while_measuring(self):
        self.expect("measure", "gang_link", victim=0)

    def test_two_ranks_that_do_not_reach_each_other(self):
        self.expect("measure", "gang_link", ranks=2, retries=0)

    def test_two_of_three_ranks_that_lose_each_other(self):
        self.expect("measure", PART, retries=0)

    def test_rank_frozen_while_measuring(self):
        self.expect("measure", "stop")

    def test_runner_killed_in_the_final_verification(self):
        self.expect("final", "runner", retries=0)


def draw(random_source, nodes, kind=None):
    ranks = random_source.randint(2, nodes)
    # Stopping is drawn rarely, because it takes the longest to be noticed.
    kind = kind or random_source.choices(KINDS, weights=(40, 25, 6, 15, 14, 10))[0]
    phase = random_source.choice(PHASES)
    retries = 3 if kind == "coordinator" else random_source.choice((0, 3))
    return Trial(phase, kind, ranks, random_source.randrange(ranks), retries)


def campaign_of_kills(kills, seed, nodes, kind):
    """Returns true if all trials passed."""
    print(f"{kills} kills, seed {seed}, {nodes} nodes", flush=True)
    source, done, failed = random.Random(seed), collections.Counter(), 0
    with GangFleet(nodes, gang_links=True) as fleet:
        fleet.start()
        for number in range(1, kills + 1):
            trial = draw(source, nodes, kind)
            try:
                took = Run(fleet, trial).run()
                done[trial.phase, trial.kind] += 1
                print(f"{number}: {trial}: ended in {took:.1f} s", flush=True)
            except (AssertionError, OSError):
                failed += 1
                print(f"{number}: {trial}: FAILED\n{traceback.format_exc()}", flush=True)
    print(f"{'':12}" + "".join(f"{kind:>12}" for kind in KINDS))
    for phase in PHASES:
        print(f"{phase:12}" + "".join(f"{done[phase, kind]:12}" for kind in KINDS))
    print(f"{sum(done.values())} of {kills} as they should be, {failed} not", flush=True)
    return failed == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--kind", choices=KINDS)
    options, others = parser.parse_known_args()
    namespaces.enter()
    if options.kills:
        whole = campaign_of_kills(options.kills, options.seed, options.nodes, options.kind)
        sys.exit(0 if whole else 1)
    unittest.main(argv=[sys.argv[0], *others], verbosity=2)


if __name__ == "__main__":
    main()
