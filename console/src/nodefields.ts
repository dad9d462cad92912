// The fields of nodes that a filter may use, with the values of this fleet.
// docs/reference/filter-fields.md lists them too.

import type { FleetNodeJson } from "proto/node_service_pb";
import type { FilterField } from "./complete";

const FIELDS: readonly FilterField[] = [
  { field: "name", description: "name of the node" },
  {
    field: "state",
    description: "connected or disconnected",
    values: ["connected", "disconnected"],
  },
  { field: "provider", description: "who rents out the node" },
  { field: "region", description: "where the node is" },
  { field: "label", description: "labels of the agent, or as operators have set them", type: "map" },
  { field: "gpu.model", description: "models of the GPUs" },
  { field: "gpu.form_factor", description: "SXM or PCIe" },
  { field: "gpu.count", description: "number of GPUs", example: ">= 8" },
  { field: "gpu.name", description: "names of the GPUs as NVML reports them", example: ": H200" },
  { field: "gpu.uuid", description: "UUIDs of the GPUs" },
  { field: "gpu.mig_profile", description: "profiles of MIG instances" },
  { field: "gpu.compute_capability", description: "compute capabilities", example: ">= 9.0" },
  { field: "driver", description: "version of the NVIDIA driver" },
  { field: "driver_cuda", description: "newest CUDA version of the driver", example: ">= 13" },
  { field: "cuda", description: "version of the CUDA runtime", example: ">= 13" },
  { field: "nccl", description: "version of NCCL", example: ">= 2.28" },
  { field: "cublas", description: "version of cuBLAS", example: ">= 13.1" },
  { field: "agent_version", description: "version of the agent" },
  { field: "benchmark", description: "benchmarks that the node supports" },
  { field: "price_per_hour", description: "price of the node", example: "< 30" },
  { field: "simulated", description: "whether the node is simulated", values: ["true", "false"] },
  { field: "id", description: "id of the node" },
  { field: "hostname", description: "name of the host" },
  { field: "kernel", description: "version of the operating system's kernel" },
  { field: "os", description: "name of the operating system", example: ": Debian" },
  { field: "cpu.model", description: "model of the CPU", example: ": EPYC" },
  { field: "cpu.cores", description: "physical cores", example: ">= 64" },
  { field: "cpu.threads", description: "hardware threads", example: ">= 128" },
  { field: "cpu.sockets", description: "number of sockets" },
  { field: "memory_bytes", description: "memory of the host", example: ">= 256000000000" },
];

const MAX_VALUE_LENGTH = 80;

export function nodeFields(nodes: readonly FleetNodeJson[]): FilterField[] {
  const values = new Map<string, Set<string>>();
  const add = (field: string, value: string | undefined): void => {
    if (!value || value.length > MAX_VALUE_LENGTH) return;
    let found = values.get(field);
    if (!found) values.set(field, (found = new Set()));
    found.add(value);
  };
  for (const node of nodes) {
    add("name", node.name);
    add("provider", node.provider);
    add("region", node.region);
    add("driver", node.driverVersion);
    add("agent_version", node.agentVersion);
    add("cpu.model", node.cpuModel);
    for (const [name, value] of Object.entries(node.labels ?? {})) add(`label.${name}`, value);
    for (const gpu of node.gpus ?? []) {
      add("gpu.model", gpu.model);
      add("gpu.form_factor", gpu.formFactor);
    }
  }
  const labels = [...values.keys()]
    .filter((field) => field.startsWith("label."))
    .sort()
    .map((field) => ({ field, description: "label" }));
  return [...FIELDS, ...labels].map((field) => {
    const found = values.get(field.field);
    return found ? { ...field, values: [...found].sort() } : field;
  });
}
