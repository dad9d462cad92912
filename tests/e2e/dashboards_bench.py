"""Measures the panels of dashboards that read PostgreSQL.

A database is filled by history_bench, and a coordinator judges it, which makes the rows that
dashboards read. The generated history has no findings, flags and prices, so these are added: 500
incidents with 5,000 regressions, 2,000 outliers, and for each case flags of 100 nodes and three
offers. Every query of a panel, annotation and variable, expanded as Grafana does, then runs as the
role of dashboards. Prints the median and the 95th percentile of each. Ends with 1 if one exceeds
300 ms.

    dashboards_bench.py [--rows 10000000] [--runs 20] [--days 30]
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import time

from harness import BUILD, ROOT, Fleet, eventually

sys.path.insert(0, os.path.join(ROOT, "tests", "integration", "dashboards"))

import grafana  # noqa: E402
import sources  # noqa: E402

GOAL_MS = 300
WARM_UPS = 3
BOARDS = ("history", "findings")
ADDED = """
CREATE TEMP TABLE one AS SELECT *, row_number() OVER (ORDER BY lineage_id) AS number FROM (
  SELECT DISTINCT ON (lineage_id) * FROM driver_median ORDER BY lineage_id, newest_time DESC) newest;
INSERT INTO incident SELECT 'incident' || i,
  CASE WHEN i % 5 = 0 THEN 'confirmed' WHEN i % 5 = 1 THEN 'detected' ELSE 'resolved' END::regression_state,
  'place', CASE i % 3 WHEN 0 THEN 'driver' WHEN 1 THEN 'gpu' ELSE 'case' END::incident_cause, '570.86.10',
  '580.95.05', false, ARRAY['n' || i % 300], ARRAY['GPU-' || i % 300 || '-0'],
  now() - i * interval '5 hours', now() - i * interval '5 hours', 10, 10, 5, 0.9, ''
FROM generate_series(0, 499) i;
INSERT INTO regression SELECT 'regression' || r, i.state, i.scope, i.incident_id, lineage_id, benchmark, 1,
  parameters, metric, unit, direction, gpu_model, false, i.node, i.gpu_uuid, 0.9, 100, 90, '570.86.10',
  '580.95.05', '0.1.0', '0.1.0', i.start_time, i.start_time, i.start_time, i.start_time, NULL,
  CASE WHEN r % 7 = 0 THEN 'ann' END, CASE WHEN r % 7 = 0 THEN 'known' END, r % 21 = 0, ''
FROM generate_series(0, 4999) r JOIN one ON number = r % (SELECT count(*) FROM one) + 1
JOIN incident i ON i.incident_id = 'incident' || r % 500;
INSERT INTO outlier SELECT lineage_id, 'slow', benchmark, 1, parameters, metric, unit, direction, gpu_model,
  driver, false, ARRAY['n' || g % 300], ARRAY['GPU-' || g % 300 || '-' || g % 8], -5, 0.93, 1, 800, 90, 100,
  false, now(), NULL, ''
FROM generate_series(0, 1999) g JOIN one ON number = g % (SELECT count(*) FROM one) + 1;
INSERT INTO node_flag SELECT lineage_id, 'n' || n, flag, gpu_model, false, 10, 60, now()
FROM one, generate_series(0, 99) n, unnest(ARRAY['throttled', 'busy_host']) flag;
INSERT INTO case_cost SELECT lineage_id, provider, price, false, true, conditions, benchmark, 1, parameters,
  metric, unit, direction, gpu_model, NULL, 1, false, median, runs, places, newest_time
FROM one, (VALUES ('vast.ai', 2), ('lambda', 3), ('runpod', 2.5)) offer (provider, price);
UPDATE result SET failure_reason = 'VERIFICATION_FAILED'
WHERE outcome = 'failed' AND ts > now() - interval '7 days';
ANALYZE;
"""


def fill(fleet, rows):
    """Fills a database with `rows` results, lets a coordinator judge it, and adds findings."""
    subprocess.run([os.path.join(BUILD, "tests", "history_bench"), "--rows", str(rows), "--runs",
                    "1", "--folder", fleet.path("pg")], check=False, stdout=subprocess.DEVNULL)
    # history_bench's server takes no connections over TCP, and its database is "postgres".
    with open(fleet.path("pg", "data", "pg_hba.conf"), "a", encoding="utf-8") as rules:
        rules.write("host all all 127.0.0.1/32 trust\n")
    postgres = fleet.postgres.start()
    postgres.rows("DROP DATABASE assay", "template1")
    postgres.rows("ALTER DATABASE postgres RENAME TO assay", "template1")
    begin = time.monotonic()
    fleet.coordinator = fleet.new_coordinator("coordinator", "--judge-every", "1s").start(900)
    eventually(lambda: int(postgres.value("SELECT count(*) FROM judge_state WHERE cursor <> ''")),
               3600, "the judge's pass", 1)
    print(f"judged in {time.monotonic() - begin:.0f} s: "
          f"{postgres.value('SELECT count(*) FROM driver_median')} medians, "
          f"{postgres.value('SELECT count(*) FROM driver_change')} changes")
    fleet.coordinator.stop()
    postgres.rows(ADDED, writable=True)
    postgres.rows("VACUUM")


def queries(scope):
    """Yields the names and SQL texts of all panels, annotations and variables."""
    for panel in scope.board.panels():
        for target in panel["targets"]:
            yield panel["title"], scope.sql(target["rawSql"], panel)
    for one in scope.board.json["annotations"]["list"]:
        yield f"annotation {one['name']}", scope.sql(one["target"]["rawSql"])
    for variable in scope.board.json["templating"]["list"]:
        if variable["type"] == "query":
            yield f"variable {variable['name']}", scope.sql(variable["query"])


def milliseconds(fleet, sql, runs):
    """Returns the sorted times of a query in one connection, warm, without the client's start."""
    script = "SET ROLE assay_reader;\n\\timing on\n\\o /dev/null\n" + f"{sql};\n" * (runs + WARM_UPS)
    run = subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", fleet.postgres.conninfo],
                         input=script, capture_output=True, text=True, check=True)
    times = [float(text) for text in re.findall(r"^Time: ([\d.]+) ms", run.stdout, re.MULTILINE)]
    assert len(times) == runs + WARM_UPS, run.stderr
    return sorted(times[WARM_UPS:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--days", type=float, default=30)
    arguments = parser.parse_args()
    met = True
    with Fleet() as fleet:
        fill(fleet, arguments.rows)
        now = time.time() * 1000
        window = grafana.TimeRange(now - arguments.days * 86_400_000, now)
        client = sources.Postgres(fleet.postgres)
        print(f"load {os.getloadavg()[0]:.1f}\n\n| {arguments.rows:,} results, {arguments.days:g} days,"
              f" goal {GOAL_MS} ms | rows | p50 ms | p95 ms |\n|---|---:|---:|---:|", flush=True)
        for name in BOARDS:
            board = grafana.Dashboard(os.path.join(ROOT, "dashboards", f"{name}.json"))
            for title, sql in queries(grafana.Scope(board, window, {grafana.POSTGRES: client})):
                times = milliseconds(fleet, sql, arguments.runs)
                slow = times[int(0.95 * (len(times) - 1) + 0.5)]
                met = met and slow < GOAL_MS
                print(f"| {name}: {title} | {len(client.query(sql)[1])} | "
                      f"{statistics.median(times):.1f} | {slow:.1f} |", flush=True)
        print(f"\nload {os.getloadavg()[0]:.1f}")
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
