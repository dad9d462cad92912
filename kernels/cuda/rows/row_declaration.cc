#include "kernels/cuda/rows/row_declaration.h"

namespace assay {
namespace {

constexpr int64_t kMaxExtent = int64_t{1} << 36;
constexpr int64_t kMaxElements = int64_t{1} << 40;

}  // namespace

Parameter ColumnsParameter() {
  return Parameter::Integer("columns")
      .Default(8192)
      .AtLeast(1)
      .AtMost(kMaxExtent)
      .Describe("elements of a row");
}

std::vector<ParameterSpec> RowParameters(const Parameter& columns,
                                         const std::vector<ParameterSpec>& own) {
  std::vector<ParameterSpec> all = {
      Parameter::Integer("rows")
          .Default(8192)
          .AtLeast(1)
          .AtMost(kMaxExtent)
          .Describe("rows of the matrix"),
      columns,
      DtypeParameter({"fp32", "bf16", "fp16"}),
  };
  all.insert(all.end(), own.begin(), own.end());
  all.insert(all.end(),
             {FillParameter(), CacheParameter("one set of matrices"), LaunchParameter()});
  return all;
}

std::vector<Metric> RowMetrics() {
  return {Metric::Rate("bandwidth", "GB/s", Quantity::kBytes,
                       "bytes per second of the input, the output and the weights")};
}

Work RowWork(const ParameterMap& parameters, int weights, double flops) {
  const double columns = Number(parameters, "columns");
  const double elements = Number(parameters, "rows") * columns;
  Work work;
  work.flops = flops * elements;
  work.peak = Peak::kFp32;
  work.bytes = (2 * elements + weights * columns) *
               static_cast<double>(ElementBytes(Word(parameters, "dtype")));
  work.fixed_seconds = LaunchSeconds(parameters);
  return work;
}

Status ValidateRows(const ParameterMap& parameters) {
  const int64_t rows = Integer(parameters, "rows");
  if (rows <= kMaxElements / Integer(parameters, "columns")) return Status::Ok();
  return InvalidParameter("rows", "is " + std::to_string(rows) +
                                      "; rows times columns must be at most " +
                                      std::to_string(kMaxElements));
}

Declaration RowDeclaration(const std::string& name, int weights, int flops) {
  return Declaration(name, Resource::kGpu)
      // The kernels' history: version 2 reads long rows only once, version 3 leaves few lanes idle
      // for short rows, and version 4 loads the next two long rows while it processes one.
      .Version(4)
      .Parameters(RowParameters(ColumnsParameter()))
      .Metrics(RowMetrics())
      .Model("bytes = (2 x rows + " + std::to_string(weights) +
             ") x columns x element size; FLOPs = " + std::to_string(flops) +
             " x rows x columns; time = bytes / bandwidth + 2.5 us (0.6 us in a graph); epsilon = "
             "1e-5")
      .WorkOf([weights, flops](const ParameterMap& parameters, int) {
        return RowWork(parameters, weights, flops);
      })
      .Validate(ValidateRows)
      .SelfTest({{"rows", "37"}, {"columns", "1023"}})
      .Refuses({{"rows", "1048577"}, {"columns", "1048576"}}, "rows");
}

}  // namespace assay
