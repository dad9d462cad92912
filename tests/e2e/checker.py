"""Checks the database of a fleet: what must be true whatever went wrong before.

The statements assume the benchmarks of the fake runner, which measure one metric per case.
"""

# Each statement returns a row per fault. "{jobs}" selects the jobs to check.
STATEMENTS = {
    "a job has not ended": """
        SELECT job_id, state FROM job WHERE {jobs} AND state IN ('queued', 'running')""",
    "a job that succeeded lacks results": """
        SELECT job_id, case_count, cases_done, count(c.case_index)
        FROM job LEFT JOIN case_result c USING (job_id)
        WHERE {jobs} AND state = 'succeeded' GROUP BY job_id
        HAVING count(c.case_index) <> case_count OR cases_done <> case_count""",
    "a case does not have one result per metric": """
        SELECT c.job_id, c.case_index, count(r.result_id), count(DISTINCT r.series_key)
        FROM case_result c JOIN job USING (job_id)
        LEFT JOIN result r ON r.job_id = c.job_id AND r.case_index = c.case_index
        WHERE {jobs} GROUP BY 1, 2
        HAVING count(r.result_id) <> count(DISTINCT r.series_key)
          OR count(r.result_id) FILTER (WHERE r."primary") <> 1""",
    "a result belongs to no case": """
        SELECT r.job_id, r.case_index FROM result r JOIN job ON job.job_id = r.job_id
        LEFT JOIN case_result c ON c.job_id = r.job_id AND c.case_index = r.case_index
        WHERE {jobs} AND c.job_id IS NULL""",
    "an ended job holds a node": """
        SELECT job_id, node_id, state FROM allocation JOIN job USING (job_id)
        WHERE {jobs} AND state <> 'running'""",
}


def faults(fleet, campaign=None):
    """Returns a line per fault among the campaign's jobs, or among all jobs."""
    jobs = f"job.campaign_id = '{campaign}'" if campaign else "true"
    return [f"{fault}: {' | '.join(row)}" for fault, statement in STATEMENTS.items()
            for row in fleet.postgres.rows(statement.replace("{jobs}", jobs))]


def failures(fleet, campaign=None):
    """Returns every failed attempt as [class, reason, name of the node that it blames]."""
    where = f"WHERE campaign_id = '{campaign}'" if campaign else ""
    return fleet.postgres.rows(
        "SELECT f->>'class', f->>'reason', coalesce(name, f->>'node') "
        "FROM job CROSS JOIN jsonb_array_elements(failures) f "
        f"LEFT JOIN node ON node_id = f->>'node' {where}")


def expect_whole(fleet, campaign=None, cases=None):
    """Expects no faults, and this number of cases with a result."""
    found = faults(fleet, campaign)
    assert not found, "\n".join(found)
    if cases is not None:
        stored = fleet.postgres.value(
            "SELECT count(*) FROM case_result JOIN job USING (job_id) "
            f"WHERE campaign_id = '{campaign}'")
        assert int(stored) == cases, f"{stored} of {cases} cases have a result"


def expect_nothing_spent(fleet, campaign, reasons=()):
    """Expects that no attempt spent a retry, and that attempts failed for these reasons alone."""
    found = failures(fleet, campaign)
    assert all(row[0] == "infrastructure" and row[1] in reasons for row in found), found
