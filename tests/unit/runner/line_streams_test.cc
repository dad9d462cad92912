#include "runner/line_streams.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace assay {
namespace {

using Kind = LineStreams::Kind;

constexpr Duration kLong = std::chrono::seconds(50);

// Two sources and something to stop at.
class LineStreamsTest : public ::testing::Test {
 protected:
  LineStreamsTest() {
    streams_.Add(std::move(first_.read));
    streams_.Add(std::move(second_.read));
  }
  static void Write(const Pipe& pipe, const std::string& text) {
    ASSERT_EQ(write(pipe.write.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void ExpectLine(size_t source, const std::string& line) {
    const LineStreams::Event event = streams_.Next(kLong);
    EXPECT_EQ(event.kind, Kind::kLine);
    EXPECT_EQ(event.source, source);
    EXPECT_EQ(event.line, line);
  }
  void ExpectEnd(size_t source) {
    const LineStreams::Event event = streams_.Next(kLong);
    EXPECT_EQ(event.kind, Kind::kEnd);
    EXPECT_EQ(event.source, source);
  }

  Pipe stop_ = MakePipe().value();
  Pipe first_ = MakePipe().value();
  Pipe second_ = MakePipe().value();
  LineStreams streams_{stop_.read.get()};
};

TEST_F(LineStreamsTest, ASilentSourceHoldsUpNoOther) {
  Write(second_, "one\ntwo\nthr");
  ExpectLine(1, "one");
  ExpectLine(1, "two");
  Write(first_, "four\n");
  ExpectLine(0, "four");
  Write(second_, "ee\n");
  ExpectLine(1, "three");
}

TEST_F(LineStreamsTest, EndsComeOnceAndAfterTheirLines) {
  Write(first_, "one\nhalf");
  first_.write.Close();
  ExpectLine(0, "one");
  ExpectLine(0, "half");
  ExpectEnd(0);
  Write(second_, "two\n");
  ExpectLine(1, "two");
  second_.write.Close();
  ExpectEnd(1);
  EXPECT_EQ(streams_.Next(Duration(0)).kind, Kind::kSilence);
}

TEST_F(LineStreamsTest, NothingAtAllIsSilence) {
  EXPECT_EQ(streams_.Next(std::chrono::milliseconds(1)).kind, Kind::kSilence);
}

TEST_F(LineStreamsTest, AStopIsToldUntilItIsTaken) {
  Write(first_, "one\n");
  Write(stop_, "!");
  EXPECT_EQ(streams_.Next(kLong).kind, Kind::kStop);
  EXPECT_EQ(streams_.Next(kLong).kind, Kind::kStop);
  char taken = 0;
  ASSERT_EQ(read(stop_.read.get(), &taken, 1), 1);
  ExpectLine(0, "one");
}

}  // namespace
}  // namespace assay
