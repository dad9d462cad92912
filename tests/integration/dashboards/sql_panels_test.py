"""Checks the rows that the dashboards on PostgreSQL show of a history with planted facts."""

import os
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path[:0] = [HERE, os.path.join(ROOT, "tests", "e2e")]

import grafana  # noqa: E402
import planted  # noqa: E402
import sources  # noqa: E402
from harness import Fleet  # noqa: E402

DAY = 86_400_000
GEMM_8192, GEMM_4096 = "dtype=bf16 m=8192", "dtype=bf16 m=4096"
COPY = "bytes=1073741824 op=copy"
STEADY = "SXM, 700 W"


def number(text):
    return float(text) if text else None


class SqlPanelsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = Fleet()
        cls.addClassCleanup(cls.fleet.__exit__, None, None, None)
        planted.plant(cls.fleet.__enter__())
        cls.client = sources.Postgres(cls.fleet.postgres)
        cls.acknowledge()
        cls.now = time.time() * 1000

    @classmethod
    def acknowledge(cls):
        """Lets a person say that the suspect is a false alarm, and that the driver is known."""
        rows = cls.fleet.postgres.rows
        cls.suspect = rows("SELECT regression_id FROM regression "
                           "WHERE gpu_uuid = '{GPU-1-5}' AND lineage_id = 'lineage3'")
        cls.driver = rows("SELECT incident_id FROM incident WHERE cause = 'driver'")
        assert len(cls.suspect) == 1 and len(cls.driver) == 1, (cls.suspect, cls.driver)
        cls.fleet.cli("regressions", "ack", cls.suspect[0][0], "--note", "it's a \"test\"",
                      "--false-alarm")

    def scope(self, board, days=30, **choose):
        path = os.path.join(ROOT, "dashboards", f"{board}.json")
        return grafana.Scope(grafana.Dashboard(path),
                             grafana.TimeRange(self.now - days * DAY, self.now + DAY),
                             {grafana.POSTGRES: self.client}, choose)

    def rows(self, board, title, days=30, **choose):
        scope = self.scope(board, days, **choose)
        return sources.run(scope, scope.board.panel(title))[0]

    def near(self, text, value, delta=0.006):
        self.assertAlmostEqual(number(text), value, delta=delta)

    # History.

    def test_driver_is_priced_at_a_glance(self):
        loss, = self.rows("history", "Largest loss")
        self.near(loss["Change"], -0.1)
        self.assertLess(number(loss["From"]), number(loss["Change"]))
        self.assertGreater(number(loss["To"]), number(loss["Change"]))
        self.assertEqual((loss["GPUs"], loss["Verdict"], loss["Case"]),
                         ("24", "regressed", "launch_overhead kind=empty H200"))
        loss, = self.rows("history", "Largest loss", benchmark=["gemm"])
        self.near(loss["Change"], -0.094)
        # Eight GPUs were throttled in one of the cases, so 16 were compared there.
        self.assertIn(loss["GPUs"], ("16", "24"))
        gain, = self.rows("history", "Largest gain")
        self.near(gain["Change"], 0.03)
        self.assertEqual(gain["Verdict"], "improved")
        self.assertEqual(self.rows("history", "Cases by verdict"), [
            {"regressed": "3", "improved": "1", "equivalent": "2", "inconclusive": "0"}])

    def test_newest_driver_is_chosen(self):
        scope = self.scope("history")
        self.assertEqual(scope.variables["driver"].value, planted.NEW)
        self.assertEqual(scope.variables["model"].options, ["H200"])
        self.assertEqual(scope.variables["benchmark"].options,
                         ["gemm", "launch_overhead", "memory_bandwidth"])

    def test_changes_are_sorted_by_loss_and_unlike_cases_are_apart(self):
        rows = self.rows("history", "From driver to driver")
        self.assertEqual([(row["Parameters"], row["Verdict"], row["GPUs"]) for row in rows[:1]],
                         [("kind=empty", "regressed", "24")])
        found = {(row["Parameters"], row["Conditions"]): row for row in rows}
        self.assertEqual(set(found), {
            ("kind=empty", STEADY), (GEMM_8192, STEADY), (GEMM_4096, STEADY),
            ("dtype=fp8_e4m3 m=8192", STEADY), (COPY, STEADY), (GEMM_8192, f"MIG 1g.18gb, {STEADY}")})
        for parameters, change, gpus in ((GEMM_8192, -0.094, "16"), (GEMM_4096, -0.094, "24"),
                                         (COPY, 0.03, "24")):
            row = found[parameters, STEADY]
            self.near(row["Change"], change)
            self.assertEqual((row["Before"], row["Driver"], row["GPUs"]),
                             (planted.OLD, planted.NEW, gpus))
            self.assertEqual(int(row["Runs before"]), int(gpus) * planted.UPGRADE)
            self.assertEqual(int(row["Runs"]), int(gpus) * (planted.NIGHTS - planted.UPGRADE))
        slice_ = found[GEMM_8192, f"MIG 1g.18gb, {STEADY}"]
        self.assertEqual((slice_["Verdict"], slice_["GPUs"]), ("equivalent", "24"))
        losses = [number(row["Change"]) for row in rows if row["Verdict"] == "regressed"]
        self.assertEqual(losses, sorted(losses))

    def test_other_conditions_have_their_own_rows(self):
        rows = self.rows("history", "From driver to driver", standard="false")
        found = {row["Conditions"]: row for row in rows}
        self.assertEqual(set(found), {f"throttled, {STEADY}", f"hot cache, {STEADY}",
                                      f"graph launches, {STEADY}"})
        throttled = found[f"throttled, {STEADY}"]
        self.near(throttled["Change"], -0.094)
        self.assertEqual((throttled["GPUs"], throttled["Verdict"]), ("8", "regressed"))
        self.assertEqual(found[f"hot cache, {STEADY}"]["Verdict"], "equivalent")

    def test_simulated_results_are_apart(self):
        row, = self.rows("history", "From driver to driver", simulated="true")
        self.near(row["Change"], 0.5, 0.01)
        self.assertEqual(row["GPUs"], "24")
        self.assertEqual(self.rows("findings", "Open incidents", simulated="true"), [])

    def test_choice_of_one_benchmark_leaves_out_others(self):
        rows = self.rows("history", "Cases by driver", benchmark=["memory_bandwidth"])
        self.assertEqual([(row["Parameters"], row["Driver"]) for row in rows],
                         [(COPY, planted.OLD), (COPY, planted.NEW)])
        both = self.rows("history", "Cases by driver", benchmark=["memory_bandwidth", "gemm"],
                         metric=["bandwidth"])
        self.assertEqual(both, rows)

    def test_medians_by_driver_are_not_mixed(self):
        rows = {(row["Benchmark"], row["Parameters"], row["Conditions"], row["Driver"]): row
                for row in self.rows("history", "Cases by driver")}
        self.assertEqual(len(rows), 12)
        for (conditions, driver), value in {
                (STEADY, planted.OLD): 700, (STEADY, planted.NEW): 634.2,
                (f"MIG 1g.18gb, {STEADY}", planted.OLD): 100}.items():
            row = rows["gemm", GEMM_8192, conditions, driver]
            self.near(row["Median"], value, value * 0.005)
        # No unverified run: 24 GPUs, of which eight are throttled, in 12 nights.
        self.assertEqual(rows["gemm", GEMM_8192, STEADY, planted.OLD]["Runs"], "192")
        other = {row["Conditions"]: row for row in self.rows(
            "history", "Cases by driver", standard="false") if row["Driver"] == planted.OLD}
        self.near(other[f"throttled, {STEADY}"]["Median"], 560, 3)
        self.near(other[f"hot cache, {STEADY}"]["Median"], 9000, 45)
        self.near(other[f"graph launches, {STEADY}"]["Median"], 720, 4)

    def test_runs_set_apart_are_counted(self):
        row, = self.rows("history", "Runs set apart")
        self.assertEqual(row, {"throttled": "160", "hot cache": "480", "zeros": "0",
                               "graph launches": "480", "MIG slices": "480", "unverified": "2"})

    def test_noise_is_shown_against_its_floor(self):
        rows = self.rows("history", "Noise by case")
        self.assertEqual(len(rows), 6)
        for row in rows:
            self.near(row["Floor"], 0.002, 1e-6)
            self.near(row["Noise"], 0.0029, 0.0012)
            self.near(row["Noise over floor"], number(row["Noise"]) / 0.002, 0.01)
            self.assertEqual(row["Driver"], planted.NEW)

    def test_efficiency_is_that_of_the_best_size(self):
        rows = {(row["Conditions"], row["Kind"], row["Driver"]): row
                for row in self.rows("history", "Efficiency at the best size")}
        self.assertEqual(set(kind for _, kind, _ in rows), {"bf16", "fp8_e4m3", "copy"})
        best = rows[STEADY, "bf16", planted.OLD]
        self.near(best["Efficiency"], 0.7, 0.004)
        self.assertEqual(best["Parameters"], GEMM_8192)
        self.near(rows[STEADY, "bf16", planted.NEW]["Efficiency"], 0.634, 0.004)
        self.near(rows[f"MIG 1g.18gb, {STEADY}", "bf16", planted.NEW]["Efficiency"], 0.9, 0.005)

    def test_costs_are_by_offer(self):
        rows = [row for row in self.rows("history", "Cost by offer", benchmark=["gemm"])
                if row["Parameters"] == "dtype=fp8_e4m3 m=8192"]
        self.assertEqual([(row["Provider"], row["GPUs"], row["Runs"]) for row in rows],
                         [("vast.ai", "8", "160"), ("lambda", "8", "160")])
        self.near(rows[0]["Price per hour"], 2)
        self.near(rows[1]["Price per hour"], 3)
        self.near(rows[0]["Per dollar an hour"], 650, 4)
        latency = self.rows("history", "Cost by offer", benchmark=["launch_overhead"])
        self.assertEqual({row["Per dollar an hour"] for row in latency}, {""})

    def test_runs_of_one_case_are_bounded_and_by_driver(self):
        rows = self.rows("history", "Runs of one case", case="lineage1")
        counts = {}
        for row in rows:
            counts[row["metric"]] = counts.get(row["metric"], 0) + 1
        self.assertEqual(counts, {
            planted.OLD: 192, planted.NEW: 128, f"{planted.OLD}, throttled": 96,
            f"{planted.NEW}, throttled": 64})
        self.assertEqual([row["time"] for row in rows], sorted(row["time"] for row in rows))
        self.assertLess(max(number(row["value"]) for row in rows), 720, "nothing unverified")
        last_days = self.rows("history", "Runs of one case", days=3.5, case="lineage1")
        self.assertEqual(len(last_days), 3 * 24)

    def test_case_is_chosen_by_name_under_all_conditions(self):
        scope = self.scope("history")
        self.assertEqual(sorted(scope.variables["case"].options),
                         [f"lineage{case}" for case in (1, 2, 3, 4, 5, 6, 7, 9)])
        columns, rows = self.client.query(scope.sql(scope.variables["case"].model["query"]))
        names = {row[columns.index("__value")]: row[columns.index("__text")] for row in rows}
        self.assertEqual(names["lineage1"], f"gemm {GEMM_8192} H200 {STEADY}")
        self.assertEqual(names["lineage6"], f"memory_bandwidth {COPY} H200 hot cache, {STEADY}")

    def test_annotations_mark_the_driver_and_the_steps(self):
        shown = {one["name"]: rows for one, rows in sources.annotations(self.scope("history"))}
        driver, = shown["Driver changes"]
        self.assertRegex(driver["text"], r"^driver 580.95.05 -> 590.10 on H200: 3 of 6 cases "
                                         r"regressed, worst -(9.9|10.0|10.1)%$")
        texts = sorted(row["text"] for row in shown["Change points"])
        self.assertTrue(any(text.startswith("driver 580.95.05 -> 590.10, confirmed: 3 cases, 24 places")
                            for text in texts), texts)
        self.assertEqual(shown["Notes"], [])
        of_day = {one["name"]: rows
                  for one, rows in sources.annotations(self.scope("history", days=2))}
        self.assertEqual(of_day["Driver changes"], [], "the driver changed before")

    # Findings.

    def test_open_incidents_are_listed_with_their_cause(self):
        rows = self.rows("findings", "Open incidents")
        first = rows[0]
        self.assertEqual((first["State"], first["Cause"], first["Scope"], first["GPUs"],
                          first["Cases"], first["Incident"]),
                         ("confirmed", "driver 580.95.05 -> 590.10", "fleet", "24", "3",
                          self.driver[0][0]))
        self.assertLess(number(first["Worst"]), -0.09)
        own = [row for row in rows if row["GPU"] == "GPU-1-2"]
        self.assertEqual([(row["State"], row["Cause"], row["Cases"], row["Node"]) for row in own],
                         [("detected", "gpu", "2", "g1")])
        self.assertEqual(self.rows("findings", "Confirmed incidents"), [{"incidents": "1"}])
        # Acknowledging the suspect took it off this list.
        self.assertEqual(self.rows("findings", "Suspected incidents"), [{"incidents": "1"}])

    def test_regressions_follow_from_an_incident(self):
        everything = self.rows("findings", "Confirmed regressions")
        of_driver = self.rows("findings", "Confirmed regressions", incident=[self.driver[0][0]])
        self.assertEqual(len(of_driver), 3 * 24)
        self.assertEqual(len(everything), 3 * 24 + 1, "and the acknowledged suspect")
        self.assertEqual({row["Node"] for row in of_driver}, set(planted.NODES))
        self.assertEqual({row["Driver"] for row in of_driver}, {"580.95.05 -> 590.10"})
        changes = [number(row["Change"]) for row in of_driver]
        self.assertEqual(changes, sorted(changes))
        suspects = self.rows("findings", "Suspects")
        self.assertEqual(sorted((row["GPU"], row["Benchmark"]) for row in suspects),
                         [("GPU-1-2", "gemm"), ("GPU-1-2", "memory_bandwidth")])
        for row in suspects:
            self.near(row["Change"], -0.05, 0.01)

    def test_slow_gpus_are_ranked_among_peers(self):
        rows = self.rows("findings", "Outliers")
        lemon = rows[0]
        self.assertEqual((lemon["GPU"], lemon["Node"], lemon["Kind"], lemon["Cases"], lemon["Of places"]),
                         ("GPU-2-3", planted.NODES[1], "slow", "5", "24"))
        # MIG slices have other UUIDs: seven cases remain for a GPU, of which two had other faults.
        self.assertEqual(lemon["Of cases"], "7")
        self.near(lemon["Against median"], -0.06, 0.008)
        self.assertIn(lemon["Rank"], ("1", "9"))
        by_gpu = {row["GPU"]: row for row in rows}
        self.assertEqual(by_gpu["GPU-1-2"]["Cases"], "2")
        self.assertNotIn("MIG-2-3", by_gpu)
        throttled = [row for row in rows if row["Node"] == planted.NODES[2]]
        self.assertEqual({row["Cases"] for row in throttled}, {"1"})
        self.assertEqual(len(throttled), 8, "throttled GPUs are slow in one case")
        self.assertEqual(self.rows("findings", "Slow GPUs"), [{"places": str(len(rows))}])
        self.assertEqual(self.rows("findings", "Implausible GPUs"), [{"places": "0"}])

    def test_failed_verification_names_the_gpu(self):
        # More failures of another kind than the panel reads.
        self.fleet.postgres.rows(
            "INSERT INTO result (result_id, ts, series_key, origin_key, campaign_id, job_id,"
            " case_index, repetition, end_time, \"primary\", outcome, failure_reason, n)"
            " SELECT gen_random_uuid(), now(), series_key, origin_key, campaign_id, job_id,"
            " case_index + made, repetition, now(), \"primary\", outcome, failure_reason, n"
            " FROM result, generate_series(1, 2000) AS made WHERE failure_reason = 'TIMEOUT'")
        rows = self.rows("findings", "Failed verification")
        self.assertEqual([(row["GPU"], row["Cases"]) for row in rows],
                         [("GPU-2-7", "2"), ("GPU-2-6", "1")])
        row, = self.rows("findings", "Failed verification", days=7)
        self.assertEqual((row["Node"], row["GPU"], row["Cases"], row["Benchmarks"]),
                         (planted.NODES[1], "GPU-2-7", "2", "gemm"))
        reason = self.fleet.postgres.value(
            f"SELECT failure_reason FROM result WHERE result_id = '{row['Result']}'")
        self.assertEqual(reason, "VERIFICATION_FAILED")
        self.assertEqual(self.rows("findings", "Failed verification", days=0.5), [])

    def test_flags_are_counted_by_node(self):
        rows = {(row["Node"], row["Flag"]): row for row in self.rows("findings", "Flags by node")}
        self.assertEqual(set(rows), {(planted.NODES[2], "throttled"), ("g1", "unverified"),
                                     ("g1", "busy_host")})
        throttled = rows[planted.NODES[2], "throttled"]
        self.assertEqual((throttled["Runs"], throttled["Of runs"]), ("160", "160"))
        self.assertEqual(rows["g1", "unverified"]["Runs"], "2")
        self.assertEqual(rows["g1", "unverified"]["Of runs"], "162")
        day = {row["Flag"] for row in self.rows("findings", "Flags by node", days=1.5)}
        self.assertEqual(day, {"throttled", "unverified"})

    def test_precision_counts_false_alarms(self):
        row, = self.rows("findings", "What people said")
        self.assertEqual((row["acknowledged"], row["false alarms"], row["precision"]), ("1", "1", "0"))
        self.assertEqual(row["detected"], "3")
        said, = self.rows("findings", "Acknowledged")
        self.assertEqual((said["Note"], said["False alarm"], said["Node"]),
                         ("it's a \"test\"", "yes", "g1"))
        self.assertEqual(sum(int(row["value"]) for row in self.rows("findings", "Regressions by day")),
                         int(self.fleet.postgres.value("SELECT count(*) FROM regression")))

    def test_every_choice_of_a_variable_runs(self):
        for board in ("history", "findings"):
            scope = self.scope(board)
            for variable in scope.variables.values():
                for value in variable.options[:3]:
                    chosen = [value] if variable.multi else value
                    with self.subTest(board=board, variable=variable.name, value=value):
                        one = self.scope(board, **{variable.name: chosen})
                        for panel in one.board.panels():
                            sources.run(one, panel)

    def test_links_lead_somewhere_for_every_row(self):
        paths = [os.path.join(ROOT, "dashboards", name)
                 for name in sorted(os.listdir(os.path.join(ROOT, "dashboards")))
                 if name.endswith(".json")]
        boards = [grafana.Dashboard(path) for path in paths]
        for board in ("history", "findings"):
            scope = self.scope(board)
            console = scope.variables["console"].value
            self.assertEqual(sources.link_faults(scope, boards, console), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
