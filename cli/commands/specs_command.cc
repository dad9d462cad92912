// assay specs
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/app.h"
#include "cli/views/answer_view.h"
#include "common/text.h"
#include "common/units.h"
#include "predict/hardware.h"
#include "roofline/published.h"
#include "roofline/spec_sheet.h"

namespace assay::cli {
namespace {

using predict::Grid;
using predict::Unit;

struct SpecsOptions {
  std::vector<std::string> gpus;
  std::vector<std::string> prices;  // "H200 SXM=3.50 USD".
  OutputFormat format = OutputFormat::kTable;
};

Grid::Cell CellOf(const std::optional<double>& value) {
  if (!value) return std::monostate();
  return *value;
}

std::optional<double> PeakOf(const GpuSpec& spec, const char* column) {
  const auto found = spec.flops.find(column);
  if (found == spec.flops.end()) return std::nullopt;
  return found->second;
}

std::optional<double> Over(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b || *b <= 0) return std::nullopt;
  return *a / *b;
}

// Prices of an hour, by sheet.
struct Prices {
  std::map<std::string, double> by_sheet;
  std::string currency;
};

Result<Prices> ReadPrices(const std::vector<std::string>& texts) {
  Prices prices;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) {
      return InvalidArgument("--price: " + Quote(text) + " must be GPU=PRICE")
          .WithHint("for example --price \"H200 SXM=3.50 USD\"");
    }
    const Result<const GpuSpec*> spec = predict::FindSheet(text.substr(0, equals));
    if (!spec.ok()) {
      return InvalidArgument("--price: " + spec.status().message()).WithHint(spec.status().hint());
    }
    const Result<predict::Quantity> price =
        predict::ParseQuantity(text.substr(equals + 1), Unit::kMoneyPerHour);
    if (!price.ok()) return InvalidArgument("--price: " + price.status().message());
    if (!(price->value > 0)) return InvalidArgument("--price: " + Quote(text) + " must be above 0");
    if (!prices.currency.empty() && prices.currency != price->currency) {
      return InvalidArgument("--price: " + Quote(text) + " is in " + price->currency +
                             ", another price in " + prices.currency)
          .WithHint("give all prices in one currency");
    }
    prices.currency = price->currency;
    prices.by_sheet[(*spec)->name] = price->value;
  }
  return prices;
}

Result<std::vector<const GpuSpec*>> ChosenSheets(const SpecsOptions& options) {
  std::vector<const GpuSpec*> chosen;
  for (const std::string& name : options.gpus) {
    const Result<const GpuSpec*> spec = predict::FindSheet(name);
    if (!spec.ok()) {
      return InvalidArgument("--gpu: " + spec.status().message()).WithHint(spec.status().hint());
    }
    if (std::find(chosen.begin(), chosen.end(), *spec) == chosen.end()) chosen.push_back(*spec);
  }
  if (!options.gpus.empty()) return chosen;
  for (const GpuSpec& spec : SpecSheets()) chosen.push_back(&spec);
  return chosen;
}

// One row per GPU.
Grid SheetGrid(const std::vector<const GpuSpec*>& specs, const Prices& prices) {
  Grid grid;
  grid.columns = {{"gpu", Unit::kNumber},
                  {"memory", Unit::kBytes},
                  {"bandwidth", Unit::kBytesPerSecond},
                  {"bf16", Unit::kFlopPerSecond},
                  {"ridge", Unit::kFlopPerByte},
                  {"fp8", Unit::kFlopPerSecond},
                  {"link_one_way", Unit::kBytesPerSecond},
                  {"power", Unit::kWatts},
                  {"certainty", Unit::kNumber},
                  {"fp4", Unit::kFlopPerSecond},
                  {"int8", Unit::kFlopPerSecond},
                  {"fp16", Unit::kFlopPerSecond},
                  {"tf32", Unit::kFlopPerSecond},
                  {"fp32", Unit::kFlopPerSecond},
                  {"fp64_tensor", Unit::kFlopPerSecond},
                  {"fp64_vector", Unit::kFlopPerSecond},
                  {"l2", Unit::kBytes},
                  {"sm", Unit::kCount},
                  {"source", Unit::kNumber}};
  if (!prices.by_sheet.empty()) {
    grid.columns.insert(grid.columns.begin() + 1, {{"price", Unit::kMoneyPerHour},
                                                   {"flops_per_money", Unit::kFlop},
                                                   {"bytes_per_money", Unit::kBytes}});
  }
  constexpr double kHour = 3600;
  for (const GpuSpec* spec : specs) {
    const std::optional<double> bf16 = PeakOf(*spec, "bf16");
    const std::optional<double>& bandwidth = spec->memory_bytes_per_second;
    std::vector<Grid::Cell> row = {spec->name};
    if (!prices.by_sheet.empty()) {
      const auto price = prices.by_sheet.find(spec->name);
      std::optional<double> per_second;
      if (price != prices.by_sheet.end()) per_second = price->second / kHour;
      row.push_back(per_second ? Grid::Cell(*per_second * kHour) : Grid::Cell());
      row.push_back(CellOf(Over(bf16, per_second)));
      row.push_back(CellOf(Over(bandwidth, per_second)));
    }
    const auto count = [](const auto& value) -> std::optional<double> {
      if (!value) return std::nullopt;
      return static_cast<double>(*value);
    };
    for (const std::optional<double>& value :
         {spec->memory_bytes, bandwidth, bf16, Over(bf16, bandwidth), PeakOf(*spec, "fp8"),
          spec->nvlink_bytes_per_second, spec->tdp_watts}) {
      row.push_back(CellOf(value));
    }
    row.emplace_back(spec->certainty);
    for (const char* column :
         {"fp4", "int8", "fp16", "tf32", "fp32", "fp64_tensor", "fp64_vector"}) {
      row.push_back(CellOf(PeakOf(*spec, column)));
    }
    row.push_back(CellOf(count(spec->l2_bytes)));
    row.push_back(CellOf(count(spec->sm_count)));
    row.emplace_back(spec->source);
    grid.rows.push_back(std::move(row));
  }
  return grid;
}

