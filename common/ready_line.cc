#include "common/ready_line.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

namespace assay {

Status TellReady(int fd, const std::string& line) {
  if (fd < 0) return Status::Ok();
  const std::string text = line + "\n";
  const ssize_t written = ::write(fd, text.data(), text.size());
  const std::string why = std::strerror(errno);
  ::close(fd);
  if (written == static_cast<ssize_t>(text.size())) return Status::Ok();
  return FailedPrecondition("cannot write to --ready-fd " + std::to_string(fd) +
                            (written < 0 ? ": " + why : ": the line was cut"));
}

Status TellFailed(int fd, const Status& error) {
  const nlohmann::json line = {{"error",
                                {{"code", static_cast<int>(error.code())},
                                 {"reason", std::string(ReasonWord(error.reason()))},
                                 {"message", error.message()},
                                 {"hint", error.hint()}}}};
  return TellReady(fd, line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

Result<ServedAddresses> ParseReadyLine(const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  const auto text = [](const nlohmann::json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (json.is_object() && json.contains("grpc")) {
    return ServedAddresses{text(json, "grpc"), text(json, "http"), text(json, "console")};
  }
  if (json.is_object() && json.contains("error") && json["error"].is_object()) {
    const nlohmann::json& error = json["error"];
    const auto code = error.find("code");
    const bool known = code != error.end() && code->is_number_integer() && *code > 0 && *code <= 16;
    return Status(known ? static_cast<Code>(code->get<int>()) : Code::kUnknown,
                  ReasonOfWord(text(error, "reason")), text(error, "message"))
        .WithHint(text(error, "hint"));
  }
  return Internal("neither addresses nor an error: " + line.substr(0, 200));
}

}  // namespace assay
