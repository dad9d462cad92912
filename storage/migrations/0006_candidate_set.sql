-- Jobs that have a choice of nodes share the list of them: 10,000 jobs for any of 1000 nodes
-- held 10 million ids. The sets of a campaign are numbered from 0, and never change.
CREATE TABLE candidate_set (
  campaign_id text NOT NULL REFERENCES campaign,
  candidate_set int NOT NULL,
  node_ids text[] NOT NULL,
  PRIMARY KEY (campaign_id, candidate_set)
);

-- The set of a job with a choice, whose candidate_node_ids are then empty; NULL for jobs that
-- are pinned to what candidate_node_ids lists.
ALTER TABLE job ADD COLUMN candidate_set int;

INSERT INTO candidate_set
SELECT campaign_id, row_number() OVER (PARTITION BY campaign_id ORDER BY candidate_node_ids) - 1,
       candidate_node_ids
FROM (SELECT DISTINCT campaign_id, candidate_node_ids FROM job
      WHERE cardinality(candidate_node_ids) > node_count) choice;

UPDATE job SET candidate_set = s.candidate_set, candidate_node_ids = '{}'
FROM candidate_set s
WHERE cardinality(job.candidate_node_ids) > job.node_count
  AND s.campaign_id = job.campaign_id AND s.node_ids = job.candidate_node_ids;
