-- Which entry of the campaign's spec a job measures: several may have one benchmark. NULL for jobs
-- queued before, and for imported results.
ALTER TABLE job ADD COLUMN benchmark_index int;
