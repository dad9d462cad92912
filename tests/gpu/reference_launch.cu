// A bare loop of launches: the reference that launch_overhead from a stream, or of graphs of
// one kernel, is compared with, for the host sets their pace.
//
//   reference_launch kernel|graph LAUNCHES
//
// launches a kernel of one thread that adds to a counter, by itself or in a graph of nothing
// else, LAUNCHES times between two events, again and again for a second after a second of
// warm-up, and prints a line of JSON:
//   {"seconds": ..., "value": ..., "halves": [..., ...], "chains": ...}
// seconds is the median over the chains of the time a launch, value the same in us, halves
// the medians of the first and second half of the chains in seconds.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

constexpr double kWarmUpSeconds = 1.0;
constexpr double kWindowSeconds = 1.0;

__global__ void CountKernel(unsigned long long* counter) { atomicAdd(counter, 1ULL); }

void Must(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "reference_launch: %s: %s\n", what, cudaGetErrorString(result));
  std::exit(1);
}

class Chain {
 public:
  Chain(bool of_graphs, int launches) : of_graphs_(of_graphs), launches_(launches) {
    Must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    Must(cudaEventCreate(&begin_), "cudaEventCreate");
    Must(cudaEventCreate(&end_), "cudaEventCreate");
    Must(cudaMalloc(&counter_, sizeof *counter_), "cudaMalloc");
    Must(cudaMemset(counter_, 0, sizeof *counter_), "cudaMemset");
    Must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    cudaGraph_t graph = nullptr;
    Must(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
         "cudaStreamBeginCapture");
    Must(Kernel(), "cudaLaunchKernel");
    Must(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
    Must(cudaGraphInstantiate(&graph_, graph, 0), "cudaGraphInstantiate");
  }

  // Seconds of each launch's share, of every chain begun within `window_seconds`.
  std::vector<double> Run(double window_seconds) {
    using Clock = std::chrono::steady_clock;
    std::vector<double> seconds;
    const auto begin = Clock::now();
    while (std::chrono::duration<double>(Clock::now() - begin).count() < window_seconds) {
      seconds.push_back(Once());
    }
    return seconds;
  }

  // Whether every launch has counted.
  bool Counted() const {
    unsigned long long count = 0;
    Must(cudaMemcpy(&count, counter_, sizeof count, cudaMemcpyDefault), "cudaMemcpy");
    return count == launched_;
  }

 private:
  cudaError_t Kernel() {
    void* arguments[] = {&counter_};
    return cudaLaunchKernel(CountKernel, dim3(1), dim3(1), arguments, 0, stream_);
  }

  double Once() {
    Must(cudaEventRecord(begin_, stream_), "cudaEventRecord");
    cudaError_t launched = cudaSuccess;
    for (int i = 0; i < launches_ && launched == cudaSuccess; ++i) {
      launched = of_graphs_ ? cudaGraphLaunch(graph_, stream_) : Kernel();
    }
    Must(launched, of_graphs_ ? "cudaGraphLaunch" : "cudaLaunchKernel");
    Must(cudaEventRecord(end_, stream_), "cudaEventRecord");
    Must(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    launched_ += static_cast<unsigned long long>(launches_);
    float milliseconds = 0;
    Must(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
    return milliseconds * 1e-3 / launches_;
  }

  const bool of_graphs_;
  const int launches_;
  cudaGraphExec_t graph_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  unsigned long long* counter_ = nullptr;
  unsigned long long launched_ = 0;
};

double Median(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc == 3 ? argv[1] : "";
  const int launches = argc == 3 ? std::atoi(argv[2]) : 0;
  if (launches < 1 || (what != "kernel" && what != "graph")) {
    std::fprintf(stderr, "usage: reference_launch kernel|graph LAUNCHES, 1 or more of them\n");
    return 2;
  }
  Chain chain(what == "graph", launches);
  chain.Run(kWarmUpSeconds);
  const std::vector<double> seconds = chain.Run(kWindowSeconds);
  if (!chain.Counted()) {
    std::fprintf(stderr, "reference_launch: a launch has not counted\n");
    return 1;
  }
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>((seconds.size() + 1) / 2);
  const double median = Median(seconds);
  const double first = Median({seconds.begin(), middle});
  const double second = middle == seconds.end() ? first : Median({middle, seconds.end()});
  std::printf("{\"seconds\": %.9g, \"value\": %.9g, \"halves\": [%.9g, %.9g], \"chains\": %zu}\n",
              median, median * 1e6, first, second, seconds.size());
  return 0;
}
