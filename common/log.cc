#include "common/log.h"

#include <spdlog/sinks/stdout_sinks.h>

#include <memory>

namespace assay {
namespace {

std::shared_ptr<spdlog::logger> MakeLogger(std::string program) {
  auto logger = std::make_shared<spdlog::logger>(std::move(program),
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %n: %v", spdlog::pattern_time_type::utc);
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
