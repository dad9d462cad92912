#!/bin/bash
# Run once by the postgres image on an empty database: the role that Grafana reads
# with. It can see tables and change nothing.
set -euo pipefail
psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
  -v password="$ASSAY_READER_PASSWORD" <<'SQL'
CREATE ROLE assay_reader LOGIN PASSWORD :'password';
GRANT pg_read_all_data TO assay_reader;
ALTER ROLE assay_reader SET default_transaction_read_only = on;
ALTER ROLE assay_reader SET statement_timeout = '30s';
SQL
