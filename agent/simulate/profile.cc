#include "agent/simulate/profile.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <optional>

#include "common/file.h"
#include "common/text.h"

namespace assay::agent {
namespace {

constexpr size_t kMostBytes = size_t{1} << 20;
constexpr int kMostGpus = 64;

// Keeps the first error of a text.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  // Both numbers begin at 0.
  void AddError(int line, int column, const std::string& message) override {
    if (text_.empty()) {
      text_ = std::to_string(line + 1) + ":" + std::to_string(column + 1) + ": " + message;
    }
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

Status Check(const v1::NodeInventory& inventory) {
  if (inventory.gpus_size() > kMostGpus) return InvalidArgument("more than 64 GPUs");
  for (int i = 0; i < inventory.gpus_size(); ++i) {
    const v1::GpuInventory& gpu = inventory.gpus(i);
    if (gpu.index() != i) {
      return InvalidArgument("GPU " + std::to_string(i) + " has the index " +
                             std::to_string(gpu.index()) + "; indices count from 0");
    }
    if (gpu.name().empty()) return InvalidArgument("GPU " + std::to_string(i) + " has no name");
  }
  for (const v1::GpuLink& link : inventory.gpu_links()) {
    if (std::max(link.gpu_a(), link.gpu_b()) >= inventory.gpus_size() ||
        std::min(link.gpu_a(), link.gpu_b()) < 0) {
      return InvalidArgument("a link connects a GPU that the node does not have");
    }
  }
  if (inventory.cpu().cores() < 1) return InvalidArgument("inventory.cpu.cores must be at least 1");
  return Status::Ok();
}

}  // namespace

Result<v1::NodeDescription> LoadProfile(const std::string& name) {
  std::string text;
  for (const EmbeddedProfile& profile : kProfiles) {
    if (name == profile.name) text = profile.text;
  }
  if (text.empty()) {
    auto read = ReadFile(name, kMostBytes);
    if (!read.ok()) {
      return InvalidArgument("there is no profile " + Quote(name) + ": " + read.status().message())
          .WithHint("the built-in profiles are 8x-h200, 8x-h100 and cpu");
    }
    text = *std::move(read);
  }
  v1::NodeDescription description;
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (!parser.ParseFromString(text, &description)) {
    return InvalidArgument(name + ":" + error.text())
        .WithHint("a profile is protobuf text of assay.v1.NodeDescription");
  }
  ASSAY_RETURN_IF_ERROR(Check(description.inventory()).WithContext(name));
  return description;
}

}  // namespace assay::agent
