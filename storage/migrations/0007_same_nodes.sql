-- The next attempt goes to the nodes of the last one if they are there. Told by avoiding all
-- others, a job for any of 1000 nodes held 999 ids that every claim read.
ALTER TABLE job ADD COLUMN same_nodes boolean NOT NULL DEFAULT false;
