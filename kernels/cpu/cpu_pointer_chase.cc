// Prepares, runs and verifies the cases of the cpu_pointer_chase benchmark.
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "common/units.h"
#include "host/cpu.h"
#include "kernels/cpu/chase_size.h"
#include "kernels/cpu/host_buffer.h"
#include "kernels/cpu/pointer_cycle.h"
#include "kernels/cpu/team_case.h"

namespace assay {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;
static_assert(kCpuChaseLoads % kWalkUnroll == 0);

// Returns the number of bytes in huge pages, within the memory mapping that contains `address`.
int64_t HugePageBytes(const void* address) {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  const std::string name = "AnonHugePages:";
  std::ifstream file("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    unsigned long first = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &first, &end) == 2) {
      inside = first <= wanted && wanted < end;
    } else if (inside && line.rfind(name, 0) == 0) {
      return std::atoll(line.c_str() + name.size()) * 1024;  // In kB.
    }
  }
  return 0;
}

class CpuPointerChaseCase : public TeamCase {
 public:
  CpuPointerChaseCase(const RunContext& context, int64_t bytes)
      : TeamCase(context, 1, static_cast<double>(bytes)), bytes_(bytes) {
    cycle_.stride = Integer(context.parameters, "stride");
    cycle_.elements = bytes / cycle_.stride;
  }

  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override {
    samples_ += samples;
    return TeamCase::Run(samples, batch, seconds);
  }

  Result<Verdict> VerifyLast() override { return cycle_.Check(end_, position_); }

  std::vector<double> Observed(const std::string& name) const override {
    const double value = name == "working_set" ? static_cast<double>(bytes_) : huge_percent_;
    return std::vector<double>(static_cast<size_t>(samples_), value);
  }

 protected:
  Status Allocate() override {
    const int64_t pages = (bytes_ + kHugePage - 1) / kHugePage * kHugePage;
    const int64_t mapped = pages + kHugePage;  // Leaves room to align.
    const auto order_bytes = static_cast<double>(cycle_.elements) * sizeof(int64_t);
    ASSAY_RETURN_IF_ERROR(
        CheckMemoryFor(static_cast<double>(mapped) + order_bytes, [&](double available) {
          // The random order of the elements needs 8 bytes per element.
          const auto stride = static_cast<double>(cycle_.stride);
          const double most = available / (1 + sizeof(int64_t) / stride) - 2.0 * kHugePage;
          return "bytes of about " + ApproximateBytes(std::max<int64_t>(0, most)) + " would fit";
        }));
    ASSAY_ASSIGN_OR_RETURN(memory_, HostBuffer<double>::Allocate(mapped / int64_t{sizeof(double)}));
    const auto begin = reinterpret_cast<uintptr_t>(memory_.data());
    const uintptr_t to_page = (kHugePage - begin % kHugePage) % kHugePage;
    cycle_.base = reinterpret_cast<char*>(memory_.data()) + to_page;
    // Ignores errors, because huge pages are not necessary. Without them, the loads miss the TLB.
    madvise(cycle_.base, static_cast<size_t>(pages), MADV_HUGEPAGE);
    std::vector<int64_t> order(static_cast<size_t>(cycle_.elements));
    team().Run([&](int) { cycle_.Build(seed(), &order); });
    huge_percent_ =
        100.0 * static_cast<double>(HugePageBytes(cycle_.base)) / static_cast<double>(pages);
    start_ = cycle_.First();
    return Status::Ok();
  }

  void FillOutput(int64_t /*step*/) override { end_ = nullptr; }

  void Iterate(int /*worker*/) override {
    end_ = Walk(start_, kCpuChaseLoads);
    start_ = end_;
    position_ = (position_ + kCpuChaseLoads) % cycle_.elements;
  }

 private:
  const int64_t bytes_;
  PointerCycle cycle_;
  HostBuffer<double> memory_;
  double huge_percent_ = 0;
  int64_t samples_ = 0;
  // The element where the next walk starts, and its position in the cycle.
  const PointerCycle::Element* start_ = nullptr;
  int64_t position_ = 0;
  const PointerCycle::Element* end_ = nullptr;  // Of the latest walk.
};

}  // namespace

Result<std::unique_ptr<Case>> NewCpuPointerChaseCase(const RunContext& context) {
  const std::string& level = Word(context.parameters, "level");
  int64_t bytes = Integer(context.parameters, "bytes");
  if (level != "none") {
    const auto of_level = ChaseBytes(level, DataCacheBytes());
    if (!of_level) {
      return Unsupported("level " + level + " needs a CPU whose system reports this cache; " +
                         Cpu().model + " here has " + std::to_string(DataCacheBytes().size()) +
                         " known levels");
    }
    const int64_t stride = Integer(context.parameters, "stride");
    bytes = std::max(*of_level, stride) / stride * stride;
  }
  return PrepareCase<CpuPointerChaseCase>(context, bytes);
}

}  // namespace assay
