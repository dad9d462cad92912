#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "gang/peers.h"
#include "kernels/net/pair.h"
#include "kernels/net/stream_ends.h"
#include "tests/unit/gang/gang.h"
#include "tests/wording.h"

namespace assay {
namespace {

using namespace std::chrono_literals;

TEST(StreamPattern, EveryWrongByteIsFound) {
  StreamPattern pattern(7, 1);
  const std::string block(pattern.Block(5), kStreamBlockBytes);
  for (const size_t at : {size_t{0}, size_t{7}, size_t{8}, size_t{70001}, kStreamBlockBytes - 1}) {
    std::string wrong = block;
    wrong[at] = static_cast<char>(wrong[at] ^ 1);
    const StreamMismatches found = pattern.Compare(wrong.data(), 0, kStreamBlockBytes, 5);
    EXPECT_EQ(found.wrong, 1);
    EXPECT_EQ(found.checked, static_cast<int64_t>(kStreamBlockBytes));
    if (at == 70001) EXPECT_WORDING("kernels/wrong-byte", found.first);
    EXPECT_EQ(pattern.Compare(wrong.data(), 0, at, 5).wrong, 0);
  }
  EXPECT_EQ(pattern.Compare(block.data(), 0, kStreamBlockBytes, 5).wrong, 0);
}

TEST(StreamPattern, BlocksAndStreamsDiffer) {
  StreamPattern pattern(7, 1);
  const std::string block(pattern.Block(5), kStreamBlockBytes);
  EXPECT_EQ(pattern.Sample(block.data(), 5).wrong, 0);
  EXPECT_EQ(pattern.Sample(block.data(), 5).checked, 16);
  EXPECT_GT(pattern.Sample(block.data(), 6).wrong, 0);
  EXPECT_GT(StreamPattern(7, 2).Sample(block.data(), 5).wrong, 0);
  EXPECT_GT(StreamPattern(8, 1).Sample(block.data(), 5).wrong, 0);
  const std::string poison(kStreamBlockBytes, '\xff');
  EXPECT_EQ(pattern.Sample(poison.data(), 5).wrong, 16);
}

TEST(Arrivals, TimesFollowBytesNotCalls) {
  Arrivals arrivals(10, 20, 3);
  arrivals.Add(5);
  EXPECT_FALSE(arrivals.complete());
  // Passes the end of the lead and of two samples at once.
  arrivals.Add(50);
  EXPECT_FALSE(arrivals.complete());
  arrivals.Add(15);
  EXPECT_TRUE(arrivals.complete());
  const std::vector<double> seconds = arrivals.Seconds();
  ASSERT_EQ(seconds.size(), 3U);
  for (const double one : seconds) EXPECT_GT(one, 0);
  EXPECT_NEAR(seconds[0], seconds[1], 1e-12);
}

// Connects rank 0's sending end with rank 1's receiving one and calls the body of each.
void TransferTest(int streams, const std::function<void(SendingEnd&, Peers&)>& send,
                  const std::function<void(ReceivingEnd&, Peers&)>& receive) {
  RunGang(2, [&](std::unique_ptr<Peers> peers) {
    auto sockets = ConnectPair(*peers, "127.0.0.1", streams, 20s);
    ASSERT_TRUE(sockets.ok()) << sockets.status();
    ASSERT_EQ(sockets->size(), static_cast<size_t>(streams));
    // Connections stay open until both are through, as they do in the benchmark.
    if (peers->rank() == 0) {
      SendingEnd end(3, 0, *std::move(sockets));
      send(end, *peers);
      EXPECT_TRUE(peers->Barrier(20s).ok());
    } else {
      ReceivingEnd end(3, 0, *std::move(sockets));
      receive(end, *peers);
      EXPECT_TRUE(peers->Barrier(20s).ok());
    }
  });
}

// Tells rank 1 what was sent.
void Tell(const SendingEnd& end, Peers& peers) {
  for (const int64_t sent : end.Sent()) {
    std::string text = std::to_string(sent);
    ASSERT_TRUE(peers.Broadcast(&text, 20s).ok());
  }
}

std::vector<int64_t> Hear(int streams, Peers& peers) {
  std::vector<int64_t> sent;
  for (int i = 0; i < streams; ++i) {
    std::string text;
    EXPECT_TRUE(peers.Broadcast(&text, 20s).ok());
    sent.push_back(std::stoll(text));
  }
  return sent;
}

struct Size {
  int streams;
  int64_t bytes;
  int64_t samples;
};

class TransferSizes : public testing::TestWithParam<Size> {};

TEST_P(TransferSizes, EveryByteOfRepeatedTransfersArrives) {
  const Size size = GetParam();
  TransferTest(
      size.streams,
      [&](SendingEnd& end, Peers& peers) {
        for (int round = 0; round < 3; ++round) {
          const Status sent = end.Send(1 + size.samples, size.bytes, nullptr);
          ASSERT_TRUE(sent.ok()) << sent;
          const auto by_stream = end.Sent();
          EXPECT_EQ(std::accumulate(by_stream.begin(), by_stream.end(), int64_t{0}),
                    (1 + size.samples) * size.bytes);
          Tell(end, peers);
          // The next begins when this one has been received, as it does in the benchmark.
          ASSERT_TRUE(peers.Barrier(20s).ok());
        }
      },
      [&](ReceivingEnd& end, Peers& peers) {
        for (const bool every_byte : {true, false, true}) {
          ASSERT_TRUE(end.Start(size.bytes, size.bytes, size.samples, every_byte).ok());
          const Status received = end.Finish(Hear(size.streams, peers));
          ASSERT_TRUE(received.ok()) << received;
          ASSERT_TRUE(peers.Barrier(20s).ok());
          EXPECT_EQ(end.Seconds().size(), static_cast<size_t>(size.samples));
          const StreamMismatches found = end.Check();
          EXPECT_EQ(found.wrong, 0) << found.first;
          if (every_byte) {
            EXPECT_GE(found.checked, (1 + size.samples) * size.bytes);
          }
        }
      });
}

INSTANTIATE_TEST_SUITE_P(AnySize, TransferSizes,
                         testing::Values(Size{1, 1, 1}, Size{1, 131072, 4}, Size{1, 131073, 3},
                                         Size{3, 1000003, 5}, Size{8, 7, 100},
                                         Size{64, 4 << 20, 2}));

TEST(Transfer, SendsUntilEnough) {
  std::atomic<bool> enough{false};
  TransferTest(
      2,
      [&](SendingEnd& end, Peers& peers) {
        const Status sent = end.Send(1, 1000, &enough);
        ASSERT_TRUE(sent.ok()) << sent;
        const auto by_stream = end.Sent();
        EXPECT_GT(by_stream[0] + by_stream[1], 1000);
        Tell(end, peers);
      },
      [&](ReceivingEnd& end, Peers& peers) {
        ASSERT_TRUE(end.Start(0, 1000, 1, true).ok());
        while (!end.enough()) std::this_thread::yield();
        enough = true;
        ASSERT_TRUE(end.Finish(Hear(2, peers)).ok());
        EXPECT_EQ(end.Check().wrong, 0);
      });
}

// A sender of other bytes stands for a network that changes them.
TEST(Transfer, WrongBytesAreFound) {
  RunGang(2, [&](std::unique_ptr<Peers> peers) {
    auto sockets = ConnectPair(*peers, "127.0.0.1", 1, 20s);
    ASSERT_TRUE(sockets.ok()) << sockets.status();
    if (peers->rank() == 0) {
      std::vector<char> bytes(3 * kStreamBlockBytes);
      StreamPattern pattern(3, 0);
      for (int i = 0; i < 3; ++i) {
        std::copy_n(pattern.Block(i), kStreamBlockBytes,
                    bytes.begin() + static_cast<std::ptrdiff_t>(i * kStreamBlockBytes));
      }
      bytes[100] = static_cast<char>(bytes[100] ^ 4);
      ASSERT_TRUE(SendAll((*sockets)[0], bytes.data(), bytes.size(), MonotonicTime::max()).ok());
      ASSERT_TRUE(peers->Barrier(20s).ok());
      return;
    }
    ReceivingEnd end(3, 0, *std::move(sockets));
    const auto size = static_cast<int64_t>(kStreamBlockBytes);
    ASSERT_TRUE(end.Start(0, 3 * size, 1, true).ok());
    ASSERT_TRUE(end.Finish({3 * size}).ok());
    const StreamMismatches found = end.Check();
    EXPECT_EQ(found.wrong, 1);
    EXPECT_WORDING("kernels/wrong-byte-received", found.first);
    ASSERT_TRUE(peers->Barrier(20s).ok());
  });
}

TEST(Transfer, LostSenderIsNamedAndNothingHangs) {
  TransferTest(
      2, [](SendingEnd& end, Peers&) { end.Shutdown(); },
      [](ReceivingEnd& end, Peers&) {
        ASSERT_TRUE(end.Start(0, 1000, 1, true).ok());
        const Status received = end.Finish({500, 500});
        EXPECT_EQ(received.reason(), Reason::kPeerLost) << received;
        EXPECT_TRUE(end.enough());
      });
}

TEST(Transfer, LostReceiverIsNamedAndNothingHangs) {
  TransferTest(
      2,
      [](SendingEnd& end, Peers&) {
        const Status sent = end.Send(64, 16 << 20, nullptr);
        EXPECT_EQ(sent.reason(), Reason::kPeerLost) << sent;
      },
      [](ReceivingEnd& end, Peers&) {
        ASSERT_TRUE(end.Start(0, 64, 1, false).ok());
        static_cast<void>(end.Abort());
      });
}

}  // namespace
}  // namespace assay
