"""Chaos: everything dies, hangs and returns by a seeded schedule, and nothing may be lost.

Two coordinators, PostgreSQL and many agents run short jobs all the time. At the end everything is
brought back, all campaigns end, and the database is compared with what the agents saw.

    chaos_test.py                                       900 s with 20 agents, a random seed
    chaos_test.py --seconds 40 --agents 8 --seed 7
    chaos_test.py --only 'agent restarted'              upgrades under load
    chaos_test.py --only database --away 60             outages of a minute
"""

import argparse
import collections
import dataclasses
import glob
import heapq
import itertools
import os
import random
import re
import signal
import subprocess
import sys
import time

import checker
from harness import eventually, let_pass
from replicas import Replicas

# Kinds of events: what happens to whom, its share, and for how many seconds the target is away.
KINDS = {"agent killed": (6, 0, 5), "agent restarted": (6, 0, 5), "agent suspended": (3, 1, 9),
         "coordinator killed": (4, 0, 8), "coordinator restarted": (4, 0, 8),
         "coordinator suspended": (3, 1, 9),
         "database restarted": (1, 0, 7), "database crashed": (1, 0, 7)}
DATABASE = "database"
# A target that is back is left alone for this time.
REST = 2.0
# Programs obey SIGTERM within 10 s whatever the database does. The rest is for a busy machine.
OBEDIENCE = 20.0
# Time for the end of everything after the last event: checks of quarantined nodes come at growing
# intervals, and agents wait up to a minute before they dial.
END = 240

CAMPAIGNS = (
    "placement: any\nrepetitions: 12\nbenchmarks:\n  - slow: {value: [1, 2, 3], millis: 150}\n",
    "absent: warn\nbenchmarks:\n  - slow: {value: [1, 2], millis: 200}\n",
    "absent: wait\naccept:\n  - slow.score >= 1 points\n"
    "benchmarks:\n  - slow: {value: [1, 2], millis: 50}\n",
    "placement: any\nrepetitions: 3\nbenchmarks:\n"
    "  - gang_ok: {ranks: 3, value: [1, 2], millis: 100}\n",
)
MOST_ACTIVE = 5  # Campaigns.

STORED = re.compile(r"case (\d+) of job (\S+) epoch (\d+) is stored")
NOT_STORED = re.compile(r"did not store case .*\((VERDICT_\w+)\)")
PHASE = re.compile(r"job (\S+) epoch (\d+) is in phase")


@dataclasses.dataclass
class Event:
    at: float
    kind: str
    target: str
    away: float  # Seconds.


def draw(source, options, agents, coordinators):
    """Returns the events of a run, in order. A target has at most one at a time."""
    targets = {"agent": agents, "coordinator": coordinators, "database": [DATABASE]}
    events, busy, now = [], {}, 0.0
    while (now := now + source.expovariate(1 / options.interval)) < options.seconds:
        free = {kind: [name for name in targets[kind.split()[0]] if busy.get(name, 0) < now]
                for kind in KINDS if kind.startswith(options.only)}
        kinds = [kind for kind in free if free[kind]]
        if not kinds:
            continue
        kind = source.choices(kinds, weights=[KINDS[kind][0] for kind in kinds])[0]
        target = source.choice(free[kind])
        away = options.away or source.uniform(*KINDS[kind][1:])
        busy[target] = now + away + REST
        events.append(Event(now, kind, target, away))
    return events


