// Bare loops of cudaMemcpyPeerAsync in one process that sees all GPUs: the reference that
// peer_transfer's copy engines are compared with.
//
//   reference_peer
//
// reads one case a line from stdin and answers each with a line of JSON:
//   FROM TO BYTES write|read unidirectional|bidirectional
//   {"seconds": ..., "low": ..., "high": ..., "loops": ...}
// FROM and TO are CUDA ordinals. A sample is a loop of copies between events of the GPU that
// drives it, both ways at once the slower loop; seconds is the median of the samples, of
// one copy, low and high their 5th and 95th percentile. Exit code 77 with fewer than 2 GPUs.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr double kLoopSeconds = 20e-3;  // At least, of one loop.
constexpr double kWarmUpSeconds = 0.3;
constexpr double kWindowSeconds = 0.5;
constexpr int kMinLoops = 15;

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "reference_peer: %s\n", what.c_str());
  std::exit(1);
}

void Must(cudaError_t result, const char* what) {
  if (result != cudaSuccess) Die(std::string(what) + ": " + cudaGetErrorString(result));
}

struct Order {
  int from = 0;
  int to = 1;
  size_t bytes = 0;
  bool write = true;
  bool both = false;
};

// Returns the error in the line; empty if there is none.
std::string Parse(const std::string& line, int gpus, Order* order) {
  std::istringstream text(line);
  std::string mode;
  std::string direction;
  if (!(text >> order->from >> order->to >> order->bytes >> mode >> direction)) {
    return "not FROM TO BYTES MODE DIRECTION";
  }
  order->write = mode == "write";
  order->both = direction == "bidirectional";
  const bool known =
      (order->write || mode == "read") && (order->both || direction == "unidirectional");
  if (!known || order->bytes == 0) return "unknown mode or direction, or no bytes";
  const int highest = std::max(order->from, order->to);
  if (std::min(order->from, order->to) < 0 || highest >= gpus || order->from == order->to) {
    return "no such pair of GPUs";
  }
  return "";
}

// One direction: its memory, and the GPU that drives it.
class Way {
 public:
  Way(int from, int to, const Order& order)
      : from_(from), to_(to), driver_(order.write ? from : to), bytes_(order.bytes) {
    EnablePeer(from, to);
    EnablePeer(to, from);
    Must(cudaSetDevice(from), "cudaSetDevice");
    Must(cudaMalloc(&source_, bytes_), "cudaMalloc");
    Must(cudaMemset(source_, 1, bytes_), "cudaMemset");
    Must(cudaSetDevice(to), "cudaSetDevice");
    Must(cudaMalloc(&target_, bytes_), "cudaMalloc");
    Must(cudaSetDevice(driver_), "cudaSetDevice");
    Must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    Must(cudaEventCreate(&begin_), "cudaEventCreate");
    Must(cudaEventCreate(&end_), "cudaEventCreate");
  }

  ~Way() {
    cudaSetDevice(driver_);
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
    cudaStreamDestroy(stream_);
    cudaFree(source_);
    cudaFree(target_);
  }

  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;

  // Begins when `other`, if any, has begun.
  void Begin(const Way* other) {
    Must(cudaSetDevice(driver_), "cudaSetDevice");
    if (other != nullptr) Must(cudaStreamWaitEvent(stream_, other->begin_, 0), "wait for an event");
    Must(cudaEventRecord(begin_, stream_), "cudaEventRecord");
  }

  void Copy() {
    Must(cudaSetDevice(driver_), "cudaSetDevice");
    Must(cudaMemcpyPeerAsync(target_, to_, source_, from_, bytes_, stream_), "cudaMemcpyPeerAsync");
  }

  void End() {
    Must(cudaSetDevice(driver_), "cudaSetDevice");
    Must(cudaEventRecord(end_, stream_), "cudaEventRecord");
  }

  double Seconds() const {
    Must(cudaEventSynchronize(end_), "cudaEventSynchronize");
    float milliseconds = 0;
    Must(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
    return milliseconds * 1e-3;
  }

 private:
  static void EnablePeer(int own, int other) {
    Must(cudaSetDevice(own), "cudaSetDevice");
    const cudaError_t result = cudaDeviceEnablePeerAccess(other, 0);
    if (result == cudaErrorPeerAccessAlreadyEnabled) {
      cudaGetLastError();
      return;
    }
    Must(result, "cudaDeviceEnablePeerAccess");
  }

  const int from_;
  const int to_;
  const int driver_;
  const size_t bytes_;
  void* source_ = nullptr;
  void* target_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

// Seconds of one copy in a loop of `copies`, of the slower way.
double Loop(const std::vector<Way*>& ways, int copies) {
  for (size_t i = 0; i < ways.size(); ++i) ways[i]->Begin(i == 0 ? nullptr : ways[0]);
  for (int copy = 0; copy < copies; ++copy) {
    for (Way* way : ways) way->Copy();
  }
  for (Way* way : ways) way->End();
  double slowest = 0;
  for (const Way* way : ways) slowest = std::max(slowest, way->Seconds());
  return slowest / copies;
}

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Measure(const Order& order) {
  Way forward(order.from, order.to, order);
  std::vector<Way*> ways = {&forward};
  std::unique_ptr<Way> back;
  if (order.both) {
    back = std::make_unique<Way>(order.to, order.from, order);
    ways.push_back(back.get());
  }
  int copies = 1;
  const double begin = Now();
  while (Now() - begin < kWarmUpSeconds) {
    const double seconds = Loop(ways, copies);
    copies = std::clamp(static_cast<int>(kLoopSeconds / seconds), 1, 500);
  }
  std::vector<double> samples;
  const double window = Now();
  while (static_cast<int>(samples.size()) < kMinLoops || Now() - window < kWindowSeconds) {
    samples.push_back(Loop(ways, copies));
  }
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double share) {
    return samples[static_cast<size_t>(share * static_cast<double>(samples.size() - 1))];
  };
  std::printf("{\"seconds\": %.9g, \"low\": %.9g, \"high\": %.9g, \"loops\": %zu}\n", at(0.5),
              at(0.05), at(0.95), samples.size());
  std::fflush(stdout);
}

}  // namespace

int main() {
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus < 2) {
    std::printf("skipped: there are fewer than 2 GPUs\n");
    return 77;
  }
  for (std::string line; std::getline(std::cin, line);) {
    Order order;
    const std::string wrong = Parse(line, gpus, &order);
    if (wrong.empty()) {
      Measure(order);
      continue;
    }
    std::printf("{\"error\": \"%s\"}\n", wrong.c_str());
    std::fflush(stdout);
  }
  return 0;
}
