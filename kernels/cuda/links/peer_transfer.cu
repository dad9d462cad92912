// The peer_transfer benchmark: copies data from one GPU to another using copy engines or a kernel,
// with either the sender writing or the receiver reading.
#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "kernels/cuda/frame/byte_pattern.h"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/event_timer.h"
#include "kernels/cuda/frame/mismatches.h"
#include "kernels/cuda/frame/rotation.h"
#include "kernels/cuda/links/peer_case.h"

namespace assay {
namespace {

constexpr uint64_t kForward = 1;
constexpr uint64_t kBackward = 2;
// The size of the area before the data. The two GPUs wait for each other at points called meetings
// (see MeetKernel). Each GPU announces its arrival in this area of the other GPU's memory.
constexpr int64_t kHeaderBytes = 256;
constexpr int64_t kAlignment = 256;
// The maximum size, in bytes, at which the latency of single copies is measured in addition.
constexpr int64_t kLatencyBytes = int64_t{64} << 10;
// The time that a GPU waits for the other GPU before it gives up.
constexpr uint64_t kMeetingNanoseconds = 5'000'000'000;

constexpr int kThreads = 512;
constexpr int kBlocksPerSm = 4;
// The number of 16-byte loads that each thread has in flight.
constexpr int kUnroll = 4;

// Copies `vectors` vectors of 16 bytes and `odd_bytes` more bytes. Each block copies pieces of
// kThreads * kUnroll vectors, and block 0 also copies the odd bytes.
__global__ void __launch_bounds__(kThreads)
    CopyKernel(const uint4* from, uint4* to, int64_t vectors, int odd_bytes) {
  constexpr int64_t kPiece = int64_t{kThreads} * kUnroll;
  for (int64_t piece = int64_t{blockIdx.x} * kPiece; piece < vectors;
       piece += int64_t{gridDim.x} * kPiece) {
    const int64_t first = piece + threadIdx.x;
    uint4 values[kUnroll];
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
      if (first + i * kThreads < vectors) values[i] = from[first + i * kThreads];
    }
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
      if (first + i * kThreads < vectors) to[first + i * kThreads] = values[i];
    }
  }
  if (blockIdx.x == 0 && static_cast<int>(threadIdx.x) < odd_bytes) {
    reinterpret_cast<char*>(to + vectors)[threadIdx.x] =
        reinterpret_cast<const char*>(from + vectors)[threadIdx.x];
  }
}

// Makes two GPUs wait for each other. Announces in the other GPU's memory (`theirs`) that this GPU
// has reached meeting `round`, then polls `mine` until the other GPU has done the same. If the
// other GPU does not arrive in time, increments `*missed`, and later meetings do not wait. Runs in
// a single thread.
__global__ void MeetKernel(unsigned* theirs, unsigned* mine, unsigned round, unsigned* missed) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(theirs), "r"(round) : "memory");
  if (*missed > 0) return;
  uint64_t begin = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin)::"memory");
  for (;;) {
    unsigned come = 0;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(come) : "l"(mine) : "memory");
    if (static_cast<int>(come - round) >= 0) return;
    uint64_t now = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
    if (now - begin > kMeetingNanoseconds) break;
  }
  atomicAdd(missed, 1U);
}

class PeerTransferCase : public PeerCase {
 public:
  explicit PeerTransferCase(const RunContext& context)
      : PeerCase(context),
        bytes_(Integer(context.parameters, "bytes")),
        write_(Word(context.parameters, "mode") == "write"),
        both_(Word(context.parameters, "direction") == "bidirectional"),
        by_kernel_(Word(context.parameters, "engine") == "sm") {}

  Status Prepare() {
    const int64_t stride = AlignUp(bytes_, kAlignment);
    // Both GPUs use the same memory layout. If data flows in only one direction, each GPU has a
    // single buffer.
    send_ = kHeaderBytes;
    receive_ = kHeaderBytes + (both_ ? stride : 0);
    ASSAY_RETURN_IF_ERROR(Connect(receive_ + stride, "the buffers of the transfer"));
    return Together(WarmUp());
  }

