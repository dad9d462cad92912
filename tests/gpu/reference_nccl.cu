// NCCL called directly, the way nccl-tests does it: the reference that collectives are
// compared with. One process a rank; a sample is a loop of back-to-back calls between
// host clocks with the stream empty at both ends, the mean over ranks; buffers hold random
// numbers and shift with each call through at least 256 MiB.
//
// A kernel of one wave fills the buffers: after one of more blocks than the SMs hold at once NCCL
// is up to 1.5% slower (kernels/cuda/frame/one_wave.h), and a reference must be the fastest
// possible.
//
// A loop is of 20 calls and begins at the first buffer, as in nccl-tests, so that small arrays
// may still be in the L2 cache; or it lasts for 10 ms and goes on where the one before ended.
// In 20 calls a rank that only sends gets ahead of the one that receives, which flatters a gather
// by some percent.
//
//   reference_nccl RANKS [BLOCKS]
//
// BLOCKS are those of the kernel that fills, 0 for cudaMemset, to see what more than a wave does.
// It reads one case a line from stdin and answers each with a line of JSON:
//   COLLECTIVE BYTES DTYPE in|out short|long [grouped]
//   all_reduce 1048576 fp32 out short
//   {"seconds": ..., "low": ..., "high": ..., "loops": ..., "calls": ...}
// seconds is the median of the loops, low and high their 5th and 95th percentile. BYTES
// is the size as nccl-tests counts it: of the whole array. Sums; root 0; send_recv is a
// shift by one rank. all_to_all, gather and scatter are NCCL's own functions where it has them
// (2.28), as in nccl-tests since 2.17; `grouped` makes them of sends and receives, as before that.
// Exit code 77 if there are fewer GPUs than RANKS.
#include <cuda_runtime.h>
#include <nccl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {

constexpr int kShortCalls = 20;          // Of a short loop, as nccl-tests' -n.
constexpr double kLongSeconds = 10e-3;   // Of a long loop, at least.
constexpr int kMostCalls = 20000;        // Of a loop.
constexpr size_t kRotation = 256 << 20;  // Bytes, as nccl-tests' -e 256M.
constexpr unsigned kFillThreads = 256;
constexpr int kFillBlocksPerSm = 4;
constexpr double kWarmUpSeconds = 0.3;
constexpr double kWindowSeconds = 0.5;
constexpr int kMinLoops = 15;
constexpr int kMaxLoops = 5000;
constexpr size_t kAlignment = 16;  // Of a rank's share, in bytes.

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "reference_nccl: %s\n", what.c_str());
  std::exit(1);
}

void Must(cudaError_t result, const char* what) {
  if (result != cudaSuccess) Die(std::string(what) + ": " + cudaGetErrorString(result));
}

void Must(ncclResult_t result, const char* what) {
  if (result != ncclSuccess) Die(std::string(what) + ": " + ncclGetErrorString(result));
}

void WriteAll(int fd, const void* data, size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t wrote = write(fd, at, size);
    if (wrote <= 0) Die("a rank has gone");
    at += wrote;
    size -= static_cast<size_t>(wrote);
  }
}

// False at the end of the file.
bool ReadAll(int fd, void* data, size_t size) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = read(fd, at, size);
    if (got <= 0) return false;
    at += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

// An order of the parent to the ranks.
struct Order {
  char collective[32];
  char dtype[16];
  size_t bytes;
  bool in_place;
  bool is_long;
  bool grouped;
};

// How a rank runs an order, which depends on what the first calls took.
struct Plan {
  int warm_up_loops;
  int loops;
  int calls;  // Of a loop.
};

const std::map<std::string, std::pair<ncclDataType_t, size_t>>& Types() {
  static const std::map<std::string, std::pair<ncclDataType_t, size_t>> types = {
      {"fp32", {ncclFloat32, 4}}, {"fp16", {ncclFloat16, 2}}, {"bf16", {ncclBfloat16, 2}},
      {"fp64", {ncclFloat64, 8}}, {"int8", {ncclInt8, 1}},    {"int32", {ncclInt32, 4}},
  };
  return types;
}

