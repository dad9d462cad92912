// Topics: the questions that Assay answers by arithmetic. Commands and tests ask by the topic's
// name with `name=value` inputs.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "predict/answer.h"
#include "predict/hardware.h"
#include "predict/model_shape.h"
#include "predict/quantity.h"

namespace assay::predict {

// One input of a topic, made by named calls:
//   Input::Of("batch", Unit::kCount).Default("1").Help("sequences per step")
struct Input {
  enum class Kind { kQuantity, kModel, kGpu, kGpus, kChoice, kFlag, kCounts, kPrices, kText };

  std::string name;  // snake_case; the option is --snake-case.
  Kind kind = Kind::kQuantity;
  Unit unit = Unit::kNumber;
  std::string fallback;  // As the user would write it. Empty: none.
  bool required = false;
  std::string help;
  std::vector<std::string> choices;
  double least = 0;
  bool above_least = true;  // `least` itself is refused.
  double most = 1e18;

  static Input Of(std::string name, Unit unit);
  static Input Model(std::string name = "model");
  // One GPU. Its figures are inputs too; see HardwareInputs().
  static Input Gpu();
  // "any", or several names with commas.
  static Input Gpus();
  static Input Choice(std::string name, std::vector<std::string> choices);
  static Input Flag(std::string name);
  // "8", "1,8,32" or "1..64" (powers of two from 1 to 64).
  static Input Counts(std::string name);
  // "2.00 USD", or one price for each GPU: "3.50 USD,2.00 USD".
  static Input Prices(std::string name);
  static Input Text(std::string name);

  Input Default(std::string value) &&;
  Input Required() &&;
  Input Help(std::string text) &&;
  Input AtLeast(double value) &&;
  Input Above(double value) &&;
  Input AtMost(double value) &&;
};

// The inputs that give or replace figures of the GPU: peak, bandwidth, link, both_directions,
// memory. A topic with Input::Gpu() appends those that it uses.
std::vector<Input> HardwareInputs(const std::vector<std::string>& names);

// Finds the figures of the GPUs that inputs name.
using FindHardware = std::function<Result<Hardware>(const std::string& name)>;
// Finds shapes that are not in data/models.csv. Returns nullopt for a name that it does not know.
using FindShape = std::function<std::optional<ModelShape>(const std::string& name)>;

struct World {
  FindHardware find_hardware;  // Required.
  FindShape find_shape;        // May be empty.
  // Names that Input::Gpus() means by "any".
  std::vector<std::string> gpus;
};

// Knows spec sheets alone. "any" are the GPUs that agents can run on, if bf16 peak,
// memory and bandwidth are known.
World SheetsOnly();

// Checked inputs of one question.
class Arguments {
 public:
  // True if the user gave the input, or it has a default.
  bool Has(const std::string& name) const;
  // True if the user gave it.
  bool Given(const std::string& name) const;
  // Each of these requires Has().
  double Number(const std::string& name) const;
  const std::string& Text(const std::string& name) const;
  bool Flag(const std::string& name) const;  // False without Has().
  const std::vector<double>& Counts(const std::string& name) const;
  // Returns the price for each of Gpus(), repeating a single one. Empty without the input.
  std::vector<double> PricePerGpu(const std::string& name) const;
  const ModelShape& Model(const std::string& name = "model") const;
  // The GPU with the figures that the user gave. Without --gpu it has only these.
  const Hardware& Gpu() const;
  const std::vector<Hardware>& Gpus() const;
  // The currency of the prices given; empty if none was.
  const std::string& currency() const;

  // A copy in which every GPU is at this corner of its ranges.
  Arguments At(Corner corner) const;

 private:
  friend class ArgumentReader;
  struct Value {
    bool given = false;
    double number = 0;
    std::string text;  // As the user wrote it.
    std::vector<double> counts;
    ModelShape model;
  };
  std::map<std::string, Value> values_;
  std::vector<Hardware> gpus_;
  std::string currency_;
};

// As Arguments of an answer, for people.
struct InputLine {
  std::string name;
  std::string value;
  bool given = false;  // False: the default.
};

struct Topic {
  std::string name;
  std::string command = "predict";  // Or "plan".
  std::string summary;              // One line, verb first.
  std::string about;                // For --help: what the answer means, in a few sentences.
  std::string example;              // Arguments of a command that works offline.
  std::vector<Input> inputs;
  Result<Answer> (*compute)(const Arguments& arguments) = nullptr;

  const Input* Find(std::string_view name) const;
};

// Returns all topics, by command and name.
const std::vector<Topic>& Topics();
// Returns null if there is none.
const Topic* FindTopic(std::string_view command, std::string_view name);

// Checks the inputs, by name, against the topic's declarations. Violations name the input.
Result<Arguments> Read(const Topic& topic, const std::map<std::string, std::string>& inputs,
                       const World& world);

// Answers the question, at the middle of the hardware's figures and at both ends.
Result<Answer> Evaluate(const Topic& topic, const Arguments& arguments);

// Returns the inputs that the answer used, with their units, in the topic's order.
std::vector<InputLine> DescribeInputs(const Topic& topic, const Arguments& arguments);

// Returns an INVALID_ARGUMENT error about one input. `remedy` is a hint and may be empty.
Status Refuse(const std::string& input, const std::string& problem, const std::string& remedy = "");

}  // namespace assay::predict
