#include "kernels/net/ring.h"

#include <poll.h>

#include <algorithm>
#include <future>
#include <string>

#include "gang/greeting.h"
#include "gang/peers.h"
#include "kernels/random.h"

namespace assay {
namespace {

constexpr auto kElement = static_cast<int64_t>(sizeof(float));

// The progress of an exchange in one direction, in bytes.
struct Progress {
  int64_t done = 0;  // Bytes.
  int64_t total = 0;
  bool complete() const { return done == total; }
};

struct Draw {
  int64_t a, b;
};

Draw DrawAt(uint64_t seed, int64_t index) {
  const uint64_t random = RandomAt(seed, static_cast<uint64_t>(index));
  return {static_cast<int64_t>(random & 1023), static_cast<int64_t>(random >> 10 & 7)};
}

}  // namespace

Ring::Ring(int rank, int world_size, Socket next, Socket previous)
    : rank_(rank),
      world_size_(world_size),
      next_(std::move(next)),
      previous_(std::move(previous)) {}

Result<Ring> Ring::Connect(Peers& peers, const std::string& address, Duration timeout) {
  MeetingPoint mine;
  mine.host = address;
  Socket listener;
  const auto listen = [&]() -> Status {
    ASSAY_ASSIGN_OR_RETURN(mine.nonce, NewNonce());
    ASSAY_ASSIGN_OR_RETURN(listener, ListenOn(address, &mine.port));
    return Status::Ok();
  };
  ASSAY_RETURN_IF_ERROR(Agree(peers, listen(), timeout));
  ASSAY_ASSIGN_OR_RETURN(const auto points, AllGather(peers, mine.ToString(), timeout));
  const int world_size = peers.world_size();
  const int next = (peers.rank() + 1) % world_size;
  const int previous = (peers.rank() + world_size - 1) % world_size;
  ASSAY_ASSIGN_OR_RETURN(const MeetingPoint point,
                         MeetingPoint::Parse(points[static_cast<size_t>(next)]));
  const MonotonicTime deadline = Clock::Real().Now() + std::min(timeout, kConnectTimeout);
  const Caller me = {peers.rank(), Purpose::kMessages};
  // Connects to the next rank on another thread while this thread accepts the previous rank. If all
  // ranks did the two in sequence, every rank would wait for its neighbor.
  auto connected =
      std::async(std::launch::async, [&] { return ConnectAndGreet(point, me, deadline); });
  auto accepted = AcceptRanks(listener, mine.nonce, {previous}, deadline);
  auto to_next = connected.get();
  const Status called = to_next.ok()
                            ? Status::Ok()
                            : to_next.status()
                                  .WithContext("connection to rank " + std::to_string(next))
                                  .WithPeer({next});
  ASSAY_RETURN_IF_ERROR(Agree(peers, accepted.ok() ? called : accepted.status(), timeout));
  // Does not call NoticeSilence(), which would close a connection whose data stays unread for a
  // long time. This can happen here while the next rank is busy. A rank that is stuck is detected
  // by the stall timeout instead.
  NoticeSilentHost(*to_next);
  NoticeSilentHost(accepted->at(previous));
  return Ring(peers.rank(), world_size, std::move(*to_next), std::move(accepted->at(previous)));
}

Status Ring::AllReduce(const float* in, float* out, int64_t elements) {
  if (!next_.valid()) return PeerLost("the ring is closed after an earlier error");
  Status status = AllReduceSteps(in, out, elements);
  if (!status.ok()) {
    next_ = Socket();
    previous_ = Socket();
  }
  return status;
}

Status Ring::AllReduceSteps(const float* in, float* out, int64_t elements) {
  // Reduce-scatter: chunk c starts at rank c and travels around the ring, and each rank adds its
  // own input to it.
  for (int step = 0; step < world_size_ - 1; ++step) {
    const Span sent = Chunk(elements, rank_ - step);
    const Span got = Chunk(elements, rank_ - step - 1);
    const float* const source = step == 0 ? in : out;
    ASSAY_RETURN_IF_ERROR(Exchange(source + sent.begin, sent.end - sent.begin, out + got.begin,
                                   got.end - got.begin, in + got.begin));
  }
  // All-gather: rank r, which now has the sum of chunk r + 1, sends it first.
  for (int step = 0; step < world_size_ - 1; ++step) {
    const Span sent = Chunk(elements, rank_ + 1 - step);
    const Span got = Chunk(elements, rank_ - step);
    ASSAY_RETURN_IF_ERROR(Exchange(out + sent.begin, sent.end - sent.begin, out + got.begin,
                                   got.end - got.begin, nullptr));
  }
  return Status::Ok();
}

Status Ring::Exchange(const float* data, int64_t send_elements, float* into,
                      int64_t receive_elements, const float* addend) {
  // The maximum number of bytes to receive at once, small enough that the data is still in the
  // cache when it is added.
  constexpr int64_t kBlock = int64_t{256} << 10;
  Progress sending{0, send_elements * kElement};
  Progress receiving{0, receive_elements * kElement};
  int64_t added = 0;  // Elements.
  MonotonicTime deadline = Clock::Real().Now() + stall_timeout_;
  while (!sending.complete() || !receiving.complete()) {
    size_t moved = 0;
    if (!sending.complete()) {
      const auto sent = SendSome(next_, reinterpret_cast<const char*>(data) + sending.done,
                                 static_cast<size_t>(sending.total - sending.done));
      if (!sent.ok()) return Name(1, sent.status());
      sending.done += static_cast<int64_t>(*sent);
      moved += *sent;
    }
    if (!receiving.complete()) {
      const int64_t room = std::min(kBlock, receiving.total - receiving.done);
      const auto got = ReceiveSome(previous_, reinterpret_cast<char*>(into) + receiving.done,
                                   static_cast<size_t>(room));
      if (!got.ok()) return Name(-1, got.status());
      receiving.done += static_cast<int64_t>(*got);
      moved += *got;
      const int64_t whole = receiving.done / kElement;
      if (addend != nullptr) {
        for (; added < whole; ++added) into[added] += addend[added];
      }
    }
    if (moved != 0) {
      deadline = Clock::Real().Now() + stall_timeout_;
      continue;
    }
    pollfd entries[2] = {
        {sending.complete() ? -1 : next_.fd(), POLLOUT, 0},
        {receiving.complete() ? -1 : previous_.fd(), POLLIN, 0},
    };
    poll(entries, 2, PollMillis(deadline));
    if (Clock::Real().Now() >= deadline) {
      return Name(receiving.complete() ? 1 : -1, PeerTimeout("the connection stalled"));
    }
  }
  return Status::Ok();
}

Ring::Span Ring::Chunk(int64_t elements, int index) const {
  const int64_t chunk = (index % world_size_ + world_size_) % world_size_;
  return {elements * chunk / world_size_, elements * (chunk + 1) / world_size_};
}

Status Ring::Name(int offset, const Status& error) const {
  const int neighbour = (rank_ + offset + world_size_) % world_size_;
  return error.WithContext("exchange with rank " + std::to_string(neighbour)).WithPeer({neighbour});
}

float AllReduceInput(uint64_t seed, int rank, int64_t index) {
  const Draw draw = DrawAt(seed, index);
  return static_cast<float>(draw.a + rank * draw.b);
}

float AllReduceSum(uint64_t seed, int world_size, int64_t index) {
  const Draw draw = DrawAt(seed, index);
  const int64_t n = world_size;
  return static_cast<float>(n * draw.a + draw.b * (n * (n - 1) / 2));
}

Verdict VerifyAllReduce(uint64_t seed, int world_size, const float* out, int64_t elements) {
  Verdict verdict;
  verdict.reference = "exact sum, every element of every rank";
  verdict.norm = "mismatches";
  verdict.elements_checked = elements;
  for (int64_t i = 0; i < elements; ++i) {
    const float expected = AllReduceSum(seed, world_size, i);
    if (out[i] == expected) continue;
    if (verdict.error == 0) {
      verdict.detail = "element " + std::to_string(i) + " is " + std::to_string(out[i]) +
                       ", should be " + std::to_string(expected);
    }
    ++verdict.error;
  }
  verdict.passed = verdict.error == 0;
  return verdict;
}

}  // namespace assay
