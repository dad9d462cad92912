#include "common/framing.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Framing, SurvivesAnyChunking) {
  const std::vector<std::string> messages = {"", "a", std::string(127, 'b'), std::string(128, 'c'),
                                             std::string(3'000'000, 'd')};
  std::string stream;
  for (const std::string& message : messages) stream += EncodeFrame(message);
  for (size_t chunk : {size_t{1'000'003}, size_t{4096}, size_t{7}}) {
    FrameDecoder decoder;
    std::vector<std::string> decoded;
    for (size_t at = 0; at < stream.size(); at += chunk) {
      decoder.Append(std::string_view(stream).substr(at, chunk));
      for (;;) {
        auto next = decoder.Next();
        ASSERT_TRUE(next.ok()) << next.status();
        if (!next->has_value()) break;
        decoded.push_back(**next);
      }
    }
    EXPECT_EQ(decoded, messages);
    EXPECT_FALSE(decoder.HasPartialFrame());
  }
}

TEST(Framing, Garbage_IsAnErrorAndAllocatesNothing) {
  FrameDecoder endless;
  endless.Append("\xff\xff\xff\xff\xff\xff");
  EXPECT_EQ(endless.Next().status().code(), Code::kDataLoss);
  FrameDecoder huge;
  huge.Append("\xff\xff\xff\xff\x0f");
  EXPECT_EQ(huge.Next().status().code(), Code::kDataLoss);
}

TEST(Framing, ReportsATruncatedEnd) {
  FrameDecoder decoder;
  decoder.Append(EncodeFrame("hello").substr(0, 3));
  EXPECT_FALSE(decoder.Next()->has_value());
  EXPECT_TRUE(decoder.HasPartialFrame());
}

}  // namespace
}  // namespace assay