  // Returns a cache state of "none" instead of "cold" or "hot": every iteration uses the same
  // memory, so small transfers may be cached.
  Timing HowTimed() const override { return {"none", "random", "events"}; }
  int64_t UntimedIterations(int64_t /*samples*/, int64_t /*batch*/) const override { return 1; }

  Result<Verdict> Verify() override {
    ASSAY_RETURN_IF_ERROR(Together(Poison()));
    ASSAY_RETURN_IF_ERROR(Together(drives() ? CopyOnce() : Status::Ok()));
    return VerifyLast();
  }

  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override {
    ASSAY_RETURN_IF_ERROR(Together(Poison()));
    std::vector<double> mine;
    ASSAY_RETURN_IF_ERROR(Together(drives() ? Time(samples, batch, &mine) : Status::Ok()));
    ASSAY_ASSIGN_OR_RETURN(const auto all, Share(mine));
    const auto& forward = all[static_cast<size_t>(write_ ? from() : to())];
    const auto& backward = all[static_cast<size_t>(write_ ? to() : from())];
    const auto count = static_cast<size_t>(samples);
    if (forward.size() < count || (both_ && backward.size() < count)) {
      return Internal("a rank sent too few times");
    }
    for (size_t i = 0; i < count; ++i) {
      forward_.push_back(forward[i]);
      if (both_) backward_.push_back(backward[i]);
      seconds->push_back(both_ ? std::max(forward[i], backward[i]) : forward[i]);
    }
    latencies_.insert(latencies_.end(), forward.begin() + static_cast<std::ptrdiff_t>(count),
                      forward.end());
    return Status::Ok();
  }

  std::vector<double> Observed(const std::string& name) const override {
    if (name == "latency") return latencies_;
    std::vector<double> values = name == "forward_bandwidth" ? forward_ : backward_;
    for (double& value : values) value = static_cast<double>(bytes_) / value * 1e-9;
    return values;
  }

  Result<Verdict> VerifyLast() override {
    ASSAY_RETURN_IF_ERROR(Together(Synchronize()));
    Verdict verdict;
    verdict.passed = true;
    verdict.norm = "mismatches";
    if (receives()) {
      ASSAY_ASSIGN_OR_RETURN(verdict, CheckBytes(PatternOf(is_to() ? kForward : kBackward),
                                                 own() + receive_, bytes_, stream()));
    }
    verdict.reference = "exact pattern, every byte, by the receiving GPU";
    return verdict;
  }

 private:
  bool sends() const { return is_from() || (both_ && is_to()); }
  bool receives() const { return is_to() || (both_ && is_from()); }
  // Returns true if this GPU performs the copies: the sender if they write, the receiver if they
  // read.
  bool drives() const { return write_ ? sends() : receives(); }

  BytePattern PatternOf(uint64_t direction) const { return {seed(), direction}; }

  // Fills the source buffer, loads all kernels and performs a first copy, during which the driver
  // initializes its state. Otherwise, one GPU could be left waiting at a meeting while the other is
  // still loading kernels.
  Status WarmUp() {
    if (!in_pair()) return Status::Ok();
    ASSAY_ASSIGN_OR_RETURN(missed_, DeviceBuffer::Allocate(sizeof(unsigned), "the meeting"));
    ASSAY_CUDA(cudaMemsetAsync(missed_.data(), 0, sizeof(unsigned), stream()));
    if (sends()) {
      ASSAY_RETURN_IF_ERROR(
          FillBytes(PatternOf(is_from() ? kForward : kBackward), own() + send_, bytes_, stream()));
    }
    cudaFuncAttributes attributes;
    ASSAY_CUDA(cudaFuncGetAttributes(&attributes, MeetKernel));
    return drives() ? CopyOnce() : Synchronize();
  }

