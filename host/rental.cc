#include "host/rental.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <string_view>

#include "common/file.h"
#include "common/text.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, 5> kVariables = {
    "VAST_CONTAINERLABEL", "CONTAINER_ID", "PUBLIC_IPADDR", "RUNPOD_POD_ID", "RUNPOD_DC_ID"};
// The maximum number of bytes to read from the environment of PID 1. An environment may be larger,
// but the variables that providers set when starting a container take up little space.
constexpr size_t kMaxEnvironmentBytes = 1 << 20;
constexpr size_t kMaxValueBytes = 128;

// Azure's documented asset tag of all its virtual machines.
constexpr char kAzureTag[] = "7783-7084-3265-9085-8269-3286-77";

using Values = std::map<std::string, std::string, std::less<>>;

void Keep(std::string_view name, std::string_view value, Values* values) {
  if (std::find(kVariables.begin(), kVariables.end(), name) == kVariables.end()) return;
  if (value.empty() || value.size() > kMaxValueBytes || !IsPlainText(value)) return;
  values->emplace(name, value);
}

Values ReadValues(const std::function<const char*(const char*)>& variable,
                  const std::string& root) {
  Values values;
  for (const std::string_view name : kVariables) {
    const char* const value = variable(std::string(name).c_str());
    if (value != nullptr) Keep(name, value, &values);
  }
  std::ifstream file(root + "/proc/1/environ", std::ios::binary);
  std::string environment(kMaxEnvironmentBytes, '\0');
  file.read(environment.data(), static_cast<std::streamsize>(environment.size()));
  environment.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  for (const std::string_view entry : Split(environment, '\0')) {
    const size_t equals = entry.find('=');
    if (equals != entry.npos) Keep(entry.substr(0, equals), entry.substr(equals + 1), &values);
  }
  return values;
}

std::string ProviderOfFirmware(const std::string& root) {
  const std::string folder = root + "/sys/class/dmi/id/";
  if (FirstLineOf(folder + "sys_vendor") == "Amazon EC2") return "aws";
  if (FirstLineOf(folder + "product_name") == "Google Compute Engine") return "gcp";
  if (FirstLineOf(folder + "chassis_asset_tag") == kAzureTag) return "azure";
  return "";
}

}  // namespace

Rental DetectRental(const std::function<const char*(const char* name)>& variable,
                    const std::string& root) {
  const Values values = ReadValues(variable, root);
  const auto value = [&](std::string_view name) {
    const auto found = values.find(name);
    return found == values.end() ? std::string() : found->second;
  };
  if (!value("RUNPOD_POD_ID").empty()) {
    return {"runpod", value("RUNPOD_DC_ID"), value("RUNPOD_POD_ID")};
  }
  const std::string& label = value("VAST_CONTAINERLABEL");
  const std::string& container = value("CONTAINER_ID");
  // Other programs may set CONTAINER_ID too.
  if (!label.empty()) return {"vast", "", label};
  if (!container.empty() && !value("PUBLIC_IPADDR").empty()) return {"vast", "", "C." + container};
  return {ProviderOfFirmware(root), "", ""};
}

}  // namespace assay
