// Outputs of nccl-tests with the numbers of a made-up machine, printed as its versions
// print them (writeBenchmarkLineBody and getFloatStr of src/util.cu, BenchTime of
// src/common.cu, and getBw and getCollByteCount of each program).
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace assay::imports {

// How numbers are printed: until 2.16, since 2.17, and since 2.18.
enum class NcclStyle { kFixed, kByDigits, kByWidth };

struct NcclProgram {
  const char* program;
  bool shared;  // The count is a rank's share.
  int passes;   // busbw = algbw * passes (n - 1) / n; 0: algbw.
  const char* op;
  int root;
};

inline constexpr NcclProgram kNcclPrograms[] = {
    {"all_gather_perf", true, 1, "none", -1},
    {"all_reduce_perf", false, 2, "sum", -1},
    {"alltoall_perf", true, 1, "none", -1},
    {"broadcast_perf", false, 0, "none", 0},
    {"gather_perf", true, 1, "", 0},
    {"reduce_perf", false, 0, "max", 0},
    {"reduce_scatter_perf", true, 1, "avg", -1},
    {"scatter_perf", true, 1, "", 0},
    {"sendrecv_perf", false, 0, "sum", -1},
};

// One timing of a row, exact.
struct NcclTruth {
  int64_t bytes = 0;
  double microseconds = 0;
  double algorithm = 0;  // GB/s.
  double bus = 0;        // GB/s.
};

struct NcclOutput {
  std::string text;
  std::vector<NcclTruth> truth;  // Out of and in place, row by row.
};

inline std::string Formatted(const char* form, int width, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), form, width, value);
  return text;
}

inline std::string NcclNumber(NcclStyle style, double value, int width) {
  if (style == NcclStyle::kFixed) {
    const bool time = width == 7;
    const char* const form = time && value >= 10000 ? "%*.0f"
                             : time && value >= 100 ? "%*.1f"
                                                    : "%*.2f";
    return Formatted(form, width, value);
  }
  const char* const exponent = width >= 7 ? "%*.1e" : "%*.0e";
  if (style == NcclStyle::kByWidth) {
    for (const char* form : {"%*.2f", "%*.1f", "%*.0f"}) {
      const std::string text = Formatted(form, width, value);
      if (static_cast<int>(text.size()) <= width) return text;
    }
    return Formatted(exponent, width, value);
  }
  int digits = 0;
  for (double least = 1; value >= least; least *= 10) ++digits;
  return Formatted(digits < width - 2   ? "%*.2f"
                   : digits < width - 1 ? "%*.1f"
                   : digits < width + 1 ? "%*.0f"
                                        : exponent,
                   width, value);
}

// One run of `program` on `ranks` GPUs of one node. `times`: microseconds by size, twice.
inline NcclOutput NcclRunText(const NcclProgram& program, int ranks, NcclStyle style,
                              const std::vector<int64_t>& sizes, const std::vector<double>& times) {
  NcclOutput output;
  char line[512];
  const auto add = [&](const char* form, auto... values) {
    std::snprintf(line, sizeof(line), form, values...);
    output.text += line;
  };
  if (style != NcclStyle::kFixed) {
    add("# nccl-tests version 2.17.6 nccl-headers=%d nccl-library=%d\n", 22606, 22606);
    add("# Collective test starting: %s\n", program.program);
  }
  add("# nThread %d nGpus %d minBytes %d maxBytes %d step: %d(factor) warmup iters: %d iters: %d "
      "agg iters: %d validation: %d graph: %d\n#\n# Using devices\n",
      1, ranks, 8, 8, 2, 1, 20, 1, 1, 0);
  for (int rank = 0; rank < ranks; ++rank) {
    add("#  Rank %2d Group %2d Pid %6d on %10s device %2d [%04x:%02x:%02x] %s\n", rank, 0, 7,
        "host", rank, 0, 4 + rank, 0, "NVIDIA H100 80GB HBM3");
  }
  add("#\n# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s %6s  %7s  %6s  %6s %6s\n", "size", "count",
      "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time", "algbw", "busbw",
      "#wrong");
  double sum = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t count = sizes[i] / 4 / (program.shared ? ranks : 1);
    const int64_t bytes = count * 4 * (program.shared ? ranks : 1);
    add("%12li  %12li  %8s  %6s  %6i", bytes, count, "float", program.op, program.root);
    for (const double microseconds : {times[2 * i], times[2 * i + 1]}) {
      NcclTruth& truth = output.truth.emplace_back();
      truth.bytes = bytes;
      truth.microseconds = microseconds;
      truth.algorithm = static_cast<double>(bytes) / 1e9 / (microseconds * 1e-6);
      truth.bus = truth.algorithm *
                  (program.passes == 0 ? 1.0 : 1.0 * program.passes * (ranks - 1) / ranks);
      sum += truth.bus;
      add("  %7s  %6s  %6s  %5g", NcclNumber(style, microseconds, 7).c_str(),
          NcclNumber(style, truth.algorithm, 6).c_str(), NcclNumber(style, truth.bus, 6).c_str(),
          0.0);
    }
    add("\n%s", "");
  }
  add("# Out of bounds values : %d OK\n", 0);
  add("# Avg bus bandwidth    : %g \n#\n", sum / (2.0 * static_cast<double>(sizes.size())));
  return output;
}

}  // namespace assay::imports
