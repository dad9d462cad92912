#include "predict/topic.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/numbers.h"
#include "common/text.h"
#include "predict/topics/topics.h"

namespace assay::predict {
namespace {

constexpr char kNoGpu[] = "the GPU (none is named)";

bool IsWhole(Unit unit) { return unit == Unit::kCount; }

std::string BoundsText(const Input& input) {
  const auto number = [&](double value) { return FormatExact(value); };
  std::string text =
      input.above_least ? "above " + number(input.least) : "at least " + number(input.least);
  if (input.most < 1e18) text += " and at most " + number(input.most);
  return text;
}

}  // namespace

Status Refuse(const std::string& input, const std::string& problem, const std::string& remedy) {
  const Status status =
      InvalidArgument(input + ": " + problem).WithViolations({{input, problem, 0}});
  return remedy.empty() ? status : status.WithHint(remedy);
}

Input Input::Of(std::string name, Unit unit) {
  Input input;
  input.name = std::move(name);
  input.unit = unit;
  if (IsWhole(unit)) std::tie(input.least, input.above_least) = std::pair(1.0, false);
  if (unit == Unit::kFraction) input.most = 1;
  return input;
}

Input Input::Model(std::string name) {
  Input input;
  input.name = std::move(name);
  input.kind = Kind::kModel;
  input.help = "a model of \"assay model list\"";
  return input;
}

Input Input::Gpu() {
  Input input;
  input.name = "gpu";
  input.kind = Kind::kGpu;
  input.help = "a GPU of \"assay specs\", such as \"H100 SXM\"";
  return input;
}

Input Input::Gpus() {
  Input input = Gpu();
  input.kind = Kind::kGpus;
  input.fallback = "any";
  input.help =
      "GPUs of \"assay specs\", separated by commas; any: all CUDA GPUs with known figures";
  return input;
}

Input Input::Choice(std::string name, std::vector<std::string> choices) {
  Input input;
  input.name = std::move(name);
  input.kind = Kind::kChoice;
  input.choices = std::move(choices);
  return input;
}

Input Input::Flag(std::string name) {
  Input input;
  input.name = std::move(name);
  input.kind = Kind::kFlag;
  return input;
}

Input Input::Counts(std::string name) {
  Input input = Of(std::move(name), Unit::kCount);
  input.kind = Kind::kCounts;
  return input;
}

Input Input::Prices(std::string name) {
  Input input = Of(std::move(name), Unit::kMoneyPerHour).AtLeast(1e-6).AtMost(1e9);
  input.kind = Kind::kPrices;
  return input;
}

Input Input::Text(std::string name) {
  Input input;
  input.name = std::move(name);
  input.kind = Kind::kText;
  return input;
}

Input Input::Default(std::string value) && {
  fallback = std::move(value);
  return std::move(*this);
}
Input Input::Required() && {
  required = true;
  return std::move(*this);
}
Input Input::Help(std::string text) && {
  help = std::move(text);
  return std::move(*this);
}
Input Input::AtLeast(double value) && {
  least = value;
  above_least = false;
  return std::move(*this);
}
Input Input::Above(double value) && {
  least = value;
  above_least = true;
  return std::move(*this);
}
Input Input::AtMost(double value) && {
  most = value;
  return std::move(*this);
}

std::vector<Input> HardwareInputs(const std::vector<std::string>& names) {
  const std::vector<Input> all = {
      Input::Of("peak", Unit::kFlopPerSecond).Help("replaces the peak of one GPU, dense"),
      Input::Of("bandwidth", Unit::kBytesPerSecond).Help("replaces the GPU's memory bandwidth"),
      Input::Of("link", Unit::kBytesPerSecond)
          .Help("replaces the bandwidth between GPUs, in one direction"),
      Input::Flag("both_directions")
          .Help("--link is the sum of both directions, as data sheets say"),
      Input::Of("memory", Unit::kBytes).AtLeast(1e6).Help("replaces the GPU's memory")};
  std::vector<Input> chosen;
  for (const Input& input : all) {
    if (std::find(names.begin(), names.end(), input.name) != names.end()) chosen.push_back(input);
  }
  return chosen;
}

World SheetsOnly() {
  World world;
  world.find_hardware = [](const std::string& name) -> Result<Hardware> {
    ASSAY_ASSIGN_OR_RETURN(const GpuSpec* spec, FindSheet(name));
    return FromSheet(*spec);
  };
  for (const GpuSpec& spec : SpecSheets()) {
    const bool known = spec.kind == "cuda" && spec.flops.count("bf16") > 0 && spec.memory_bytes &&
                       spec.memory_bytes_per_second;
    if (known) world.gpus.push_back(spec.name);
  }
  return world;
}

bool Arguments::Has(const std::string& name) const { return values_.count(name) > 0; }
bool Arguments::Given(const std::string& name) const {
  const auto found = values_.find(name);
  return found != values_.end() && found->second.given;
}
double Arguments::Number(const std::string& name) const { return values_.at(name).number; }
const std::string& Arguments::Text(const std::string& name) const { return values_.at(name).text; }
bool Arguments::Flag(const std::string& name) const {
  const auto found = values_.find(name);
  return found != values_.end() && found->second.number != 0;
}
const std::vector<double>& Arguments::Counts(const std::string& name) const {
  return values_.at(name).counts;
}
std::vector<double> Arguments::PricePerGpu(const std::string& name) const {
  if (!Has(name)) return {};
  const std::vector<double>& prices = Counts(name);
  return prices.size() == 1 ? std::vector<double>(gpus_.size(), prices[0]) : prices;
}
const ModelShape& Arguments::Model(const std::string& name) const { return values_.at(name).model; }
const Hardware& Arguments::Gpu() const { return gpus_.front(); }
const std::vector<Hardware>& Arguments::Gpus() const { return gpus_; }
const std::string& Arguments::currency() const { return currency_; }

Arguments Arguments::At(Corner corner) const {
  Arguments moved = *this;
  for (Hardware& gpu : moved.gpus_) gpu = gpu.At(corner);
  return moved;
}

const Input* Topic::Find(std::string_view wanted) const {
  const auto found = std::find_if(inputs.begin(), inputs.end(),
                                  [&](const Input& input) { return input.name == wanted; });
  return found == inputs.end() ? nullptr : &*found;
}

const std::vector<Topic>& Topics() {
  static const std::vector<Topic> topics = AllTopics();
  return topics;
}

const Topic* FindTopic(std::string_view command, std::string_view name) {
  for (const Topic& topic : Topics()) {
    if (topic.command == command && topic.name == name) return &topic;
  }
  return nullptr;
}

// A reader for the inputs of one question.
class ArgumentReader {
 public:
  ArgumentReader(const Topic& topic, const World& world) : topic_(topic), world_(world) {}

