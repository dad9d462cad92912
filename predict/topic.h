// A topic is a question about GPUs and models that Assay answers by calculation, such as how long a
// decode step takes. Commands and tests refer to topics by name and pass inputs as `name=value`.
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

// One input of a topic (a question that Assay answers by calculation), declared by a chain of
// calls:
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
  // The name of one GPU. Its figures can be inputs too; see HardwareInputs().
  static Input Gpu();
  // The names of several GPUs, separated by commas, or "any".
  static Input Gpus();
  static Input Choice(std::string name, std::vector<std::string> choices);
  static Input Flag(std::string name);
  // Several numbers, written as "8", "1,8,32" or "1..64" (powers of two from 1 to 64).
  static Input Counts(std::string name);
  // One price, as in "2.00 USD", or one price per GPU, as in "3.50 USD,2.00 USD".
  static Input Prices(std::string name);
  static Input Text(std::string name);

  Input Default(std::string value) &&;
  Input Required() &&;
  Input Help(std::string text) &&;
  Input AtLeast(double value) &&;
  Input Above(double value) &&;
  Input AtMost(double value) &&;
};

// Returns the inputs that let users supply or override figures of the GPU. `names` selects from
// "peak", "bandwidth", "link", "both_directions" and "memory". Every topic that has the input
// Input::Gpu() should also declare the ones it uses.
std::vector<Input> HardwareInputs(const std::vector<std::string>& names);

// A function that returns the figures of the GPU with this name.
using FindHardware = std::function<Result<Hardware>(const std::string& name)>;
// A function that returns the shape of a model that is not in data/models.csv, or nullopt if the
// name is unknown.
using FindShape = std::function<std::optional<ModelShape>(const std::string& name)>;

struct World {
  FindHardware find_hardware;  // Required.
  FindShape find_shape;        // May be empty.
  // The names of the GPUs that "any" means in Input::Gpus().
  std::vector<std::string> gpus;
};

// Returns a World (the source of all figures) with spec sheets but no measurements. In this World,
// the GPU "any" means every CUDA GPU whose bf16 peak, memory and bandwidth are known.
World SheetsOnly();

// The checked inputs of one question.
class Arguments {
 public:
  // Returns true if the user gave the input, or if it has a default.
  bool Has(const std::string& name) const;
  // Returns true if the user gave the input.
  bool Given(const std::string& name) const;
  // The functions that return a value require Has(), except where noted.
  double Number(const std::string& name) const;
  const std::string& Text(const std::string& name) const;
  bool Flag(const std::string& name) const;  // False without Has().
  const std::vector<double>& Counts(const std::string& name) const;
  // Returns the prices of the GPUs in Gpus(), in the same order. A single price given by the user
  // applies to all of them. Returns an empty list if the user gave no price.
  std::vector<double> PricePerGpu(const std::string& name) const;
  const ModelShape& Model(const std::string& name = "model") const;
  // Returns the GPU, with the figures that the user gave. Without --gpu, it has only these figures.
  const Hardware& Gpu() const;
  const std::vector<Hardware>& Gpus() const;
  // Returns the currency of the prices that the user gave, or an empty text if there are none.
  const std::string& currency() const;

  // Returns a copy in which the figures of every GPU are at this corner of their ranges.
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

// An input of an answer, formatted for people.
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

// Returns all topics, sorted by command and name.
const std::vector<Topic>& Topics();
// Returns the topic, or null if it does not exist.
const Topic* FindTopic(std::string_view command, std::string_view name);

// Parses the user's inputs, keyed by name, and checks them against the topic's declarations. Each
// violation in an error names the invalid input.
Result<Arguments> Read(const Topic& topic, const std::map<std::string, std::string>& inputs,
                       const World& world);

// Computes the answer. To find the range of each term, evaluates the topic three times: with the
// middle, worst and best values of the hardware figures.
Result<Answer> Evaluate(const Topic& topic, const Arguments& arguments);

// Returns the inputs that the answer used, with their units, in the topic's order.
std::vector<InputLine> DescribeInputs(const Topic& topic, const Arguments& arguments);

// Returns an INVALID_ARGUMENT error about one input. `remedy` is a hint and may be empty.
Status Refuse(const std::string& input, const std::string& problem, const std::string& remedy = "");

}  // namespace assay::predict
