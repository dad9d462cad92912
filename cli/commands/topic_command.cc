#include "cli/commands/topic_command.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands/fleet_figures.h"
#include "cli/commands/model_file.h"
#include "cli/commands/predict_check.h"
#include "cli/views/answer_view.h"
#include "common/text.h"
#include "predict/topic.h"

namespace assay::cli {
namespace {

using predict::Input;
using predict::Topic;

struct TopicOptions {
  const Topic* topic = nullptr;
  const CLI::App* parent = nullptr;
  std::map<std::string, std::string> inputs;  // By the input's name.
  std::vector<std::string> pairs;             // "batch=32".
  FigureOptions figures;
  OutputFormat format = OutputFormat::kTable;
};

std::string OptionName(const std::string& input) {
  std::string name = "--" + input;
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

bool HasKind(const Topic& topic, std::initializer_list<Input::Kind> kinds) {
  return std::any_of(topic.inputs.begin(), topic.inputs.end(), [&](const Input& input) {
    return std::find(kinds.begin(), kinds.end(), input.kind) != kinds.end();
  });
}

// Says which option a refusal is about.
Status NameOption(const Topic& topic, const Status& status) {
  if (status.violations().empty()) return status;
  const Violation& violation = status.violations().front();
  const std::string name =
      topic.Find(violation.field) == nullptr ? violation.field : OptionName(violation.field);
  return InvalidArgument(name + ": " + violation.description).WithHint(status.hint());
}

// Returns all inputs that the user gave, as options or as pairs.
Result<std::map<std::string, std::string>> GivenInputs(const TopicOptions& options) {
  std::map<std::string, std::string> inputs = options.inputs;
  for (const std::string& pair : options.pairs) {
    const size_t equals = pair.find('=');
    const bool names_model = equals == std::string::npos && options.topic->Find("model") != nullptr;
    if (names_model && inputs.emplace("model", pair).second) continue;
    if (equals == std::string::npos) {
      return InvalidArgument("unexpected argument " + Quote(pair) +
                             "; inputs are options or name=value, such as batch=32");
    }
    std::string name = pair.substr(0, equals);
    std::replace(name.begin(), name.end(), '-', '_');
    if (!inputs.emplace(name, pair.substr(equals + 1)).second) {
      return InvalidArgument("the input " + Quote(name) + " is given twice");
    }
  }
  return inputs;
}

// Adds the inputs that a model file or a node implies to `inputs`, unless they were given.
Status AddImplied(Context& context, const TopicOptions& options,
                  std::map<std::string, std::string>& inputs) {
  if (options.figures.model_files.size() == 1 && options.topic->Find("model") != nullptr &&
      inputs.count("model") == 0) {
    ASSAY_ASSIGN_OR_RETURN(const predict::ModelShape shape,
                           ReadModelFile(options.figures.model_files[0]));
    inputs["model"] = shape.name;
  }
  if (options.figures.node.empty()) return Status::Ok();
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  ASSAY_ASSIGN_OR_RETURN(const std::string sheet, SheetOfNode(client, options.figures));
  const auto gpu = inputs.find("gpu");
  if (gpu == inputs.end()) {
    inputs["gpu"] = sheet;
    return Status::Ok();
  }
  const Result<const GpuSpec*> named = predict::FindSheet(gpu->second);
  if (named.ok() && (*named)->name != sheet) {
    return InvalidArgument("--node: " + Quote(options.figures.node) + " has the GPU " + sheet +
                           ", not " + (*named)->name)
        .WithHint("leave --gpu out, or name another node");
  }
  return Status::Ok();
}

// Returns an error if options precede the topic on the command line, because there they would apply
// to --check instead of the topic.
Status CheckPosition(const TopicOptions& options) {
  for (const char* name : {"--output", "--simulated"}) {
    const CLI::Option* const option = options.parent->get_option_no_throw(name);
    if (option == nullptr || option->count() == 0) continue;
    return InvalidArgument(std::string(name) + ": must follow the topic")
        .WithHint("for example: assay " + options.topic->command + " " + options.topic->name +
                  " ... " + name);
  }
  return Status::Ok();
}

Result<ExitCode> AskTopic(Context& context, const TopicOptions& options) {
  ASSAY_RETURN_IF_ERROR(CheckPosition(options));
  const Topic& topic = *options.topic;
  ASSAY_ASSIGN_OR_RETURN(auto inputs, GivenInputs(options));
  ASSAY_RETURN_IF_ERROR(AddImplied(context, options, inputs));
  const bool asks = HasKind(topic, {Input::Kind::kGpu, Input::Kind::kGpus});
  if (asks && !options.figures.offline) {
    // Check the connection options first, because an error in them would otherwise be reported as
    // an error in one of the topic's inputs.
    const Result<Client> client = Client::ToCoordinator(context.client);
    if (!client.ok()) return client.status();
  }
  ASSAY_ASSIGN_OR_RETURN(const predict::World world, MakeWorld(context, options.figures));
  const Result<predict::Arguments> arguments = Read(topic, inputs, world);
  if (!arguments.ok()) return NameOption(topic, arguments.status());
  Result<predict::Answer> answer = Evaluate(topic, *arguments);
  if (!answer.ok()) return NameOption(topic, answer.status());
  PrintAnswer(
      {topic.command + " " + topic.name, DescribeInputs(topic, *arguments), *std::move(answer)},
      options.format);
  return kExitDone;
}

void AddInput(CLI::App& command, const Input& input, TopicOptions& options) {
  std::string help = input.help;
  if (!input.choices.empty()) help += (help.empty() ? "" : ": ") + Join(input.choices, " | ");
  // A symbol such as "h" stays as it is.
  if (help.size() > 1 && std::islower(help[1]) != 0) {
    help[0] = static_cast<char>(std::toupper(help[0]));
  }
  if (input.kind == Input::Kind::kFlag) {
    command.add_flag_callback(
        OptionName(input.name), [&options, name = input.name] { options.inputs[name] = "true"; },
        help);
    return;
  }
  CLI::Option* option = command.add_option_function<std::string>(
      OptionName(input.name),
      [&options, name = input.name](const std::string& text) { options.inputs[name] = text; },
      help);
  option->type_name(input.kind == Input::Kind::kQuantity ? std::string(UnitWord(input.unit))
                                                         : "TEXT");
  if (!input.fallback.empty()) option->default_str(input.fallback);
  // Required inputs may also be given as name=value, so Read() checks them.
  if (input.required) option->description(help + " (required)");
}

}  // namespace

void AddTopic(CLI::App& parent, Context& context, const Topic& topic) {
  CLI::App* command = parent.add_subcommand(topic.name, topic.summary);
  std::string footer = topic.about;
  if (!topic.example.empty()) {
    footer += (footer.empty() ? "" : "\n") + std::string("Example:\n  assay ") + topic.command +
              " " + topic.name + " " + topic.example;
  }
  command->footer(footer);
  auto options = std::make_shared<TopicOptions>();
  options->topic = &topic;
  options->parent = &parent;
  for (const Input& input : topic.inputs) AddInput(*command, input, *options);
  command->add_option("inputs", options->pairs, "Inputs as name=value instead of options")
      ->type_name("NAME=VALUE");
  AddFigureOptions(*command, options->figures,
                   HasKind(topic, {Input::Kind::kGpu, Input::Kind::kGpus}),
                   HasKind(topic, {Input::Kind::kModel}));
  AddOutputOption(*command, options->format);
  OnRun(*command, context, options, AskTopic);
}

}  // namespace assay::cli
