// Runs `assay-runner serve` as an agent does.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "assay/v1/runner.pb.h"
#include "common/subprocess.h"
#include "runner/frame_io.h"

namespace assay {

// One rank, with the pipes that its agent would have.
class Rank {
 public:
  explicit Rank(const std::string& command) {
    signal(SIGPIPE, SIG_IGN);
    auto commands = MakePipe();
    auto events = MakePipe();
    SubprocessOptions options;
    options.argv = {ASSAY_RUNNER, command};
    options.descriptors = {{0, commands->read.get()}, {2, 2}, {3, events->write.get()}};
    auto process = Subprocess::Spawn(options);
    EXPECT_TRUE(process.ok()) << process.status();
    process_ = std::make_unique<Subprocess>(std::move(process).value());
    commands_ = std::move(commands->write);
    events_ = std::move(events->read);
    reader_ = std::make_unique<FrameReader>(events_.get());
  }

  void Send(const v1::RunnerCommand& command) {
    EXPECT_TRUE(WriteFrame(commands_.get(), command.SerializeAsString()).ok());
  }
  void SendRaw(const std::string& bytes) { EXPECT_TRUE(WriteAll(commands_.get(), bytes).ok()); }
  void CloseCommands() { commands_.Close(); }
  void CloseEvents() { events_.Close(); }
  void Signal(int signal) { process_->Signal(signal); }

  // Returns the next event; at the end one without a kind.
  v1::RunnerEvent NextOfAnyKind() {
    auto frame = reader_->Read();
    v1::RunnerEvent event;
    EXPECT_TRUE(frame.ok()) << frame.status();
    if (!frame.ok() || !frame->has_value()) return event;
    EXPECT_TRUE(event.ParseFromString(**frame));
    return event;
  }

  // Returns the next event that is not CaseStarted.
  v1::RunnerEvent Next() {
    for (;;) {
      v1::RunnerEvent event = NextOfAnyKind();
      if (!event.has_case_started()) return event;
    }
  }

  ExitStatus Wait() {
    const auto exit = process_->Wait(std::chrono::seconds(30));
    EXPECT_TRUE(exit) << "the runner did not end";
    return exit.value_or(ExitStatus{});
  }

 private:
  std::unique_ptr<Subprocess> process_;
  FileDescriptor commands_;
  FileDescriptor events_;
  std::unique_ptr<FrameReader> reader_;
};

inline v1::RunnerCommand Start(const std::string& benchmark,
                               const std::vector<std::map<std::string, std::string>>& cases) {
  v1::RunnerCommand command;
  v1::RunnerStart* start = command.mutable_start();
  start->set_benchmark(benchmark);
  start->set_world_size(1);
  start->set_seed(7);
  start->set_advertise_address("127.0.0.1");
  for (size_t i = 0; i < cases.size(); ++i) {
    v1::BenchmarkCase* one = start->add_cases();
    one->set_case_index(static_cast<int32_t>(10 + i));
    for (const auto& [name, value] : cases[i]) (*one->mutable_parameters())[name] = value;
  }
  return command;
}

}  // namespace assay
