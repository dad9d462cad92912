"""Measures what a campaign with `placement: any` costs on many nodes: seconds, and the
coordinator's memory.

One real agent describes a node, and copies of its row simulate the fleet. No job runs.

    scale_bench.py [JOBS [NODES]]           # 10000 1000
"""

import re
import sys
import time

from harness import Fleet, eventually

ENTRIES = 10
NAME = "q000000"


def copy_node(fleet, count):
    """Stores `count` nodes that look connected and equal the agent's node, then ends the agent."""
    fleet.agent(NAME).stop()
    fleet.await_node(NAME, "DISCONNECTED")
    fleet.postgres.rows(f"""
        WITH one AS (SELECT *, encode(description, 'hex') AS hex FROM node),
        copy AS (SELECT gen_random_uuid()::text AS id, 'q' || lpad(i::text, 6, '0') AS name
                 FROM generate_series(1, {count - 1}) i),
        made AS (
          INSERT INTO node (node_id, name, description, description_json, schemas_hash,
                            dial_address)
          SELECT copy.id, copy.name, decode(replace(replace(hex,
              encode(one.node_id::bytea, 'hex'), encode(copy.id::bytea, 'hex')),
              encode(one.name::bytea, 'hex'), encode(copy.name::bytea, 'hex')), 'hex'),
            one.description_json, one.schemas_hash, '' FROM one, copy RETURNING node_id)
        INSERT INTO node_session SELECT node_id, '', now() FROM made""")
    fleet.postgres.rows("UPDATE node_session SET owner = 'elsewhere',"
                        " last_heartbeat_time = now() + interval '1 day'")


def peak_mib(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmHWM:\s*(\d+)", status.read()).group(1)) / 1024


def main(jobs=10_000, nodes=1000):
    with Fleet() as fleet:
        fleet.start()
        copy_node(fleet, nodes)
        campaign = (f"name: any\nplacement: any\nrepetitions: {jobs // ENTRIES}\nbenchmarks:\n" +
                    "".join(f"  - ok: {{value: {i}}}\n" for i in range(ENTRIES)))
        print(f"{jobs // ENTRIES * ENTRIES} jobs, each for any of {nodes} nodes; the "
              f"coordinator's peak before: {peak_mib(fleet.coordinator):.0f} MiB", flush=True)

        def step(name, action):
            began = time.monotonic()
            answer = action()
            print(f"{name:<28} {time.monotonic() - began:8.2f} s   peak so far "
                  f"{peak_mib(fleet.coordinator):6.0f} MiB", flush=True)
            return answer

        file = fleet.write_campaign(campaign)

        def submit():
            # The CLI may time out before the coordinator has finished.
            fleet.cli("campaign", "submit", file, code=None)
            eventually(lambda: fleet.postgres.rows("SELECT 1 FROM campaign"), 300, "the campaign", 0.1)

        step("submit", submit)
        step("show, all queued", lambda: fleet.cli("campaign", "show", "any", seconds=300))
        fleet.cli("campaign", "cancel", "any")
        # Ends when every job has been reported.
        step("watch, all cancelled", lambda: fleet.cli("campaign", "watch", "any", code=None,
                                                       seconds=300))
        size = int(fleet.postgres.value("SELECT pg_database_size('assay')"))
        print(f"{'database':<28} {size / 2**20:8.0f} MiB")


if __name__ == "__main__":
    main(*[int(argument) for argument in sys.argv[1:]])