  Result<Arguments> Read(const std::map<std::string, std::string>& inputs) {
    for (const auto& [name, text] : inputs) {
      if (topic_.Find(name) == nullptr) {
        std::vector<std::string> names;
        for (const Input& input : topic_.inputs) names.push_back(input.name);
        return Refuse(name, "unknown input of " + topic_.command + " " + topic_.name,
                      Suggest(name, names));
      }
    }
    for (const Input& input : topic_.inputs) {
      const auto given = inputs.find(input.name);
      if (given == inputs.end() && input.fallback.empty()) {
        if (input.required) {
          return Refuse(input.name, "is required", input.help.empty() ? "" : "give " + input.help);
        }
        continue;
      }
      const std::string& text = given == inputs.end() ? input.fallback : given->second;
      Arguments::Value value;
      value.given = given != inputs.end();
      value.text = text;
      if (const Status status = ReadValue(input, value); !status.ok()) {
        // If the fleet cannot be reached, that is not an error of the user's input.
        if (status.code() != Code::kInvalidArgument && status.code() != Code::kNotFound) {
          return status;
        }
        return Refuse(input.name, status.message(), status.hint());
      }
      arguments_.values_[input.name] = std::move(value);
    }
    if (arguments_.gpus_.empty()) {
      arguments_.gpus_.emplace_back();
      arguments_.gpus_.front().name = kNoGpu;
    }
    for (Hardware& gpu : arguments_.gpus_) ReplaceFigures(gpu);
    return std::move(arguments_);
  }