// One column per GPU, for few.
Grid SideBySide(const Grid& rows, const std::string& currency) {
  Grid grid;
  grid.columns = {{"figure", Unit::kNumber}};
  for (const auto& row : rows.rows) {
    grid.columns.push_back({std::get<std::string>(row[0]), Unit::kNumber});
  }
  for (size_t i = 1; i < rows.columns.size(); ++i) {
    std::string name = rows.columns[i].name;
    std::replace(name.begin(), name.end(), '_', ' ');
    std::vector<Grid::Cell> line = {name};
    bool known = false;
    for (const auto& row : rows.rows) {
      const std::string text = GridCellText(row[i], rows.columns[i].unit, currency);
      known = known || !text.empty();
      line.emplace_back(text);
    }
    if (known) grid.rows.push_back(std::move(line));
  }
  return grid;
}

Grid PublishedGrid(const std::vector<const GpuSpec*>& specs) {
  Grid grid;
  grid.title = "Published figures";
  grid.columns = {{"gpu", Unit::kNumber},       {"value", Unit::kNumber}, {"metric", Unit::kNumber},
                  {"benchmark", Unit::kNumber}, {"case", Unit::kNumber},  {"kind", Unit::kNumber},
                  {"software", Unit::kNumber},  {"note", Unit::kNumber}};
  for (const GpuSpec* spec : specs) {
    for (const PublishedFigure* figure : PublishedOf(spec->name)) {
      const std::string gpus =
          figure->gpu_count > 1 ? std::to_string(figure->gpu_count) + " x " : "";
      grid.rows.push_back({gpus + figure->gpu, NumberText(figure->value) + " " + figure->unit,
                           figure->metric, figure->benchmark, figure->parameters, figure->kind,
                           figure->software, figure->note});
    }
  }
  return grid;
}

Result<ExitCode> ShowSpecs(Context& /*context*/, const SpecsOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<const GpuSpec*> specs, ChosenSheets(options));
  ASSAY_ASSIGN_OR_RETURN(const Prices prices, ReadPrices(options.prices));
  predict::Answer answer;
  answer.currency = prices.currency;
  const Grid rows = SheetGrid(specs, prices);
  constexpr size_t kFew = 4;
  const bool few = !options.gpus.empty() && specs.size() <= kFew;
  if (options.format == OutputFormat::kTable && few) {
    answer.grids.push_back(SideBySide(rows, prices.currency));
    Grid published = PublishedGrid(specs);
    if (!published.rows.empty()) answer.grids.push_back(std::move(published));
  } else {
    answer.grids.push_back(rows);
  }
  if (options.format == OutputFormat::kTable) {
    answer.notes = {
        "Peaks are dense, without 2:4 sparsity. Links count one direction. Certainty \"recalled\": "
        "not found in a vendor's sheet."};
    for (const GpuSpec* spec : specs) {
      if (few && !spec->note.empty()) answer.notes.push_back(spec->name + ": " + spec->note + ".");
    }
  }
  PrintAnswer({"specs", {}, std::move(answer)}, options.format);
  return kExitDone;
}

}  // namespace

void AddSpecsCommand(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("specs", "Show spec sheets of GPUs side by side");
  command->footer(
      "RIDGE is bf16 peak / bandwidth: work with fewer FLOPs per byte is bound by memory. With "
      "prices, FLOPs and bytes per unit of money are at the peaks. \"assay plan compare\" says at "
      "which intensity two GPUs cost the same.\nExample:\n"
      "  assay specs --gpu H200 --gpu A100-SXM4-80GB --price \"H200 SXM=3.50 USD\"");
  auto options = std::make_shared<SpecsOptions>();
  command->add_option("--gpu", options->gpus, "Only this GPU; may be repeated")
      ->expected(1)
      ->take_all()
      ->check(NotEmpty());
  command->add_option("--price", options->prices, "Price of an hour, as GPU=PRICE; may be repeated")
      ->expected(1)
      ->take_all();
  AddOutputOption(*command, options->format);
  OnRun(*command, context, options, ShowSpecs);
}

}  // namespace assay::cli