// Random positive numbers of any of the types, whose sums over ranks are finite. Zeros would
// spare the links and memories power.
__global__ void __launch_bounds__(kFillThreads, kFillBlocksPerSm)
    FillKernel(uint32_t* words, size_t count, int rank) {
  const size_t step = size_t{gridDim.x} * blockDim.x;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    // The finalizer of SplitMix64 (Steele, Lea and Flood 2014).
    uint64_t bits = (i << 8 | static_cast<unsigned>(rank)) * 0x9e3779b97f4a7c15;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
    words[i] = static_cast<uint32_t>(bits >> 32) & 0x3fff3fff;
  }
}

class Rank {
 public:
  // A negative number of `fill_blocks` is one wave.
  Rank(int rank, int world_size, int fill_blocks, int fd)
      : rank_(rank), world_size_(world_size), fd_(fd), fill_blocks_(fill_blocks) {
    Must(cudaSetDevice(rank), "cudaSetDevice");
    if (fill_blocks_ < 0) {
      Must(cudaDeviceGetAttribute(&fill_blocks_, cudaDevAttrMultiProcessorCount, rank), "the SMs");
      fill_blocks_ *= kFillBlocksPerSm;
    }
    ncclUniqueId id{};
    if (rank == 0) {
      Must(ncclGetUniqueId(&id), "ncclGetUniqueId");
      WriteAll(fd, &id, sizeof id);
    }
    if (!ReadAll(fd, &id, sizeof id)) Die("the parent has gone");
    Must(ncclCommInitRank(&comm_, world_size, id, rank), "ncclCommInitRank");
    Must(cudaStreamCreate(&stream_), "cudaStreamCreate");
    Must(cudaMalloc(&barrier_, sizeof(float)), "cudaMalloc");
  }

  void Serve() {
    for (Order order{}; ReadAll(fd_, &order, sizeof order);) Answer(order);
    ncclCommDestroy(comm_);
  }

 private:
  void Answer(const Order& order) {
    order_ = order;
    std::tie(type_, element_) = Types().at(order.dtype);
    // Room for the largest shift, and for what a rank may write beside its share.
    room_ = std::max(kRotation, order.bytes);
    Must(cudaMalloc(&input_, room_), "cudaMalloc of the input");
    Must(cudaMalloc(&output_, room_), "cudaMalloc of the output");
    Fill(input_);
    Fill(output_);
    Loop(kShortCalls);
    const double first = Loop(kShortCalls);
    WriteAll(fd_, &first, sizeof first);
    Plan plan{};
    if (!ReadAll(fd_, &plan, sizeof plan)) Die("the parent has gone");
    for (int i = 0; i < plan.warm_up_loops; ++i) Loop(plan.calls);
    std::vector<double> seconds;
    for (int i = 0; i < plan.loops; ++i) seconds.push_back(Loop(plan.calls));
    WriteAll(fd_, seconds.data(), seconds.size() * sizeof(double));
    Must(cudaFree(input_), "cudaFree");
    Must(cudaFree(output_), "cudaFree");
  }

