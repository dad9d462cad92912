// What the flags of a result mean. docs/reference/result-marks.md lists them too.

export interface Mark {
  // The letter that the command line prints.
  letter: string;
  text: string;
}

export const MARKS: Record<string, Mark> = {
  above_ceiling: {
    letter: "E",
    text: "faster than its measured ceiling: that was disturbed, or caches helped",
  },
  below_model: {
    letter: "K",
    text: "far slower than this machine's times of other sizes predict (alpha-beta model)",
  },
  busy_host: { letter: "B", text: "others used more than a tenth of the CPUs' time" },
  disk_free: { letter: "D", text: "little of the disk was free for results" },
  gpu_processes: { letter: "P", text: "other processes were on the GPU before the job" },
  graph: {
    letter: "G",
    text: "timed as replays of a CUDA graph, without the cost of launches",
  },
  hot_cache: { letter: "H", text: "every iteration found its inputs in the cache" },
  imported: { letter: "I", text: "another program measured it, and Assay read its output" },
  memory_free: { letter: "F", text: "little of the host's memory was free before the job" },
  noisy: { letter: "N", text: "the median is known to no better than 2.5%" },
  off_series: {
    letter: "O",
    text: "over 2.5%, and over its own interval, away from the other listed results of its series",
  },
  pcie_generation: { letter: "L", text: "PCIe ran below the GPU's highest generation" },
  pcie_width: { letter: "W", text: "PCIe had fewer lanes than the GPU takes" },
  quick: {
    letter: "Q",
    text: "effort: quick; measured for about 1 s, so its interval is wider",
  },
  recalled_spec: {
    letter: "R",
    text: "the GPU's spec sheet was not checked against the vendor's",
  },
  row_remap: {
    letter: "X",
    text: "a faulty row of the GPU's memory waits for a reset to be replaced",
  },
  shared_gpu: { letter: "S", text: "other processes were on the GPU" },
  simulated: { letter: "M", text: "no hardware was measured" },
  throttled: { letter: "T", text: "heat, power or a fault held the clocks down" },
  throttled_before: { letter: "C", text: "the clocks were held down before the job" },
  unsettled: { letter: "U", text: "times or power had not settled when timing began" },
  unverified: {
    letter: "V",
    text: "the program's output does not say that results were checked",
  },
  zeros: { letter: "Z", text: "all inputs were zero, which takes less power than data" },
};
