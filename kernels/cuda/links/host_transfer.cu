// Prepares, runs and verifies the cases of the host_transfer benchmark.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/cuda/frame/byte_pattern.h"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/device.h"
#include "kernels/cuda/frame/gpu_case.h"
#include "kernels/cuda/links/host_memory.h"

namespace assay {
namespace {

constexpr uint64_t kStreamToDevice = 1;
constexpr uint64_t kStreamToHost = 2;

// The maximum size, in bytes, at which the latency of single copies is measured in addition.
constexpr int64_t kLatencyBytes = int64_t{64} << 10;

// A copy in one direction: the memory at both ends, the stream, and the events that time the copy.
class Transfer {
 public:
  // Allocates and fills the memory for a copy of `bytes` bytes, to the GPU if `to_device` is true
  // and from the GPU otherwise.
  static Result<Transfer> Create(bool to_device, int64_t bytes, bool pinned,
                                 const std::string& numa, uint64_t seed, int gpu) {
    Transfer transfer;
    transfer.to_device_ = to_device;
    transfer.bytes_ = bytes;
    transfer.pattern_ = {seed, to_device ? kStreamToDevice : kStreamToHost};
    // Rounds up, because the pattern consists of words of 8 bytes.
    const int64_t room = (bytes + 7) / 8 * 8;
    ASSAY_ASSIGN_OR_RETURN(transfer.stream_, CudaStream::Create());
    ASSAY_ASSIGN_OR_RETURN(transfer.device_, DeviceBuffer::Allocate(room, "the GPU's end"));
    ASSAY_ASSIGN_OR_RETURN(transfer.host_, HostMemory::Allocate(room, pinned, gpu, numa));
    ASSAY_ASSIGN_OR_RETURN(transfer.begin_, CudaEvent::CreateTimed());
    ASSAY_ASSIGN_OR_RETURN(transfer.end_, CudaEvent::CreateTimed());
    if (to_device) {
      for (int64_t i = 0; i < room / 8; ++i) transfer.host_.words()[i] = transfer.pattern_.Word(i);
      return Result<Transfer>(std::move(transfer));
    }
    ASSAY_RETURN_IF_ERROR(
        FillBytes(transfer.pattern_, transfer.device_.data(), room, transfer.stream()));
    ASSAY_CUDA(cudaStreamSynchronize(transfer.stream()));
    return Result<Transfer>(std::move(transfer));
  }

  cudaStream_t stream() const { return stream_.get(); }

  // Fills the destination with 0xff bytes, so that the check detects any byte that the next copy
  // fails to overwrite.
  Status Poison() {
    if (to_device_) {
      ASSAY_CUDA(cudaMemsetAsync(device_.data(), 0xff, static_cast<size_t>(bytes_), stream()));
    } else {
      std::memset(host_.data(), 0xff, static_cast<size_t>(bytes_));
    }
    return Status::Ok();
  }

  Status Copy() {
    void* const to = to_device_ ? device_.data() : host_.data();
    const void* const from = to_device_ ? host_.data() : device_.data();
    ASSAY_CUDA(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes_),
                               to_device_ ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost,
                               stream()));
    return Status::Ok();
  }

  Status RecordBegin() { return begin_.Record(stream()); }
  Status RecordEnd() { return end_.Record(stream()); }
  // Makes work that is enqueued on this stream after this call wait for the start of `other`.
  Status WaitForBegin(const Transfer& other) { return other.begin_.Await(stream()); }
  // Waits for this transfer to finish. Returns the time in seconds from the start of `first` to the
  // end of this transfer.
  Result<double> SecondsSince(const Transfer& first) const {
    ASSAY_CUDA(cudaEventSynchronize(end_.get()));
    float milliseconds = 0;
    ASSAY_CUDA(cudaEventElapsedTime(&milliseconds, first.begin_.get(), end_.get()));
    return milliseconds * 1e-3;
  }

  // Returns the memory that is the destination of the copy.
  OutputRange End() const { return {to_device_ ? device_.data() : host_.data(), bytes_}; }

  // Compares every byte at the destination.
  Result<Verdict> Check() const {
    Result<Verdict> verdict =
        to_device_ ? CheckBytes(pattern_, device_.data(), bytes_, stream()) : CheckHost();
    if (verdict.ok()) verdict->reference = "exact pattern, every byte; " + host_.Place();
    return verdict;
  }

 private:
  Result<Verdict> CheckHost() const {
    Verdict verdict;
    verdict.norm = "mismatches";
    verdict.elements_checked = bytes_;
    for (int64_t begin = 0; begin < bytes_; begin += 8) {
      const uint64_t expected = pattern_.Word(begin / 8);
      const auto length = static_cast<size_t>(std::min<int64_t>(8, bytes_ - begin));
      if (std::memcmp(&expected, host_.words() + begin / 8, length) == 0) continue;
      if (verdict.error == 0) {
        verdict.detail = "among the 8 bytes from byte " + std::to_string(begin) + " one is wrong";
      }
      verdict.error += 1;
    }
    verdict.passed = verdict.error == 0;
    return verdict;
  }

  bool to_device_ = true;
  int64_t bytes_ = 0;
  BytePattern pattern_;
  CudaStream stream_;
  DeviceBuffer device_;
  HostMemory host_;
  CudaEvent begin_;
  CudaEvent end_;
};