  void Fill(void* buffer) {
    if (fill_blocks_ == 0) {
      Must(cudaMemsetAsync(buffer, 0x3f, room_, stream_), "cudaMemset");
    } else {
      FillKernel<<<fill_blocks_, kFillThreads, 0, stream_>>>(static_cast<uint32_t*>(buffer),
                                                             room_ / sizeof(uint32_t), rank_);
    }
    Must(cudaGetLastError(), "the kernel that fills");
    Must(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }

  // Seconds a call.
  double Loop(int calls) {
    if (!order_.is_long) next_ = 0;
    // All ranks are here.
    Must(ncclAllReduce(barrier_, barrier_, 1, ncclFloat32, ncclSum, comm_, stream_), "a barrier");
    Must(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) Call();
    // As nccl-tests waits (testStreamSynchronize).
    cudaError_t state = cudaErrorNotReady;
    while (state == cudaErrorNotReady) state = cudaStreamQuery(stream_);
    Must(state, "cudaStreamQuery");
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    return took.count() / calls;
  }

  void Call() {
    const size_t step = (order_.bytes + 127) / 128 * 128;
    const size_t places = room_ / step;
    const size_t shift = places > 1 ? next_++ % places * step : 0;
    char* const in = static_cast<char*>(input_) + shift;
    char* const out = order_.in_place ? in : static_cast<char*>(output_) + shift;
    Must(Enqueue(in, out), order_.collective);
  }

  ncclResult_t Enqueue(char* in, char* out) {
    const std::string name = order_.collective;
    const auto ranks = static_cast<size_t>(world_size_);
    const size_t count = order_.bytes / element_;
    const size_t share_bytes = order_.bytes / ranks / kAlignment * kAlignment;
    const size_t share = share_bytes / element_;
    const size_t mine = static_cast<size_t>(rank_) * share_bytes;
    const bool in_place = order_.in_place;
    if (name == "all_reduce") {
      return ncclAllReduce(in, out, count, type_, ncclSum, comm_, stream_);
    }
    if (name == "broadcast") return ncclBroadcast(in, out, count, type_, 0, comm_, stream_);
    if (name == "reduce") return ncclReduce(in, out, count, type_, ncclSum, 0, comm_, stream_);
    if (name == "all_gather") {
      return ncclAllGather(in_place ? out + mine : in, out, share, type_, comm_, stream_);
    }
    if (name == "reduce_scatter") {
      return ncclReduceScatter(in, in_place ? out + mine : out, share, type_, ncclSum, comm_,
                               stream_);
    }
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
    if (name == "all_to_all" && !order_.grouped) {
      return ncclAlltoAll(in, out, share, type_, comm_, stream_);
    }
    if (name == "gather" && !order_.grouped) {
      return ncclGather(in_place ? in + mine : in, out, share, type_, 0, comm_, stream_);
    }
    if (name == "scatter" && !order_.grouped) {
      return ncclScatter(in, in_place ? out + mine : out, share, type_, 0, comm_, stream_);
    }
#endif
    Must(ncclGroupStart(), "ncclGroupStart");
    if (name == "send_recv") {
      Must(ncclSend(in, count, type_, (rank_ + 1) % world_size_, comm_, stream_), "ncclSend");
      Must(ncclRecv(out, count, type_, (rank_ + world_size_ - 1) % world_size_, comm_, stream_),
           "ncclRecv");
    }
    for (int peer = 0; peer < world_size_; ++peer) {
      const size_t at = static_cast<size_t>(peer) * share_bytes;
      const bool sends = name == "all_to_all" || (name == "scatter" && rank_ == 0);
      const bool receives = name == "all_to_all" || (name == "gather" && rank_ == 0);
      if (sends) Must(ncclSend(in + at, share, type_, peer, comm_, stream_), "ncclSend");
      if (receives) Must(ncclRecv(out + at, share, type_, peer, comm_, stream_), "ncclRecv");
    }
    if (name == "gather") {
      Must(ncclSend(in_place ? in + mine : in, share, type_, 0, comm_, stream_), "ncclSend");
    }
    if (name == "scatter") {
      Must(ncclRecv(in_place ? out + mine : out, share, type_, 0, comm_, stream_), "ncclRecv");
    }
    return ncclGroupEnd();
  }

  const int rank_;
  const int world_size_;
  const int fd_;
  int fill_blocks_;
  ncclComm_t comm_ = nullptr;
  cudaStream_t stream_ = nullptr;
  void* barrier_ = nullptr;
  Order order_{};
  ncclDataType_t type_ = ncclFloat32;
  size_t element_ = 4;
  size_t room_ = 0;  // Bytes of each buffer.
  void* input_ = nullptr;
  void* output_ = nullptr;
  size_t next_ = 0;
};

double Percentile(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1) + 0.5)];
}

// "" if the line is an order.
std::string Parse(const std::string& line, Order* order) {
  static const std::vector<std::string> collectives = {"all_reduce", "all_gather", "reduce_scatter",
                                                       "broadcast",  "reduce",     "all_to_all",
                                                       "gather",     "scatter",    "send_recv"};
  std::istringstream words(line);
  std::string collective, dtype, place, length, how;
  size_t bytes = 0;
  if (!(words >> collective >> bytes >> dtype >> place >> length)) {
    return "not COLLECTIVE BYTES DTYPE in|out short|long [grouped]";
  }
  if (words >> how && how != "grouped") return "not grouped but " + how;
  if (std::find(collectives.begin(), collectives.end(), collective) == collectives.end()) {
    return "no collective " + collective;
  }
  if (Types().count(dtype) == 0) return "no dtype " + dtype;
  *order = {};
  std::snprintf(order->collective, sizeof order->collective, "%s", collective.c_str());
  std::snprintf(order->dtype, sizeof order->dtype, "%s", dtype.c_str());
  order->bytes = bytes;
  order->in_place = place == "in";
  order->is_long = length == "long";
  order->grouped = how == "grouped";
  return "";
}

