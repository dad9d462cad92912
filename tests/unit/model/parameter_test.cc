#include "model/parameter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/wording.h"

namespace assay {
namespace {

using testing::ElementsAre;

ParameterSpec Number(const char* name, ParameterType type, int64_t minimum, int64_t maximum) {
  ParameterSpec spec;
  spec.name = name;
  spec.type = type;
  spec.minimum = minimum;
  spec.maximum = maximum;
  return spec;
}

ParameterSpec Choice(const char* name, std::vector<std::string> choices) {
  ParameterSpec spec;
  spec.name = name;
  spec.type = ParameterType::kChoice;
  spec.default_value = choices.front();
  spec.choices = std::move(choices);
  return spec;
}

// m is required; layout must be nt with dtype int8, and m a multiple of 4 up to 4096.
std::vector<ParameterSpec> GemmLike() {
  ParameterSpec m = Number("m", ParameterType::kInteger, 1, 65536);
  m.constraints = {{.parameter = "dtype", .values = {"int8"}, .maximum = 4096, .multiple = 4}};
  ParameterSpec bytes = Number("bytes", ParameterType::kBytes, 8, int64_t{8} << 30);
  bytes.default_value = "1048576";
  bytes.multiple = 4;
  ParameterSpec layout = Choice("layout", {"nn", "nt"});
  layout.constraints = {{.parameter = "dtype",
                         .values = {"int8", "fp8"},
                         .choices = {"nt"},
                         .reason = "tensor cores take 8-bit A and B along k"}};
  ParameterSpec graph;
  graph.name = "graph";
  graph.type = ParameterType::kBoolean;
  graph.default_value = "false";
  return {m, bytes, Choice("dtype", {"bf16", "fp16", "int8", "fp8"}), layout, graph};
}

TEST(CanonicalParameters, DefaultsAreFilledInAndValuesNormalised) {
  const auto canonical = CanonicalParameters(GemmLike(), {{"m", "4096"}, {"bytes", "1GiB"}});
  ASSERT_TRUE(canonical.ok()) << canonical.status();
  EXPECT_EQ(*canonical, (ParameterMap{{"m", "4096"},
                                      {"bytes", "1073741824"},
                                      {"dtype", "bf16"},
                                      {"layout", "nn"},
                                      {"graph", "false"}}));
}

std::vector<std::string> FieldsOf(const Status& status) {
  std::vector<std::string> fields;
  for (const Violation& violation : status.violations()) fields.push_back(violation.field);
  return fields;
}

TEST(CanonicalParameters, EveryMistakeIsAViolation) {
  const Status status =
      CanonicalParameters(GemmLike(), {{"dtyp", "bf16"}, {"m", "0"}, {"dtype", "bf17"}}).status();
  EXPECT_EQ(status.reason(), Reason::kInvalidParameter);
  EXPECT_THAT(FieldsOf(status), ElementsAre("dtyp", "m", "dtype"));
  EXPECT_WORDING("model/invalid-parameters", status.ToString());
}

TEST(CanonicalParameters, AMissingParameterIsAViolation) {
  EXPECT_THAT(FieldsOf(CanonicalParameters(GemmLike(), {}).status()), ElementsAre("m"));
}

TEST(CanonicalParameters, ConstraintsAreCheckedOnceAllValuesAreValid) {
  const ParameterMap both = {{"m", "6"}, {"dtype", "int8"}};
  const Status status = CanonicalParameters(GemmLike(), both).status();
  EXPECT_EQ(status.reason(), Reason::kInvalidParameter);
  EXPECT_THAT(FieldsOf(status), ElementsAre("m", "layout"));
  EXPECT_WORDING("model/constraints", status.ToString());
  const ParameterMap also_invalid = {{"m", "6"}, {"dtype", "int8"}, {"bytes", "9"}};
  EXPECT_THAT(FieldsOf(CanonicalParameters(GemmLike(), also_invalid).status()),
              ElementsAre("bytes"));
}

TEST(ConstraintError, ARuleHoldsOnlyWithItsValues) {
  const ParameterSpec layout = GemmLike()[3];
  const auto allows = [&layout](const char* value, const char* dtype) {
    return ConstraintError(layout, {{"layout", value}, {"dtype", dtype}}).empty();
  };
  EXPECT_TRUE(allows("nt", "int8"));
  EXPECT_FALSE(allows("nn", "int8"));
  EXPECT_FALSE(allows("nn", "fp8"));
  EXPECT_TRUE(allows("nn", "bf16"));
  // A parameter that the case lacks asks for nothing.
  EXPECT_EQ(ConstraintError(layout, {{"layout", "nn"}}), "");
  EXPECT_EQ(ConstraintError(layout, {{"dtype", "int8"}}), "");
}

TEST(ConstraintError, NumbersHaveAMaximumAndAMultiple) {
  const ParameterSpec m = GemmLike()[0];
  const auto allows = [&m](const char* value) {
    return ConstraintError(m, {{"m", value}, {"dtype", "int8"}}).empty();
  };
  EXPECT_TRUE(allows("4096"));
  EXPECT_FALSE(allows("4100"));
  EXPECT_FALSE(allows("4094"));
}

// A peer's schema is checked before; nothing here divides by what it says.
TEST(ConstraintError, NothingIsDividedByZero) {
  for (const int64_t multiple : {0, -1}) {
    ParameterSpec spec = Number("a", ParameterType::kInteger, INT64_MIN, 9);
    spec.multiple = multiple;
    spec.constraints = {{.parameter = "b", .values = {"1"}, .multiple = multiple}};
    const char* const least = "-9223372036854775808";
    EXPECT_EQ(ConstraintError(spec, {{"a", least}, {"b", "1"}}), "");
    EXPECT_TRUE(CanonicalValue(spec, least).ok());
  }
}

TEST(ConstraintTexts, DescribeEachConstraint) {
  std::string text;
  for (const ParameterSpec& spec : GemmLike()) {
    for (const std::string& line : ConstraintTexts(spec)) text += spec.name + " " + line + "\n";
  }
  EXPECT_WORDING("model/constraint-texts", text);
}

TEST(CanonicalValue, ASpelledOutTypeIsRefusedWithItsShortName) {
  const ParameterSpec dtype = GemmLike()[2];
  EXPECT_WORDING("model/spelled-out-type", CanonicalValue(dtype, "bfloat16").status().message());
  // Only types that this parameter has are suggested.
  EXPECT_FALSE(CanonicalValue(dtype, "float32").ok());
}

TEST(AllowedValues, DescribeNumbers) {
  EXPECT_EQ(AllowedValues(GemmLike()[0]), "a whole number from 1 to 65536");
  EXPECT_EQ(AllowedValues(GemmLike()[1]), "a multiple of 4B from 8B to 8GiB");
  EXPECT_EQ(AllowedValues(Number("ranks", ParameterType::kInteger, 2, 2)), "2");
  EXPECT_EQ(AllowedValues(Number("bytes", ParameterType::kBytes, 1 << 20, 1 << 20)), "1MiB");
}

TEST(CanonicalValue, BoundsAreInclusive) {
  const ParameterSpec bytes = GemmLike()[1];
  EXPECT_TRUE(CanonicalValue(bytes, "8").ok());
  EXPECT_TRUE(CanonicalValue(bytes, "8GiB").ok());
  EXPECT_FALSE(CanonicalValue(bytes, "7").ok());
  EXPECT_FALSE(CanonicalValue(bytes, "10").ok());  // Not a multiple of 4.
  EXPECT_FALSE(CanonicalValue(bytes, "8589934593").ok());
}

}  // namespace
}  // namespace assay