  Status Poison() {
    if (!receives()) return Status::Ok();
    ASSAY_RETURN_IF_ERROR(Synchronize());
    ASSAY_CUDA(cudaMemsetAsync(own() + receive_, 0xff, static_cast<size_t>(bytes_), stream()));
    return Synchronize();
  }

  Status Copy() {
    char* const to = write_ ? other() + receive_ : own() + receive_;
    const char* const from = write_ ? own() + send_ : other() + send_;
    if (!by_kernel_) {
      ASSAY_CUDA(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes_), cudaMemcpyDeviceToDevice,
                                 stream()));
      return Status::Ok();
    }
    const int64_t vectors = bytes_ / int64_t{sizeof(uint4)};
    const int64_t piece = int64_t{kThreads} * kUnroll;
    const int64_t blocks = std::clamp<int64_t>((vectors + piece - 1) / piece, 1,
                                               int64_t{device().sm_count} * kBlocksPerSm);
    CopyKernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream()>>>(
        reinterpret_cast<const uint4*>(from), reinterpret_cast<uint4*>(to), vectors,
        static_cast<int>(bytes_ % int64_t{sizeof(uint4)}));
    ASSAY_CUDA(cudaGetLastError());
    return Status::Ok();
  }

  Status CopyOnce() {
    ASSAY_RETURN_IF_ERROR(Synchronize());
    ASSAY_RETURN_IF_ERROR(Copy());
    return Synchronize();
  }

  // Makes the GPUs wait for each other if data flows in both directions, so that they start each
  // sample at the same time.
  Status Meet() {
    if (!both_) return Status::Ok();
    MeetKernel<<<1, 1, 0, stream()>>>(reinterpret_cast<unsigned*>(other()),
                                      reinterpret_cast<unsigned*>(own()), ++round_,
                                      missed_.as<unsigned>());
    ASSAY_CUDA(cudaGetLastError());
    return Status::Ok();
  }

  Status Time(int64_t samples, int64_t batch, std::vector<double>* seconds) {
    ASSAY_RETURN_IF_ERROR(Synchronize());
    ASSAY_RETURN_IF_ERROR(timer_.TimeApart(
        stream(), samples, batch, [this] { return Meet(); }, [this] { return Copy(); },
        [this] { return Synchronize(); }, seconds));
    if (both_) {
      unsigned missed = 0;
      ASSAY_CUDA(cudaMemcpy(&missed, missed_.data(), sizeof missed, cudaMemcpyDeviceToHost));
      if (missed > 0) {
        return Internal("the other GPU did not come to " + std::to_string(missed) + " samples",
                        Reason::kPeerTimeout);
      }
      return Status::Ok();
    }
    for (int64_t i = 0; bytes_ <= kLatencyBytes && i < samples; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      ASSAY_RETURN_IF_ERROR(Copy());
      ASSAY_CUDA(cudaStreamSynchronize(stream()));
      const std::chrono::duration<double, std::micro> alone =
          std::chrono::steady_clock::now() - begin;
      seconds->push_back(alone.count());
    }
    return Status::Ok();
  }

  const int64_t bytes_;
  const bool write_;
  const bool both_;
  const bool by_kernel_;
  int64_t send_ = 0;     // Offset of the sent data in either GPU's memory,
  int64_t receive_ = 0;  // and of the received data.
  unsigned round_ = 0;   // The latest meeting.
  DeviceBuffer missed_;
  EventTimer timer_;
  std::vector<double> forward_;  // Seconds per copy, by sample.
  std::vector<double> backward_;
  std::vector<double> latencies_;  // In microseconds.
};

}  // namespace

Result<std::unique_ptr<Case>> NewPeerTransferCase(const RunContext& context) {
  ASSAY_RETURN_IF_ERROR(CheckPair(context.parameters));
  return PrepareCase<PeerTransferCase>(context);
}

}  // namespace assay
