#include "agent/join/machine.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/file.h"
#include "identity/key_file.h"

namespace assay::agent {
namespace {

constexpr size_t kMaxFileBytes = 4096;

bool BothKnown(const std::string& one, const std::string& other) {
  return !one.empty() && !other.empty();
}

// Treats a damaged file like a missing one, because the check only protects against mistakes.
MachineFacts ReadRecord(const std::string& path) {
  const Result<std::string> text = ReadFile(path, kMaxFileBytes);
  const nlohmann::json json =
      nlohmann::json::parse(text.ok() ? *text : "", nullptr, /*allow_exceptions=*/false);
  const auto field = [&](const char* name) {
    const auto found = json.is_object() ? json.find(name) : json.end();
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  return {field("boot_id"), field("machine_id"), field("instance")};
}

}  // namespace

MachineFacts ReadMachine(const Rental& rental, const std::string& root) {
  MachineFacts facts;
  facts.boot_id = FirstLineOf(root + "/proc/sys/kernel/random/boot_id");
  facts.instance = rental.instance;
  // Use the machine id only if it survives reboots. On a diskless machine, systemd generates a new
  // id at each boot and keeps it in /run. Therefore, require that systemd booted the machine and
  // that /run contains no id.
  std::error_code error;
  if (std::filesystem::exists(root + "/run/systemd/system", error) &&
      !std::filesystem::exists(root + "/run/machine-id", error)) {
    facts.machine_id = FirstLineOf(root + "/etc/machine-id");
  }
  return facts;
}

bool AreTwoMachines(const MachineFacts& one, const MachineFacts& other) {
  if (BothKnown(one.boot_id, other.boot_id) && one.boot_id == other.boot_id) return false;
  if (BothKnown(one.instance, other.instance)) return one.instance != other.instance;
  if (BothKnown(one.machine_id, other.machine_id)) return one.machine_id != other.machine_id;
  return false;
}

Status CheckMachine(const std::string& folder, const MachineFacts& present) {
  const std::string path = folder + "/machine.json";
  const MachineFacts recorded = ReadRecord(path);
  if (AreTwoMachines(recorded, present)) {
    return FailedPrecondition(
               "the identity in " + folder + " was made on another machine: the folder was copied",
               Reason::kCopiedFolder)
        .WithHint("join with a new invite and a new folder: assay-agent join --data FOLDER");
  }
  const auto newest = [](const std::string& now, const std::string& before) {
    return now.empty() ? before : now;
  };
  const nlohmann::json json = {{"boot_id", newest(present.boot_id, recorded.boot_id)},
                               {"machine_id", newest(present.machine_id, recorded.machine_id)},
                               {"instance", newest(present.instance, recorded.instance)}};
  return identity::ReplacePrivateFile(
      path, json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace assay::agent