void Measure(const Order& order, const std::vector<int>& ranks) {
  for (const int fd : ranks) WriteAll(fd, &order, sizeof order);
  double slowest = 0;
  for (const int fd : ranks) {
    double first = 0;
    if (!ReadAll(fd, &first, sizeof first)) Die("a rank has gone");
    slowest = std::max(slowest, first);
  }
  const int most = order.is_long ? kMostCalls : kShortCalls;
  Plan plan{};
  plan.calls = std::clamp(static_cast<int>(std::ceil(kLongSeconds / slowest)), kShortCalls, most);
  const double loop = slowest * plan.calls;
  plan.warm_up_loops = std::clamp(static_cast<int>(kWarmUpSeconds / loop), 1, kMaxLoops);
  plan.loops = std::clamp(static_cast<int>(kWindowSeconds / loop), kMinLoops, kMaxLoops);
  for (const int fd : ranks) WriteAll(fd, &plan, sizeof plan);
  std::vector<double> means(static_cast<size_t>(plan.loops), 0.0);
  for (const int fd : ranks) {
    std::vector<double> seconds(means.size());
    if (!ReadAll(fd, seconds.data(), seconds.size() * sizeof(double))) Die("a rank has gone");
    for (size_t i = 0; i < means.size(); ++i) {
      means[i] += seconds[i] / static_cast<double>(ranks.size());
    }
  }
  std::sort(means.begin(), means.end());
  std::printf(
      "{\"seconds\": %.9g, \"low\": %.9g, \"high\": %.9g, \"loops\": %d, "
      "\"calls\": %d}\n",
      Percentile(means, 0.5), Percentile(means, 0.05), Percentile(means, 0.95), plan.loops,
      plan.calls);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int world_size = argc == 2 || argc == 3 ? std::atoi(argv[1]) : 0;
  const int fill_blocks = argc == 3 ? std::atoi(argv[2]) : -1;
  if (world_size < 2) Die("usage: reference_nccl RANKS [BLOCKS], 2 ranks or more");
  std::vector<int> ranks;
  for (int rank = 0; rank < world_size; ++rank) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) Die("socketpair failed");
    const pid_t child = fork();
    if (child < 0) Die("fork failed");
    if (child == 0) {
      // Only the parent holds the parent's ends, so that its end is seen by all.
      close(ends[0]);
      for (const int fd : ranks) close(fd);
      close(STDIN_FILENO);
      int gpus = 0;
      const bool enough = cudaGetDeviceCount(&gpus) == cudaSuccess && gpus >= world_size;
      WriteAll(ends[1], &enough, sizeof enough);
      if (!enough) return 0;
      Rank(rank, world_size, fill_blocks, ends[1]).Serve();
      return 0;
    }
    close(ends[1]);
    ranks.push_back(ends[0]);
  }
  for (const int fd : ranks) {
    bool enough = false;
    if (!ReadAll(fd, &enough, sizeof enough) || !enough) {
      std::printf("skipped: there are fewer than %d GPUs\n", world_size);
      return 77;
    }
  }
  ncclUniqueId id{};
  if (!ReadAll(ranks[0], &id, sizeof id)) Die("rank 0 has gone");
  for (const int fd : ranks) WriteAll(fd, &id, sizeof id);
  for (std::string line; std::getline(std::cin, line);) {
    Order order{};
    if (const std::string wrong = Parse(line, &order); !wrong.empty()) {
      std::printf("{\"error\": \"%s\"}\n", wrong.c_str());
      std::fflush(stdout);
      continue;
    }
    Measure(order, ranks);
  }
  // Their GPUs are free when this program has ended: not before they are gone.
  for (const int fd : ranks) close(fd);
  while (wait(nullptr) > 0) {
  }
  return 0;
}
