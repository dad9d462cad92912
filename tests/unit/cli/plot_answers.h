// Answers of a coordinator for `assay plot`.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/analysis_service.pb.h"
#include "assay/v1/result_service.pb.h"

namespace assay::cli {

inline void AddRoof(v1::Roofline& roofline, const std::string& name, bool is_bandwidth,
                    const std::string& basis, double value) {
  v1::Roof& roof = *roofline.add_roofs();
  roof.set_name(name);
  roof.set_is_bandwidth(is_bandwidth);
  roof.set_basis(basis);
  roof.set_value(value);
  if (basis == "measured") roof.set_result_id("0191a2b3");
}

inline void AddPoint(v1::Roofline& roofline, const std::string& benchmark, double intensity,
                     double flops, const std::string& regime) {
  v1::RooflinePoint& point = *roofline.add_points();
  point.set_benchmark(benchmark);
  (*point.mutable_parameters())["m"] = "4096";
  (*point.mutable_parameters())["dtype"] = "bf16";
  point.set_arithmetic_intensity(intensity);
  point.set_flops_per_second(flops);
  point.set_flops_per_second_low(0.98 * flops);
  point.set_flops_per_second_high(1.02 * flops);
  point.set_regime(regime);
  point.set_compute_roof("bf16");
  point.set_efficiency_spec(flops / 989e12);
  point.set_node_name("g1");
  point.set_result_id("r-" + benchmark);
}

// An H200 with a few results below each roof.
inline v1::GetRooflineResponse RooflineAnswer() {
  v1::GetRooflineResponse response;
  v1::Roofline& roofline = *response.add_rooflines();
  roofline.set_gpu_model("H200");
  roofline.set_gpu_form_factor("SXM");
  roofline.set_spec("H200 SXM");
  roofline.set_spec_certainty("sheet");
  AddRoof(roofline, "HBM", true, "sheet", 4.8e12);
  AddRoof(roofline, "bf16", false, "sheet", 989e12);
  AddRoof(roofline, "bf16", false, "clock", 850e12);
  AddRoof(roofline, "bf16", false, "measured", 712e12);
  AddRoof(roofline, "HBM", true, "measured", 4.3e12);
  AddPoint(roofline, "gemm", 1365, 712e12, "compute");
  AddPoint(roofline, "gemm", 341, 430e12, "compute");
  AddPoint(roofline, "gemv", 1, 3.9e12, "memory");
  AddPoint(roofline, "softmax", 2.5, 8e12, "memory");
  AddPoint(roofline, "rmsnorm", 1.25, 0.2e12, "launch");
  AddPoint(roofline, "attention", 60, 90e12, "");
  return response;
}

inline void AddText(v1::ResultColumn& column, const std::string& text) {
  int index = 0;
  while (index < column.texts_size() && column.texts(index) != text) ++index;
  if (index == column.texts_size()) column.add_texts(text);
  column.add_indices(index);
}

// Makes the table that `assay plot bandwidth` asks for.
class BandwidthAnswer {
 public:
  BandwidthAnswer() {
    for (const char* field :
         {"benchmark", "metric", "unit", "parameters", "median", "gpu.model", "gpu.count",
          "gpu.form_factor", "cpu.model", "driver", "model_knee_bytes"}) {
      table_.add_columns()->set_field(field);
    }
  }

  void Add(const std::string& benchmark, const std::string& metric, const std::string& parameters,
           double median, const std::string& driver, double knee) {
    AddText(*table_.mutable_columns(0), benchmark);
    AddText(*table_.mutable_columns(1), metric);
    AddText(*table_.mutable_columns(2), "GB/s");
    AddText(*table_.mutable_columns(3), parameters);
    table_.mutable_columns(4)->add_numbers(median);
    AddText(*table_.mutable_columns(5), "H200");
    table_.mutable_columns(6)->add_numbers(8);
    AddText(*table_.mutable_columns(7), "SXM");
    table_.mutable_columns(8)->add_indices(-1);
    AddText(*table_.mutable_columns(9), driver);
    table_.mutable_columns(10)->add_numbers(knee);
    table_.set_row_count(table_.row_count() + 1);
  }

  // Adds all sizes from 1 KiB to 1 GiB, as a link with this latency and bandwidth measures them.
  void AddSweep(const std::string& driver, double bandwidth) {
    constexpr double kLatency = 1e-5;
    for (int power = 10; power <= 30; power += 2) {
      const double bytes = 1 << power;
      const double rate = bytes / (kLatency + bytes / bandwidth) / 1e9;
      const std::string parameters = "bytes=" + std::to_string(1 << power) + ";dtype=bf16;ranks=8";
      Add("all_reduce", "bus_bandwidth", parameters, 0.9 * rate, driver, kLatency * bandwidth);
      Add("all_reduce", "bus_bandwidth", parameters, rate, driver, kLatency * bandwidth);
      Add("all_reduce", "bandwidth", parameters, rate / 2, driver, kLatency * bandwidth);
    }
  }

  const v1::TabulateResultsResponse& table() const { return table_; }

 private:
  v1::TabulateResultsResponse table_;
};

}  // namespace assay::cli
