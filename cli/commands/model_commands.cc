// assay model list | show
#include <unistd.h>

#include <memory>

#include "cli/commands/app.h"
#include "cli/commands/topic_command.h"
#include "cli/views/answer_view.h"
#include "predict/model_shape.h"

namespace assay::cli {
namespace {

struct ModelListOptions {
  OutputFormat format = OutputFormat::kTable;
};

predict::Answer ModelList() {
  using predict::Unit;
  predict::Answer answer;
  predict::Grid& grid = answer.grids.emplace_back();
  grid.columns = {{"model", Unit::kNumber},   {"parameters", Unit::kParameters},
                  {"bf16", Unit::kBytes},     {"kv_per_token", Unit::kBytes},
                  {"context", Unit::kCount},  {"active", Unit::kParameters},
                  {"layers", Unit::kCount},   {"d", Unit::kCount},
                  {"heads", Unit::kCount},    {"kv_heads", Unit::kCount},
                  {"head_dim", Unit::kCount}, {"ff", Unit::kCount},
                  {"vocab", Unit::kCount},    {"source", Unit::kNumber}};
  constexpr double kBf16 = 2;
  const auto number = [](int64_t value) { return static_cast<double>(value); };
  for (const predict::ModelShape& shape : predict::ModelShapes()) {
    predict::Grid::Cell active;
    if (shape.experts > 0) active = number(CountActiveParameters(shape));
    grid.rows.push_back({shape.name, number(shape.parameters), kBf16 * number(shape.parameters),
                         KvBytesPerToken(shape, kBf16), number(shape.positions), active,
                         number(shape.layers), number(shape.d), number(shape.heads),
                         number(shape.kv_heads), number(shape.head_dim),
                         number(shape.experts > 0 ? shape.expert_ff : shape.ff),
                         number(shape.vocab), shape.source});
  }
  return answer;
}

Result<ExitCode> ListModels(Context& /*context*/, const ModelListOptions& options) {
  PrintAnswer({"model list", {}, ModelList()}, options.format);
  return kExitDone;
}

}  // namespace

void AddModelCommands(CLI::App& app, Context& context) {
  CLI::App* model = app.add_subcommand("model", "Show shapes of language models");
  model->require_subcommand(1);
  CLI::App* list = model->add_subcommand("list", "List the models that predictions know");
  list->footer(
      "BF16 is the size of the weights. KV PER TOKEN is the cache of one token in 16 bits. Another "
      "model can be given as its config.json: see --model-file of \"assay predict decode\".");
  auto options = std::make_shared<ModelListOptions>();
  AddOutputOption(*list, options->format);
  OnRun(*list, context, options, ListModels);
  AddTopic(*model, context, *predict::FindTopic("model", "show"));
}

}  // namespace assay::cli
