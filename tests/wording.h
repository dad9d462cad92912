#pragma once

#include <gtest/gtest.h>

#include <string_view>

namespace assay::testing_support {

// Compares `text` with the golden text stored under `key`, "ROOM/NAME", in tests/golden/ROOM.txt.
// Wording lives in those files alone: other assertions check codes, reasons and fields. With
// ASSAY_ACCEPT_WORDING=1 in the environment the text is stored instead (./dev golden sets it).
::testing::AssertionResult MatchesWording(const char* key_expression, const char* text_expression,
                                          std::string_view key, std::string_view text);

}  // namespace assay::testing_support

#define EXPECT_WORDING(key, text) \
  EXPECT_PRED_FORMAT2(::assay::testing_support::MatchesWording, key, text)
