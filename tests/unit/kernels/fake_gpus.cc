// In place of kernels/builtin.cc: assay-runner as it is, with one GPU that does not exist
// and one collective of such GPUs, for tests of what gangs of GPUs are told apart by. The GPU
// is the one that CUDA_VISIBLE_DEVICES names; CUDA_FAKE_NAME is its product, and
// CUDA_FAKE_FAULT why it cannot be used.
#include <cstdlib>
#include <utility>

#include "kernels/platform.h"
#include "kernels/registry.h"

namespace assay {
namespace {

constexpr double kSeconds = 1e-3;

std::string FromEnvironment(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

class FakePlatform : public GpuPlatform {
 public:
  std::vector<LocalGpu> Gpus() override {
    if (!Fault().empty()) return {};
    LocalGpu gpu;
    gpu.name = FromEnvironment("CUDA_FAKE_NAME", "NVIDIA H200");
    gpu.uuid = FromEnvironment("CUDA_VISIBLE_DEVICES", "");
    gpu.driver_version = "580.95.05";
    return {gpu};
  }
  void FillVersions(LinkedSoftware* software) override {
    software->cuda_runtime = "13.0";
    software->nccl = "2.28.9";
  }
  GpuTrouble TroubleOf(int) override {
    GpuTrouble trouble;
    trouble.lost = !Fault().empty();
    trouble.evidence = Fault();
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
  Timing HowTimed() const override { return {"cold", "random", "events"}; }
  Result<Verdict> Verify() override {
    Verdict verdict;
    verdict.passed = true;
    verdict.reference = "itself";
    verdict.elements_checked = 1;
    return verdict;
  }
  Result<Verdict> VerifyLast() override { return Verify(); }
  Status Run(int64_t samples, int64_t /*batch*/, std::vector<double>* seconds) override {
    seconds->insert(seconds->end(), static_cast<size_t>(samples), kSeconds);
    return Status::Ok();
  }
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
  Result<std::unique_ptr<Case>> Prepare(const RunContext&) const override {
    return std::unique_ptr<Case>(new FakeCase());
  }

 private:
  BenchmarkInfo info_;
};

Registry MakeRegistry() {
  Registry registry;
  registry.Add(std::make_unique<FakeCollective>());
  return registry;
}

}  // namespace

const Registry& BuiltinBenchmarks() {
  static const Registry registry = MakeRegistry();
  return registry;
}

std::string LibraryLog() { return ""; }

GpuPlatform* Gpu() {
  static FakePlatform platform;
  return &platform;
}

}  // namespace assay
