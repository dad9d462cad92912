// Prepares, runs and verifies the cases of the tcp_latency benchmark.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "gang/peers.h"
#include "kernels/benchmark.h"
#include "kernels/net/pair.h"
#include "kernels/net/spin_room.h"
#include "kernels/random.h"

namespace assay {
namespace {

constexpr int kStallSeconds = 30;
// The number of bytes at the start of the receive buffer that are overwritten before each round
// trip, to detect bytes that do not arrive. Small enough not to affect the measured time.
constexpr size_t kPoisonedBytes = 64;

class TcpLatencyCase : public Case {
 public:
  TcpLatencyCase(const RunContext& context, Socket socket)
      : rank_(context.rank),
        seed_(context.seed),
        spins_(Word(context.parameters, "wait") == "spin"),
        message_(static_cast<size_t>(Integer(context.parameters, "bytes"))),
        received_(message_.size()),
        socket_(std::move(socket)) {
    for (size_t i = 0; i < message_.size(); ++i)
      message_[i] = static_cast<char>(RandomAt(seed_, i));
  }

  // Makes the socket blocking. A rank that sleeps until data arrives then makes only one system
  // call, as most programs do, without calling poll() first.
  Status Prepare() {
    const int flags = fcntl(socket_.fd(), F_GETFL);
    const timeval stall = {kStallSeconds, 0};
    if (flags < 0 || fcntl(socket_.fd(), F_SETFL, flags & ~O_NONBLOCK) != 0 ||
        setsockopt(socket_.fd(), SOL_SOCKET, SO_RCVTIMEO, &stall, sizeof stall) != 0 ||
        setsockopt(socket_.fd(), SOL_SOCKET, SO_SNDTIMEO, &stall, sizeof stall) != 0) {
      return Internal(std::string("cannot set up the connection: ") + std::strerror(errno));
    }
    return Status::Ok();
  }

  Timing HowTimed() const override { return {"none", "random", "host_clock"}; }
  double MinSampleSeconds() const override { return 1e-6; }
  // Allows enough samples to time round trips of 10 us individually, so that the results show the
  // slowest ones.
  void AdjustRule(MeasureRule* rule) const override {
    rule->min_seconds = 0.1;
    rule->max_samples = 10'000;
  }

  Result<Verdict> Verify() override {
    Poison(received_.size());
    ASSAY_RETURN_IF_ERROR(RoundTrip());
    return VerifyLast();
  }

  // Times round trips on rank 0. Rank 1 only answers, and its times are 0.
  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override {
    Poison(received_.size());
    // Makes an untimed round trip, which waits until the other rank is ready.
    ASSAY_RETURN_IF_ERROR(RoundTrip());
    for (int64_t sample = 0; sample < samples; ++sample) {
      const auto begin = std::chrono::steady_clock::now();
      for (int64_t i = 0; i < batch; ++i) ASSAY_RETURN_IF_ERROR(RoundTrip());
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      seconds->push_back(rank_ == 0 ? took.count() / static_cast<double>(batch) : 0);
    }
    if (rank_ == 0) AddTail({seconds->end() - samples, seconds->end()});
    return Status::Ok();
  }

  std::vector<double> Observed(const std::string& /*name*/) const override { return tails_; }

  Result<Verdict> VerifyLast() override {
    Verdict verdict;
    verdict.reference = "the exact message, every byte, at either end";
    verdict.norm = "mismatches";
    verdict.elements_checked = static_cast<int64_t>(message_.size());
    for (size_t i = 0; i < message_.size(); ++i) {
      if (received_[i] == message_[i]) continue;
      if (verdict.error == 0) verdict.detail = "byte " + std::to_string(i) + " is wrong";
      ++verdict.error;
    }
    verdict.passed = verdict.error == 0;
    return verdict;
  }

 private:
  // Overwrites the first `bytes` bytes of the receive buffer, so that the check detects bytes that
  // never arrive.
  void Poison(size_t bytes) {
    std::memset(received_.data(), ~message_[0], std::min(received_.size(), bytes));
  }

  // Sends rank 0's message to rank 1, which returns the bytes that it has received.
  Status RoundTrip() {
    Poison(kPoisonedBytes);
    Status moved = rank_ == 0 ? Send(message_) : Status::Ok();
    if (moved.ok()) moved = Receive();
    if (moved.ok() && rank_ != 0) moved = Send(received_);
    return moved.WithPeer({1 - rank_});
  }

  Status Send(const std::vector<char>& bytes) {
    for (size_t sent = 0; sent < bytes.size();) {
      const ssize_t now =
          send(socket_.fd(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (now < 0) ASSAY_RETURN_IF_ERROR(Failed());
      sent += static_cast<size_t>(std::max<ssize_t>(now, 0));
    }
    return Status::Ok();
  }

  Status Receive() {
    const auto begin = std::chrono::steady_clock::now();
    const int flags = spins_ ? MSG_DONTWAIT : MSG_WAITALL;
    for (size_t got = 0; got < received_.size();) {
      const ssize_t now = recv(socket_.fd(), received_.data() + got, received_.size() - got, flags);
      if (now == 0) return PeerLost("the connection was closed");
      if (now > 0) {
        got += static_cast<size_t>(now);
        continue;
      }
      const bool nothing_yet = spins_ && (errno == EAGAIN || errno == EWOULDBLOCK);
      if (!nothing_yet) {
        ASSAY_RETURN_IF_ERROR(Failed());
      } else if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(kStallSeconds)) {
        return PeerTimeout("nothing came for 30 s");
      }
    }
    return Status::Ok();
  }

  // Returns the error for a system call that returned -1, or OK if a signal interrupted the call.
  static Status Failed() {
    if (errno == EINTR) return Status::Ok();
    if (errno == EAGAIN || errno == EWOULDBLOCK) return PeerTimeout("nothing moved for 30 s");
    return PeerLost(std::strerror(errno));
  }

  // Computes the 99th percentile of `seconds` and appends it to tails_. Appends one copy per
  // sample, because Observed() must return one value for each sample.
  void AddTail(std::vector<double> seconds) {
    const size_t rank = (seconds.size() * 99 + 99) / 100 - 1;
    std::nth_element(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(rank),
                     seconds.end());
    tails_.insert(tails_.end(), seconds.size(), seconds[rank] * 1e6);
  }

  const int rank_;
  const uint64_t seed_;
  const bool spins_;
  std::vector<char> message_;
  std::vector<char> received_;
  Socket socket_;
  std::vector<double> tails_;  // Microseconds, one per sample.
};

}  // namespace

Result<std::unique_ptr<Case>> NewTcpLatencyCase(const RunContext& context) {
  if (Word(context.parameters, "wait") == "spin") {
    ASSAY_RETURN_IF_ERROR(RoomToSpin(*context.peers, kPeerTimeout));
  }
  ASSAY_ASSIGN_OR_RETURN(auto sockets,
                         ConnectPair(*context.peers, context.advertise_address, 1, kPeerTimeout));
  return PrepareCase<TcpLatencyCase>(context, std::move(sockets[0]));
}

}  // namespace assay