 private:
  Status ReadValue(const Input& input, Arguments::Value& value) {
    switch (input.kind) {
      case Input::Kind::kQuantity:
        return ReadQuantity(input, value.text, value.number);
      case Input::Kind::kModel:
        return ReadModel(value.text, value.model);
      case Input::Kind::kGpu:
        return AddGpu(value.text);
      case Input::Kind::kGpus:
        return AddGpus(value.text);
      case Input::Kind::kChoice:
        if (std::find(input.choices.begin(), input.choices.end(), value.text) ==
            input.choices.end()) {
          return InvalidArgument(Quote(value.text) + " must be one of " + Join(input.choices))
              .WithHint(Suggest(value.text, input.choices));
        }
        return Status::Ok();
      case Input::Kind::kFlag:
        if (value.text != "true" && value.text != "false") {
          return InvalidArgument(Quote(value.text) + " must be true or false");
        }
        value.number = value.text == "true" ? 1 : 0;
        return Status::Ok();
      case Input::Kind::kCounts:
        return ReadCounts(input, value.text, value.counts);
      case Input::Kind::kPrices:
        return ReadPrices(input, value.text, value.counts);
      case Input::Kind::kText:
        return Status::Ok();
    }
    return Status::Ok();
  }

  Status ReadQuantity(const Input& input, const std::string& text, double& number) {
    ASSAY_ASSIGN_OR_RETURN(const Quantity quantity, ParseQuantity(text, input.unit));
    number = quantity.value;
    if (IsWhole(input.unit) && number != std::floor(number)) {
      return InvalidArgument(Quote(text) + " must be a whole number");
    }
    const bool low = input.above_least ? !(number > input.least) : !(number >= input.least);
    if (low || number > input.most) {
      return InvalidArgument(
          Quote(text) + " must be " +
          (number > input.most ? "at most " + FormatExact(input.most) : BoundsText(input)));
    }
    if (!quantity.currency.empty()) {
      if (!arguments_.currency_.empty() && arguments_.currency_ != quantity.currency) {
        return InvalidArgument(Quote(text) + " is in " + quantity.currency + ", another price in " +
                               arguments_.currency_)
            .WithHint("give all prices in one currency");
      }
      arguments_.currency_ = quantity.currency;
    }
    return Status::Ok();
  }

  Status ReadModel(const std::string& text, ModelShape& shape) {
    if (world_.find_shape) {
      if (std::optional<ModelShape> own = world_.find_shape(text)) {
        shape = *std::move(own);
        return CheckShape(shape);
      }
    }
    ASSAY_ASSIGN_OR_RETURN(const ModelShape* found, FindModel(text));
    shape = *found;
    return Status::Ok();
  }

  Status AddGpu(const std::string& name) {
    ASSAY_ASSIGN_OR_RETURN(Hardware gpu, world_.find_hardware(name));
    arguments_.gpus_.push_back(std::move(gpu));
    return Status::Ok();
  }

  Status AddGpus(const std::string& text) {
    if (Lower(text) == "any") {
      for (const std::string& name : world_.gpus) ASSAY_RETURN_IF_ERROR(AddGpu(name));
      return Status::Ok();
    }
    for (const std::string_view name : Split(text, ',')) {
      const size_t first = name.find_first_not_of(' ');
      if (first == std::string_view::npos) return InvalidArgument("has an empty name");
      const size_t last = name.find_last_not_of(' ');
      ASSAY_RETURN_IF_ERROR(AddGpu(std::string(name.substr(first, last - first + 1))));
    }
    return Status::Ok();
  }

  Status ReadPrices(const Input& input, const std::string& text, std::vector<double>& prices) {
    for (const std::string_view part : Split(text, ',')) {
      double price = 0;
      const Status status = ReadQuantity(input, std::string(part), price);
      if (!status.ok() && !status.hint().empty()) return status;
      if (!status.ok()) {
        return status.WithHint(
            "give prices per hour, such as \"3.50 USD\" or \"3.50 USD,2.00 USD\"");
      }
      prices.push_back(price);
    }
    // The number of GPUs is known here, because inputs are read in order and the GPUs come first.
    if (prices.size() == 1 || prices.size() == arguments_.gpus_.size()) return Status::Ok();
    return InvalidArgument("has " + Counted(static_cast<int64_t>(prices.size()), "price") +
                           " for " + Counted(static_cast<int64_t>(arguments_.gpus_.size()), "GPU"))
        .WithHint(
            "give one price for all, or one for each GPU in their order, such as \"3.50 "
            "USD,2.00 USD\"");
  }

