// docs/reference/campaign-file.md and campaign.schema.json: every field of a campaign file.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/campaign_file/campaign_fields.h"
#include "cli/campaign_file/campaign_file.h"
#include "tests/docs/page.h"

namespace assay {
namespace {

using cli::CampaignField;
using testing_support::CodeSpan;
using testing_support::MarkdownTable;
using Json = nlohmann::ordered_json;
using Kind = CampaignField::Kind;

constexpr char kCampaignPage[] = "docs/reference/campaign-file.md";
constexpr char kSchema[] = ASSAY_SOURCE "/docs/reference/campaign.schema.json";

std::string ValuesOf(const CampaignField& field) {
  switch (field.kind) {
    case Kind::kText:
      return "text";
    case Kind::kChoice: {
      std::string words;
      for (const std::string& word : field.choices) {
        words += (words.empty() ? "" : ", ") + CodeSpan(word);
      }
      return words;
    }
    case Kind::kInteger:
      return "a whole number from " + std::to_string(field.minimum) + " to " +
             std::to_string(field.maximum);
    case Kind::kBoolean:
      return "`true`, `false`";
    case Kind::kDuration:
      return "a duration: `90s`, `20m`, `1h30m`";
    case Kind::kNccl:
      return "a map of variables";
    case Kind::kBenchmarks:
    case Kind::kRules:
      return "a list";
  }
  return "";
}

std::string FieldTable() {
  std::vector<std::vector<std::string>> rows;
  for (const CampaignField& field : cli::CampaignFields()) {
    rows.push_back({CodeSpan(field.name), ValuesOf(field), std::string(field.default_text),
                    std::string(field.description), field.in_entry ? "yes" : ""});
  }
  return MarkdownTable({"field", "values", "default", "meaning", "in an entry too"}, rows);
}

Json Reference(const char* definition) {
  return {{"$ref", std::string("#/definitions/") + definition}};
}

Json SchemaOf(const CampaignField& field) {
  Json schema;
  switch (field.kind) {
    case Kind::kText:
      schema = {{"type", {"string", "number"}}, {"minLength", 1}};
      break;
    case Kind::kChoice:
      schema = {{"enum", field.choices}};
      break;
    case Kind::kInteger:
      schema = {{"type", "integer"}, {"minimum", field.minimum}, {"maximum", field.maximum}};
      break;
    case Kind::kBoolean:
      schema = {{"type", "boolean"}};
      break;
    case Kind::kDuration:
      schema = {{"type", "string"}, {"pattern", R"(^([0-9]+(\.[0-9]+)?(ms|s|m|min|h|d))+$)"}};
      break;
    case Kind::kNccl:
      schema = {{"type", "object"},
                {"minProperties", 1},
                {"propertyNames", {{"pattern", "^NCCL_[A-Z0-9_]+$"}}},
                {"additionalProperties", {{"type", {"string", "number"}}}}};
      break;
    case Kind::kBenchmarks:
      schema = {{"type", "array"}, {"minItems", 1}, {"items", Reference("entry")}};
      break;
    case Kind::kRules:
      schema = {{"type", "array"}, {"items", {{"type", "string"}, {"minLength", 1}}}};
      break;
  }
  schema["description"] =
      std::string(field.description) + " Default: " + std::string(field.default_text) + ".";
  return schema;
}

// Values of a parameter: one, a list, a range, or another parameter's.
Json AxisSchema() {
  const Json scalar = {{"type", {"string", "number", "boolean"}}};
  const Json number = {{"type", {"string", "number"}}};
  Json range = {
      {"type", "object"},
      {"properties", {{"from", number}, {"to", number}, {"factor", number}, {"step", number}}},
      {"required", {"from", "to"}},
      {"additionalProperties", false}};
  range["oneOf"] = {{{"required", {"factor"}}}, {{"required", {"step"}}}};
  return {{"anyOf",
           {scalar, {{"type", "array"}, {"minItems", 1}, {"items", scalar}}, std::move(range)}}};
}

Json EntrySchema() {
  const Json name = {{"type", "string"}, {"pattern", "^[a-z][a-z0-9_]{0,63}$"}};
  Json settings = {{"gpus",
                    {{"anyOf",
                      {{{"type", "integer"}, {"minimum", 0}},
                       {{"type", "array"},
                        {"minItems", 1},
                        {"uniqueItems", true},
                        {"items", {{"type", "integer"}, {"minimum", 0}}}}}},
                     {"description", "GPUs of each node to measure, by number. Default: all."}}}};
  for (const CampaignField& field : cli::CampaignFields()) {
    if (field.in_entry) settings[std::string(field.name)] = SchemaOf(field);
  }
  Json parameters = {{"type", {"object", "null"}},
                     {"properties", std::move(settings)},
                     {"propertyNames", {{"pattern", "^[a-z][a-z0-9_]{0,63}$"}}},
                     {"additionalProperties", Reference("values")}};
  return {{"anyOf",
           {name,
            {{"type", "object"},
             {"minProperties", 1},
             {"maxProperties", 1},
             {"propertyNames", name},
             {"additionalProperties", std::move(parameters)}}}}};
}

std::string Schema() {
  Json properties;
  Json required = Json::array();
  for (const CampaignField& field : cli::CampaignFields()) {
    properties[std::string(field.name)] = SchemaOf(field);
    if (field.default_text == "required") required.push_back(field.name);
  }
  const Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                       {"title", "Campaign of Assay"},
                       {"type", "object"},
                       {"properties", std::move(properties)},
                       {"required", std::move(required)},
                       {"additionalProperties", false},
                       {"definitions", {{"entry", EntrySchema()}, {"values", AxisSchema()}}}};
  return schema.dump(1) + "\n";
}

TEST(CampaignPage, ListsEveryField) { EXPECT_BLOCK(kCampaignPage, "fields", FieldTable()); }

// tests/docs/schema_test.py checks that the schema and `assay` accept the same files.
TEST(CampaignPage, SchemaIsMadeFromTheSameTable) {
  const std::string now = Schema();
  std::ifstream file(kSchema);
  const std::string stored{std::istreambuf_iterator<char>(file), {}};
  if (stored != now && std::getenv("ASSAY_ACCEPT_WORDING") != nullptr) {
    std::ofstream(kSchema) << now;
  } else {
    EXPECT_TRUE(stored == now) << kSchema << " is not the table's; ./dev golden writes it";
  }
}

TEST(CampaignPage, ReaderKnowsEveryFieldOfTheTable) {
  for (const CampaignField& field : cli::CampaignFields()) {
    // A list is wrong for every field but two; "no such field" would be another fault.
    const auto file =
        cli::ParseCampaign("name: x\nbenchmarks: [gemm]\n" + std::string(field.name) + ": [[]]\n");
    ASSERT_FALSE(file.faults.empty());
    EXPECT_EQ(file.faults[0].description.find("no such field"), std::string::npos) << field.name;
  }
}

}  // namespace
}  // namespace assay
