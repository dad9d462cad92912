#include "common/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "common/text.h"

namespace assay {
namespace {

// A log formatter that replaces control characters, so that text from other machines can neither
// forge log lines nor control the terminal.
class SafeMessage : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& line) override {
    std::string text(message.payload.data(), message.payload.size());
    std::replace(text.begin(), text.end(), '\n', ' ');
    const std::string safe = Sanitize(text);
    line.append(safe.data(), safe.data() + safe.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<SafeMessage>();
  }
};

std::shared_ptr<spdlog::logger> MakeLogger(std::string program) {
  auto logger = std::make_shared<spdlog::logger>(std::move(program),
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->add_flag<SafeMessage>('*').set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %n: %*");
  logger->set_formatter(std::move(formatter));
  logger->flush_on(spdlog::level::info);
  return logger;
}

std::shared_ptr<spdlog::logger>& Instance() {
  static std::shared_ptr<spdlog::logger> logger = MakeLogger("assay");
  return logger;
}

}  // namespace

spdlog::logger& Log() { return *Instance(); }

Status InitLog(std::string program, std::string_view level) {
  const auto parsed = spdlog::level::from_str(std::string(level));
  if (parsed == spdlog::level::off) {
    return InvalidArgument("\"" + std::string(level) +
                           "\" is not a log level; use debug, info, warn or error");
  }
  Instance() = MakeLogger(std::move(program));
  Instance()->set_level(parsed);
  return Status::Ok();
}

}  // namespace assay
