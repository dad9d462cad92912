#include "agent/core/preflight.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "agent/core/inventory.h"
#include "common/units.h"
#include "host/memory.h"

namespace assay::agent {
namespace {

using Finding = v1::HealthFinding;

constexpr int64_t kDiskErrorBytes = int64_t{64} << 20;
constexpr int64_t kDiskWarningBytes = int64_t{1} << 30;
constexpr int64_t kMemoryErrorBytes = int64_t{64} << 20;
constexpr int64_t kMemoryWarningBytes = int64_t{512} << 20;

class Findings {
 public:
  void Add(const char* check, Finding::Severity severity, std::string message) {
    Finding& finding = findings_.emplace_back();
    finding.set_check(check);
    finding.set_severity(severity);
    finding.set_message(std::move(message));
  }
  void Error(const char* check, std::string message) {
    Add(check, Finding::SEVERITY_ERROR, std::move(message));
  }
  void Warn(const char* check, std::string message) {
    Add(check, Finding::SEVERITY_WARNING, std::move(message));
  }
  std::vector<Finding> Take() && { return std::move(findings_); }

 private:
  std::vector<Finding> findings_;
};

void JudgeGpu(const PreflightFacts::Gpu& gpu, Findings* findings) {
  const v1::GpuInventory& inventory = gpu.inventory;
  const std::string who = "GPU " + std::to_string(inventory.index());
  if (inventory.uuid().empty()) {
    findings->Error("gpu_present", who + " does not answer: the driver gives no UUID for it");
    return;
  }
  if (gpu.errors.ecc_uncorrected.value_or(0) > 0) {
    findings->Error("ecc_uncorrected",
                    who + " has counted " + std::to_string(*gpu.errors.ecc_uncorrected) +
                        " uncorrected ECC errors since the driver was loaded; reset or replace it");
  }
  if (gpu.errors.row_remap_failed.value_or(false)) {
    findings->Error("row_remap", who + " could not remap a broken memory row; replace it");
  } else if (gpu.errors.row_remap_pending.value_or(false)) {
    findings->Warn("row_remap", who + " has a memory row to remap; reset it");
  }
  if (gpu.processes.value_or(0) > 0) {
    findings->Warn("gpu_processes", who + " is shared: " + std::to_string(*gpu.processes) +
                                        " processes compute on it");
  }
  if (inventory.has_pcie_width() && inventory.has_pcie_width_max() &&
      inventory.pcie_width() < inventory.pcie_width_max()) {
    findings->Warn("pcie_width", who + " runs at PCIe x" + std::to_string(inventory.pcie_width()) +
                                     ", its maximum is x" +
                                     std::to_string(inventory.pcie_width_max()));
  }
  // An idle GPU lowers its PCIe generation, so a low one is a finding only at full clocks.
  const bool at_rest = !gpu.sample.sm_clock_mhz || !inventory.has_sm_clock_max_mhz() ||
                       *gpu.sample.sm_clock_mhz < 0.8 * inventory.sm_clock_max_mhz();
  if (!at_rest && inventory.has_pcie_generation() && inventory.has_pcie_generation_max() &&
      inventory.pcie_generation() < inventory.pcie_generation_max()) {
    findings->Warn("pcie_generation",
                   who + " runs at PCIe generation " + std::to_string(inventory.pcie_generation()) +
                       ", its maximum is " + std::to_string(inventory.pcie_generation_max()));
  }
  for (const std::string& reason :
       gpu.sample.throttle_reasons.value_or(std::vector<std::string>())) {
    if (!IsHarmfulThrottleReason(reason)) continue;
    findings->Warn("throttled_before", who + " is throttled before the measurement: " + reason);
  }
}

void JudgeSpace(const char* check, const char* what, std::optional<int64_t> bytes,
                int64_t error_below, int64_t warn_below, Findings* findings) {
  if (!bytes || *bytes >= warn_below) return;
  const bool error = *bytes < error_below;
  // Whole MiB, because exact bytes add no information.
  const std::string message = std::string(what) + " has " + FormatBytes(*bytes >> 20 << 20) +
                              " free; at least " + FormatBytes(error ? error_below : warn_below) +
                              " should be";
  findings->Add(check, error ? Finding::SEVERITY_ERROR : Finding::SEVERITY_WARNING, message);
}

PreflightFacts ReadFacts(const Nvml* nvml, const std::vector<int>& gpu_indices,
                         const std::string& spool_folder) {
  PreflightFacts facts;
  for (const int index : gpu_indices) {
    PreflightFacts::Gpu& gpu = facts.gpus.emplace_back();
    gpu.inventory.set_index(index);
    if (nvml == nullptr) continue;
    gpu.inventory = ReadGpu(*nvml, index);
    gpu.errors = nvml->Errors(index);
    gpu.sample = nvml->Sample(index);
    if (const auto processes = nvml->ComputeProcesses(index)) {
      gpu.processes = static_cast<int>(processes->size());
    }
  }
  struct statvfs disk {};
  if (::statvfs(spool_folder.c_str(), &disk) == 0) {
    facts.disk_free_bytes =
        static_cast<int64_t>(disk.f_bavail) * static_cast<int64_t>(disk.f_frsize);
  }
  facts.memory_available_bytes = AvailableHostBytes();
  return facts;
}

}  // namespace

std::vector<Finding> JudgePreflight(const PreflightFacts& facts) {
  Findings findings;
  for (const PreflightFacts::Gpu& gpu : facts.gpus) JudgeGpu(gpu, &findings);
  JudgeSpace("disk_free", "the disk of the result spool", facts.disk_free_bytes, kDiskErrorBytes,
             kDiskWarningBytes, &findings);
  JudgeSpace("memory_free", "the host's memory", facts.memory_available_bytes, kMemoryErrorBytes,
             kMemoryWarningBytes, &findings);
  return std::move(findings).Take();
}

std::optional<Finding> JudgeNvml(const Status& opened) {
  if (opened.ok() || opened.reason() == Reason::kNoNvidiaDriver) return std::nullopt;
  Findings findings;
  findings.Error("gpu_driver", "the GPUs of this node are not known: " + opened.message() +
                                   "; then start the agent again");
  return std::move(findings).Take().front();
}

const Finding* PreflightReport::FirstError() const {
  for (const Finding& finding : findings) {
    if (finding.severity() == Finding::SEVERITY_ERROR) return &finding;
  }
  return nullptr;
}

std::vector<std::string> PreflightReport::WarningFlags() const {
  std::vector<std::string> flags;
  for (const Finding& finding : findings) {
    if (finding.severity() != Finding::SEVERITY_WARNING) continue;
    if (std::find(flags.begin(), flags.end(), finding.check()) != flags.end()) continue;
    flags.push_back(finding.check());
  }
  return flags;
}

Preflight::Preflight(std::shared_ptr<const Nvml> nvml, const std::string& spool_folder)
    : Preflight([nvml = std::move(nvml), spool_folder](const std::vector<int>& gpu_indices) {
        return ReadFacts(nvml.get(), gpu_indices, spool_folder);
      }) {}

PreflightReport Preflight::Run(const std::vector<int>& gpu_indices, Duration budget) const {
  MutexLock lock(mutex_);
  if (hung_ && hung_->answer.wait_for(Duration::zero()) != std::future_status::ready) {
    return hung_->report;
  }
  hung_.reset();
  // Runs on a separate thread, which is abandoned if the driver does not answer.
  auto task = std::make_shared<std::packaged_task<PreflightFacts()>>(
      [reader = reader_, gpu_indices] { return reader(gpu_indices); });
  std::future<PreflightFacts> answer = task->get_future();
  std::thread([task] { (*task)(); }).detach();
  PreflightReport report;
  if (answer.wait_for(2 * budget) != std::future_status::ready) {
    Findings findings;
    findings.Error("preflight_budget", "reading the node's state took longer than " +
                                           FormatDuration(2 * budget) +
                                           "; the GPU driver does not answer");
    report.findings = std::move(findings).Take();
    hung_ = Hung{std::move(answer), report};
    return report;
  }
  const PreflightFacts facts = answer.get();
  report.findings = JudgePreflight(facts);
  for (const PreflightFacts::Gpu& gpu : facts.gpus) report.gpus.push_back(gpu.inventory);
  return report;
}

}  // namespace assay::agent
