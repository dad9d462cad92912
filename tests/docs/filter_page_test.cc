// docs/reference/filter-fields.md: the fields of results and nodes.
#include <gtest/gtest.h>

#include "campaign/node_fields.h"
#include "tests/docs/page.h"
#include "wire/result_fields.h"

namespace assay {
namespace {

using schema::FieldType;

constexpr char kFilterPage[] = "docs/reference/filter-fields.md";

std::string_view TypeName(FieldType type) {
  switch (type) {
    case FieldType::kText:
      return "text";
    case FieldType::kVersion:
      return "version";
    case FieldType::kNameWithVersion:
      return "text without order";
    case FieldType::kNumber:
      return "number";
    case FieldType::kBoolean:
      return "true or false";
    case FieldType::kTime:
      return "time";
    case FieldType::kTexts:
      return "list of texts";
    case FieldType::kMap:
      return "texts by name";
    case FieldType::kNumbers:
      return "list of numbers, JSON only";
    case FieldType::kObjects:
      return "list of objects, JSON only";
  }
  return "";
}

template <typename Subject>
std::string FieldTable(const std::vector<schema::Field<Subject>>& fields) {
  std::vector<std::vector<std::string>> rows;
  for (const schema::Field<Subject>& field : fields) {
    std::string description(field.description);
    for (const std::string& word : field.words) {
      description += (&word == field.words.data() ? ": " : ", ") + testing_support::CodeSpan(word);
    }
    std::string example(field.example);
    if (!example.empty() && field.type != FieldType::kMap) {
      example = std::string(field.name) + " " + example;
    }
    rows.push_back({testing_support::CodeSpan(field.name), std::string(TypeName(field.type)),
                    std::string(field.unit), description, testing_support::CodeSpan(example)});
  }
  return testing_support::MarkdownTable({"field", "type", "unit", "description", "example"}, rows);
}

TEST(FilterPage, ListsEveryFieldOfResults) {
  EXPECT_BLOCK(kFilterPage, "results", FieldTable(schema::ResultFields()));
}

TEST(FilterPage, ListsEveryFieldOfNodes) {
  EXPECT_BLOCK(kFilterPage, "nodes", FieldTable(campaign::NodeFields()));
}

}  // namespace
}  // namespace assay