class Chaos:
    """Carries out a schedule on a fleet and submits campaigns meanwhile."""

    def __init__(self, fleet, agents, source):
        self._fleet, self._source = fleet, source
        self._processes = {**agents, **fleet.coordinators}
        self._queue, self._order = [], itertools.count()
        self._away = set()
        self._submissions = []
        self._next_submission = 0.0
        self._began = time.monotonic()
        self.kinds = collections.Counter()
        self.submitted = 0
        # Nodes whose agents were killed or suspended, so that failures may name them.
        self.harmed = set()
        self.faults = []

    def run(self, events, seconds):
        for event in events:
            self._push(event.at, lambda event=event: self._begin(event))
        while self._queue or self._now() < seconds:
            while self._queue and self._queue[0][0] <= self._now():
                heapq.heappop(self._queue)[2]()
            self._supervise()
            if self._next_submission <= self._now() < seconds:
                self._submit()
            let_pass(0.05)
        for submission in self._submissions:
            submission.wait(60)

    def _now(self):
        return time.monotonic() - self._began

    def _push(self, at, action):
        heapq.heappush(self._queue, (at, next(self._order), action))

    def _begin(self, event):
        if event.target in self._away:  # It has not ended yet since the event before.
            return
        print(f"{self._now():6.1f} s  {event.target} {event.kind.split()[1]} for "
              f"{event.away:.1f} s", flush=True)
        self.kinds[event.kind] += 1
        self._away.add(event.target)
        postgres = self._fleet.postgres
        process = self._processes.get(event.target)
        if event.kind in ("agent killed", "agent suspended"):
            self.harmed.add(event.target)
        end = self._restart
        if event.kind.endswith("killed"):
            process.kill()
        elif event.kind.endswith("suspended"):
            process.send_signal(signal.SIGSTOP)
            end = self._continue
        elif process:
            process.send_signal(signal.SIGTERM)
        else:
            postgres.stop(signal.SIGQUIT if event.kind.endswith("crashed") else signal.SIGINT)
            end = self._start_database
        self._push(self._now() + event.away, lambda: end(event.target))

    def _continue(self, target):
        self._processes[target].send_signal(signal.SIGCONT)
        self._away.remove(target)

    def _start_database(self, target):
        self._fleet.postgres.start()
        self._away.remove(target)

    def _restart(self, target, since=None):
        """Starts the process, as soon as it has ended."""
        process, since = self._processes[target], since or self._now()
        if not process.running():
            process.start(wait=False)
            self._away.remove(target)
        elif self._now() - since < OBEDIENCE:
            self._push(self._now() + 0.1, lambda: self._restart(target, since))
        else:
            self.faults.append(f"{target} ignored SIGTERM for {OBEDIENCE:g} s")
            process.kill()
            self._restart(target)

    def _supervise(self):
        """Expects that nothing ends by itself, and starts it again."""
        for name, process in self._processes.items():
            if name not in self._away and not process.running():
                self.faults.append(f"{name} ended by itself with {process.process.returncode}")
                process.start(wait=False)

    def _submit(self):
        self._next_submission = self._now() + 0.5
        self._submissions = [one for one in self._submissions if one.poll() is None]
        if len(self._submissions) + self._active() >= MOST_ACTIVE:
            return
        self.submitted += 1
        text = self._source.choice(CAMPAIGNS)
        file = self._fleet.write_campaign(f"name: chaos-{self.submitted}\nretries: 10\n{text}")
        self._submissions.append(subprocess.Popen(
            self._fleet.command("campaign", "submit", file),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def _active(self):
        """Returns the number of active campaigns. Without a database no more are submitted."""
        if DATABASE in self._away:
            return MOST_ACTIVE
        return int(self._fleet.postgres.value(
            "SELECT count(*) FROM campaign WHERE state = 'active'"))


def await_end(fleet, agents):
    """Waits until all campaigns have ended, all nodes are back and all results are delivered."""
    eventually(lambda: fleet.postgres.value(
        "SELECT count(*) FROM campaign WHERE state = 'active' OR verdict IS NULL") == "0",
        END, "the end of all campaigns", 0.5)
    for name in agents:
        fleet.await_node(name, seconds=90)
    eventually(lambda: not any(fleet.spool(name) for name in agents), 90, "the empty spools")


def lines(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        yield from file


class Evidence:
    """What the agents wrote into their logs and left in their spools."""

    def __init__(self, fleet, agents):
        self.acknowledged = set()
        self.refusals = collections.Counter()
        self.faults = []
        for name in agents:
            self._read(name, fleet.path(f"{name}.log"))
            for file in glob.glob(fleet.path(name, "spool", "**"), recursive=True):
                if os.path.isfile(file):
                    self.faults.append(f"{name} still has {file}")

    def _read(self, name, log):
        running, ended = None, set()
        for line in lines(log):
            if stored := STORED.search(line):
                case, job, epoch = stored.groups()
                self.acknowledged.add((job, case, epoch))
            elif refused := NOT_STORED.search(line):
                self.refusals[refused.group(1)] += 1
            elif phase := PHASE.search(line):
                attempt = phase.groups()
                if attempt in ended:
                    self.faults.append(f"{name} ran job {attempt[0]} epoch {attempt[1]} and "
                                       f"job {running[0]} epoch {running[1]} at the same time")
                if running not in (None, attempt):
                    ended.add(running)
                running = attempt


def judge(fleet, evidence, harmed):
    """Returns a line for each fault in the database and the agents' evidence."""
    faults = checker.faults(fleet) + evidence.faults
    faults += [f"job {row[0]} {row[1]}: {row[2]}" for row in fleet.postgres.rows(
        "SELECT job_id, state, failures FROM job WHERE state <> 'succeeded'")]
    faults += [f"campaign {row[0]}: {row[1]}, {row[2]}" for row in fleet.postgres.rows(
        "SELECT name, state, verdict FROM campaign "
        "WHERE state <> 'completed' OR verdict <> 'passed'")]
    faults += [f"node {row[0]} holds job {row[1]}" for row in fleet.postgres.rows(
        "SELECT node_id, job_id FROM allocation")]
    stored = {tuple(row) for row in fleet.postgres.rows(
        "SELECT job_id, case_index, epoch FROM case_result")}
    faults += [f"acknowledged and not stored: job {job} case {case} epoch {epoch}"
               for job, case, epoch in sorted(evidence.acknowledged - stored)]
    if not evidence.acknowledged:
        faults.append("no agent wrote of a stored result")
    # A result of an attempt that was replaced is stale. Nothing else may be refused.
    faults += [f"{count} results refused: {verdict}"
               for verdict, count in evidence.refusals.items() if verdict != "VERDICT_STALE"]
    for attempt, count in collections.Counter(map(tuple, checker.failures(fleet))).items():
        failure_class, reason, node = attempt
        blamed_rightly = (failure_class == "node" and node in harmed and
                          reason in ("AGENT_LOST", "GANG_NOT_READY"))
        if failure_class != "infrastructure" and not blamed_rightly:
            faults.append(f"{count} attempts failed: {failure_class} {reason} {node}")
    return faults


def report(fleet, chaos, evidence):
    counts = fleet.postgres.rows(
        "SELECT (SELECT count(*) FROM campaign), (SELECT count(*) FROM job), "
        "(SELECT count(*) FROM case_result), (SELECT sum(attempts) FROM job), "
        "(SELECT term FROM scheduler)")[0]
    campaigns, jobs, results, attempts, term = counts
    print(f"{campaigns} of {chaos.submitted} campaigns accepted, {jobs} jobs, {results} results, "
          f"{len(evidence.acknowledged)} of them acknowledged according to the agents, "
          f"{attempts} attempts, {term} elections")
    for kind in KINDS:
        print(f"  {chaos.kinds[kind]:5} {kind}")
    print("failed attempts:")
    for (failure_class, reason), count in sorted(collections.Counter(
            tuple(row[:2]) for row in checker.failures(fleet)).items()):
        spent = "no retry spent" if failure_class == "infrastructure" else "a retry spent each"
        print(f"  {count:5} {failure_class} {reason}: {spent}")
    print(f"results refused: {dict(evidence.refusals) or 'none'}", flush=True)


def run(options):
    print(f"{options.seconds:g} s, seed {options.seed}, {options.agents} agents", flush=True)
    source = random.Random(options.seed)
    names = [f"node-{number:02}" for number in range(1, options.agents + 1)]
    with Replicas() as fleet:
        fleet.start()
        agents = {name: fleet.new_agent(name, "--log-level", "debug", listen="").start()
                  for name in names}
        for name in names:
            fleet.await_node(name)
        events = draw(source, options, names, list(fleet.coordinators))
        chaos = Chaos(fleet, agents, source)
        chaos.run(events, options.seconds)
        await_end(fleet, names)
        evidence = Evidence(fleet, names)
        report(fleet, chaos, evidence)
        faults = chaos.faults + judge(fleet, evidence, chaos.harmed)
        assert not faults, "\n".join(faults)
    print("nothing lost, nothing twice", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=900)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--agents", type=int, default=20)
    parser.add_argument("--only", default="", help="kinds of events that begin with this")
    parser.add_argument("--away", type=float, help="seconds for which each target is away")
    parser.add_argument("--interval", type=float, default=2.0, help="mean seconds between events")
    options = parser.parse_args()
    try:
        run(options)
    except AssertionError as error:
        print(f"FAILED with seed {options.seed}:\n{error}", flush=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