  Status ReadCounts(const Input& input, const std::string& text, std::vector<double>& counts) {
    Input one = input;
    one.kind = Input::Kind::kQuantity;
    const size_t dots = text.find("..");
    if (dots != std::string::npos) {
      double low = 0;
      double high = 0;
      ASSAY_RETURN_IF_ERROR(ReadQuantity(one, text.substr(0, dots), low));
      ASSAY_RETURN_IF_ERROR(ReadQuantity(one, text.substr(dots + 2), high));
      if (low > high) return InvalidArgument(Quote(text) + " must name the smaller number first");
      for (double count = low; count < high; count *= 2) counts.push_back(count);
      counts.push_back(high);
      return Status::Ok();
    }
    for (const std::string_view part : Split(text, ',')) {
      double count = 0;
      ASSAY_RETURN_IF_ERROR(ReadQuantity(one, std::string(part), count));
      counts.push_back(count);
    }
    constexpr size_t kMost = 100;
    if (counts.size() > kMost) return InvalidArgument("must be at most 100 numbers");
    return Status::Ok();
  }

  // Replaces figures of the GPU by those that the user gave.
  void ReplaceFigures(Hardware& gpu) {
    const auto given = [&](const char* name) -> std::optional<double> {
      if (!arguments_.Has(name)) return std::nullopt;
      return arguments_.Number(name);
    };
    const auto figure = [](double value) { return Figure{value, value, value, "given"}; };
    if (const auto peak = given("peak")) {
      for (const char* column :
           {"fp64_vector", "fp64_tensor", "fp32", "tf32", "bf16", "fp16", "fp8", "int8", "fp4"}) {
        gpu.peaks[column] = figure(*peak);
        gpu.sheet_peaks[column] = *peak;
      }
      gpu.products.clear();
    }
    if (const auto bandwidth = given("bandwidth")) {
      gpu.memory_bandwidth = figure(*bandwidth);
      gpu.copy_bandwidth = figure(*bandwidth);
      gpu.sheet_bandwidth = bandwidth;
      gpu.products.clear();
    }
    if (const auto link = given("link")) {
      gpu.link_bandwidth = figure(arguments_.Flag("both_directions") ? *link / 2 : *link);
      gpu.all_reduces.clear();
    }
    if (const auto memory = given("memory")) gpu.memory_bytes = memory;
  }

  const Topic& topic_;
  const World& world_;
  Arguments arguments_;
};

Result<Arguments> Read(const Topic& topic, const std::map<std::string, std::string>& inputs,
                       const World& world) {
  return ArgumentReader(topic, world).Read(inputs);
}

Result<Answer> Evaluate(const Topic& topic, const Arguments& arguments) {
  Result<Answer> computed = topic.compute(arguments);
  if (!computed.ok()) {
    const Status& status = computed.status();
    // The sheet lacks a figure. The user can name another GPU or give the figure.
    return status.violations().empty() ? Refuse("gpu", status.message(), status.hint()) : status;
  }
  Answer answer = *std::move(computed);
  if (!arguments.currency().empty()) answer.currency = arguments.currency();
  for (const Corner corner : {Corner::kWorst, Corner::kBest}) {
    const Result<Answer> other = topic.compute(arguments.At(corner));
    if (!other.ok()) continue;  // For example, a goal that only the better end reaches.
    for (Term& term : answer.terms) {
      const Term* const moved = other->Find(term.name);
      if (moved == nullptr) continue;
      term.low = std::min(term.low, moved->value);
      term.high = std::max(term.high, moved->value);
    }
  }
  for (const Term& term : answer.terms) {
    if (!std::isfinite(term.value)) {
      return Refuse(term.name, "is not a finite number for these inputs",
                    "check the sizes of the inputs");
    }
  }
  return answer;
}

std::vector<InputLine> DescribeInputs(const Topic& topic, const Arguments& arguments) {
  std::vector<InputLine> lines;
  for (const Input& input : topic.inputs) {
    if (!arguments.Has(input.name)) continue;
    lines.push_back({input.name, arguments.Text(input.name), arguments.Given(input.name)});
  }
  return lines;
}

}  // namespace assay::predict