class HostTransferCase : public Case, public TransferEnds {
 public:
  explicit HostTransferCase(const RunContext& context)
      : gpu_(context.gpu),
        bytes_(Integer(context.parameters, "bytes")),
        pinned_(Word(context.parameters, "memory") == "pinned"),
        numa_(Word(context.parameters, "numa")),
        direction_(Word(context.parameters, "direction")),
        seed_(context.seed) {}

  Status Prepare() {
    ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
    for (const bool to_device : {true, false}) {
      if (direction_ == (to_device ? "d2h" : "h2d")) continue;
      ASSAY_ASSIGN_OR_RETURN(Transfer transfer,
                             Transfer::Create(to_device, bytes_, pinned_, numa_, seed_, gpu_));
      transfers_.push_back(std::move(transfer));
    }
    seconds_.resize(transfers_.size());
    return Iterate(1);  // Performs the driver's first-copy initialization.
  }

  // Returns a cache state of "none" instead of "cold" or "hot": all iterations use the same memory,
  // so small data may be cached by the host or the GPU.
  Timing HowTimed() const override { return {"none", "random", "events"}; }

  Result<Verdict> Verify() override {
    ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
    ASSAY_RETURN_IF_ERROR(Poison());
    ASSAY_RETURN_IF_ERROR(Iterate(1));
    return VerifyLast();
  }

  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override {
    ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
    ASSAY_RETURN_IF_ERROR(Poison());
    for (int64_t sample = 0; sample < samples; ++sample) {
      ASSAY_RETURN_IF_ERROR(Iterate(batch));
      double longest = 0;
      for (size_t i = 0; i < transfers_.size(); ++i) {
        ASSAY_ASSIGN_OR_RETURN(const double all, transfers_[i].SecondsSince(transfers_.front()));
        const double one = all / static_cast<double>(batch);
        seconds_[i].push_back(one);
        longest = std::max(longest, one);
      }
      seconds->push_back(longest);
    }
    return TimeAlone(samples);
  }

  // Returns the values of the metric `name`: the bandwidth of one direction in each sample, or the
  // latencies of single copies. Returns no values for a direction that is not measured.
  std::vector<double> Observed(const std::string& name) const override {
    if (name == "latency") return latencies_;
    const bool to_device = name == "h2d_bandwidth";
    if (direction_ == (to_device ? "d2h" : "h2d")) return {};
    std::vector<double> values = to_device ? seconds_.front() : seconds_.back();
    for (double& value : values) value = static_cast<double>(bytes_) / value * 1e-9;
    return values;
  }

  Result<Verdict> VerifyLast() override {
    ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
    ASSAY_CUDA(cudaDeviceSynchronize());
    Verdict all;
    for (const Transfer& transfer : transfers_) {
      ASSAY_ASSIGN_OR_RETURN(Verdict verdict, transfer.Check());
      verdict.elements_checked += all.elements_checked;
      if (!verdict.passed) return verdict;
      all = std::move(verdict);
    }
    return all;
  }

  std::vector<OutputRange> LastOutputs() override {
    std::vector<OutputRange> ends;
    for (const Transfer& transfer : transfers_) ends.push_back(transfer.End());
    return ends;
  }

 private:
  Status Poison() {
    for (Transfer& transfer : transfers_) ASSAY_RETURN_IF_ERROR(transfer.Poison());
    // Waits for both streams, so that neither copy is delayed by filling the memory.
    ASSAY_CUDA(cudaDeviceSynchronize());
    return Status::Ok();
  }

  // Measures the latency of small copies with the host's clock, as seen by a program that waits for
  // each copy.
  Status TimeAlone(int64_t samples) {
    if (transfers_.size() > 1 || bytes_ > kLatencyBytes) return Status::Ok();
    Transfer& transfer = transfers_.front();
    for (int64_t i = 0; i < samples; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      ASSAY_RETURN_IF_ERROR(transfer.Copy());
      ASSAY_CUDA(cudaStreamSynchronize(transfer.stream()));
      const std::chrono::duration<double, std::micro> alone =
          std::chrono::steady_clock::now() - begin;
      latencies_.push_back(alone.count());
    }
    return Status::Ok();
  }

  // Enqueues `batch` copies per direction and waits for them. Both directions start at the same
  // time.
  Status Iterate(int64_t batch) {
    Transfer& first = transfers_.front();
    Transfer& last = transfers_.back();
    ASSAY_RETURN_IF_ERROR(first.RecordBegin());
    if (&last != &first) ASSAY_RETURN_IF_ERROR(last.WaitForBegin(first));
    for (int64_t i = 0; i < batch; ++i) {
      for (Transfer& transfer : transfers_) ASSAY_RETURN_IF_ERROR(transfer.Copy());
    }
    for (Transfer& transfer : transfers_) ASSAY_RETURN_IF_ERROR(transfer.RecordEnd());
    for (Transfer& transfer : transfers_) {
      ASSAY_RETURN_IF_ERROR(transfer.SecondsSince(first).status());
    }
    return Status::Ok();
  }

  const int gpu_;
  const int64_t bytes_;
  const bool pinned_;
  const std::string numa_;
  const std::string direction_;
  const uint64_t seed_;
  std::vector<Transfer> transfers_;           // To the device and to the host, as requested.
  std::vector<std::vector<double>> seconds_;  // Per copy, by transfer and sample.
  std::vector<double> latencies_;             // In microseconds.
};

}  // namespace

Result<std::unique_ptr<Case>> NewHostTransferCase(const RunContext& context) {
  return PrepareCase<HostTransferCase>(context);
}

}  // namespace assay
