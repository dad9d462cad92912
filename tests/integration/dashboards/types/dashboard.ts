// The types of Assay's dashboards, made of Grafana's. types_test.py writes one file per dashboard
// that assigns its JSON to `Board`.
import type { Dashboard, FieldConfig, VariableModel } from "@grafana/schema";
import type * as raw from "@grafana/schema/dist/esm/raw/dashboard/x/Dashboard_types.gen";
