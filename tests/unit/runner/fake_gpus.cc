// Replaces kernels/builtin.cc, to test the real assay-runner with fake GPUs, a collective of them
// and a benchmark on one of them. Variables of the environment:
//   CUDA_VISIBLE_DEVICES   the GPU's UUID
//   CUDA_FAKE_NAME         the GPU's product name
//   CUDA_FAKE_FAULT        why the GPUs cannot be used
//   CUDA_FAKE_COUNT        the number of GPUs; 1 if not set
//   CUDA_FAKE_WRONG        the GPU whose results are wrong
//   CUDA_FAKE_CRASH        the GPU on which SIGKILL ends the process
//   CUDA_FAKE_HANG         the GPU on which fake_copy of size 2 prints "hangs" and never ends; or
//                          "list": the driver prints it and never lists its GPUs
//   CUDA_FAKE_LOG          a line that each case prints to stdout, as a library does
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "host/conditions.h"
#include "host/gpu_platform.h"
#include "kernels/registry.h"

namespace assay {
namespace {

constexpr double kSeconds = 1e-3;

std::string FromEnvironment(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

constexpr char kNoGpu[] = "needs a CUDA GPU; this node has none";

int Count() { return std::stoi(FromEnvironment("CUDA_FAKE_COUNT", "1")); }

void HangIf(const std::string& what) {
  if (FromEnvironment("CUDA_FAKE_HANG", "") != what) return;
  std::puts("hangs");
  std::fflush(stdout);
  for (;;) pause();
}

class FakePlatform : public GpuPlatform {
 public:
  std::vector<LocalGpu> Gpus() override {
    HangIf("list");
    if (!Fault().empty()) return {};
    LocalGpu gpu;
    gpu.name = FromEnvironment("CUDA_FAKE_NAME", "NVIDIA H200");
    gpu.uuid = FromEnvironment("CUDA_VISIBLE_DEVICES", "");
    gpu.driver_version = "580.95.05";
    std::vector<LocalGpu> gpus(static_cast<size_t>(Count()), gpu);
    for (int ordinal = 0; ordinal < Count(); ++ordinal) {
      LocalGpu& one = gpus[static_cast<size_t>(ordinal)];
      one.ordinal = ordinal;
      char bus_id[16];  // The same address as in tests/unit/host/fake_nvml.cc.
      std::snprintf(bus_id, sizeof bus_id, "0000:F%x:00.0", ordinal & 0xf);
      one.pci_bus_id = bus_id;
    }
    return gpus;
  }
  void FillVersions(LinkedSoftware* software) override {
    software->cuda_runtime = "13.0";
    software->nccl = "2.28.9";
  }
  GpuTrouble TroubleOf(int) override {
    GpuTrouble trouble;
    trouble.lost = !Fault().empty();
    trouble.evidence = Count() == 0 ? kNoGpu : Fault();
    return trouble;
  }
  std::unique_ptr<ConditionsSampler> NewSampler(int) override { return nullptr; }
  Result<double> MeasureCeiling(int, const std::string&) override {
    return Unsupported("a GPU that does not exist has no ceilings");
  }

 private:
  static std::string Fault() { return FromEnvironment("CUDA_FAKE_FAULT", ""); }
};

class FakeCase : public Case {
 public:
  explicit FakeCase(int gpu) : gpu_(std::to_string(gpu)) {}
  Timing HowTimed() const override { return {"cold", "random", "events"}; }
  Result<Verdict> Verify() override {
    if (FromEnvironment("CUDA_FAKE_CRASH", "") == gpu_) kill(getpid(), SIGKILL);
    if (const std::string log = FromEnvironment("CUDA_FAKE_LOG", ""); !log.empty()) {
      std::puts(log.c_str());
    }
    Verdict verdict;
    verdict.passed = FromEnvironment("CUDA_FAKE_WRONG", "") != gpu_;
    if (!verdict.passed) verdict.detail = "element 7 is 1, should be 0";
    verdict.reference = "itself";
    verdict.elements_checked = 1;
    return verdict;
  }
  Result<Verdict> VerifyLast() override { return Verify(); }
  Status Run(int64_t samples, int64_t /*batch*/, std::vector<double>* seconds) override {
    seconds->insert(seconds->end(), static_cast<size_t>(samples), kSeconds);
    return Status::Ok();
  }

 private:
  const std::string gpu_;
};

class FakeCollective : public Benchmark {
 public:
  FakeCollective() {
    info_.name = "fake_all_reduce";
    info_.summary = "a collective that moves nothing";
    info_.resource = Resource::kGpu;
    info_.collective = true;
    for (const auto& [name, value] : {std::pair("ranks", "2"), {"nodes", "1"}}) {
      ParameterSpec parameter;
      parameter.name = name;
      parameter.type = ParameterType::kInteger;
      parameter.description = std::string("how many ") + name;
      parameter.default_value = value;
      parameter.minimum = 1;
      parameter.maximum = 64;
      info_.parameters.push_back(std::move(parameter));
    }
    info_.metrics = {TimeMetric()};
    info_.model = "a millisecond";
  }
  const BenchmarkInfo& Info() const override { return info_; }
  Result<Work> WorkOf(const ParameterMap&, int) const override { return Work(); }
  Result<std::unique_ptr<Case>> Prepare(const RunContext& context) const override {
    return std::unique_ptr<Case>(new FakeCase(context.gpu));
  }

 private:
  BenchmarkInfo info_;
};

// A benchmark on one GPU, which lacks what size 4 needs.
class FakeCopy : public Benchmark {
 public:
  FakeCopy() {
    info_.name = "fake_copy";
    info_.summary = "copies nothing";
    info_.resource = Resource::kGpu;
    ParameterSpec size;
    size.name = "size";
    size.type = ParameterType::kInteger;
    size.description = "how much is not copied; 3 and 5 are never right";
    size.default_value = "1";
    size.minimum = 1;
    size.maximum = 5;
    info_.parameters.push_back(std::move(size));
    info_.selftest_parameters = {{"size", "1"}};
    info_.selftest_variants = {{{"size", "2"}}, {{"size", "4"}}};
    info_.metrics = {TimeMetric()};
    info_.model = "a millisecond";
  }
  const BenchmarkInfo& Info() const override { return info_; }
  std::string UnsupportedReason() const override { return Count() == 0 ? kNoGpu : ""; }
  Result<Work> WorkOf(const ParameterMap& parameters, int) const override {
    if (Integer(parameters, "size") == 3) return InvalidArgument("size is 3; it must not be");
    return Work();
  }
  Result<std::unique_ptr<Case>> Prepare(const RunContext& context) const override {
    if (Integer(context.parameters, "size") == 2) HangIf(std::to_string(context.gpu));
    if (Integer(context.parameters, "size") == 4) return Unsupported("size 4 needs another GPU");
    if (Integer(context.parameters, "size") == 5) return InvalidArgument("5 fits no GPU");
    return std::unique_ptr<Case>(new FakeCase(context.gpu));
  }

 private:
  BenchmarkInfo info_;
};

Registry MakeRegistry() {
  Registry registry;
  registry.Add(std::make_unique<FakeCollective>());
  registry.Add(std::make_unique<FakeCopy>());
  return registry;
}

}  // namespace

const Registry& BuiltinBenchmarks() {
  static const Registry registry = MakeRegistry();
  return registry;
}

std::string LibraryLog() { return ""; }

GpuPlatform* Gpu() {
  // Never destroyed, because a thread may still list GPUs when the process ends.
  static auto* const platform = new FakePlatform;
  return platform;
}

}  // namespace assay
