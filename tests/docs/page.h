// Reference pages whose tables are printed by the code that they describe.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace assay::testing_support {

// Returns a table in Markdown. Cells are escaped; every row has as many cells as `header`.
std::string MarkdownTable(const std::vector<std::string>& header,
                          const std::vector<std::vector<std::string>>& rows);

// Returns "`text`"; empty for an empty text.
std::string CodeSpan(std::string_view text);

// Compares `text` with what the page, a path from the root of the tree, has between
// "<!-- generated: BLOCK -->" and "<!-- end: BLOCK -->". With ASSAY_ACCEPT_WORDING=1 in the
// environment it is written there instead (./dev golden sets it).
::testing::AssertionResult MatchesBlock(const char* page_expression, const char* block_expression,
                                        const char* text_expression, std::string_view page,
                                        std::string_view block, const std::string& text);

}  // namespace assay::testing_support

#define EXPECT_BLOCK(page, block, text) \
  EXPECT_PRED_FORMAT3(::assay::testing_support::MatchesBlock, page, block, text)
