// Runs a benchmark in a runner process and communicates with it through pipes: stdin for commands,
// one pipe for events, and one for both stdout and stderr.
#pragma once

#include <poll.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "assay/v1/runner.pb.h"
#include "common/framing.h"
#include "common/status.h"
#include "common/subprocess.h"

namespace assay::agent {

// The process of one rank. Its destructor kills the process group. Not thread-safe.
class RankProcess {
 public:
  struct Options {
    std::string runner;
    std::string command;  // "serve" or "describe".
    std::vector<std::string> environment;
  };

  // On failure the error names the program and the cause.
  static Result<RankProcess> Spawn(const Options& options);

  RankProcess(RankProcess&&) = default;
  RankProcess& operator=(RankProcess&&) = default;

  // Queues a command, which Service() writes to the process as soon as the pipe has room. Does
  // nothing if the process has exited.
  void Send(const v1::RunnerCommand& command);
  // Closes the process's stdin, which tells the runner to stop.
  void CloseInput();

  // Adds the descriptors that Service waits for to `fds`, for poll(2).
  void AddPollFds(std::vector<pollfd>* fds) const;

  // Reads and writes as much as possible without blocking, and calls `on_event` for each event
  // received. Returns DATA_LOSS if an event is malformed, or the error that `on_event` returned.
  // After an error, reads no more events.
  using OnEvent = std::function<Status(const v1::RunnerEvent&)>;
  Status Service(const OnEvent& on_event);

  void Signal(int signal) { process_.Signal(signal); }
  // Returns how the process ended; nullopt while it runs. Some of its events may still be unread.
  std::optional<ExitStatus> Exited() { return process_.Wait(Duration::zero()); }
  bool HasPartialEvent() const { return decoder_.HasPartialFrame(); }

  // Returns the last 64 KiB of stdout and stderr as valid UTF-8.
  std::string OutputTail() const;

 private:
  RankProcess(Subprocess process, FileDescriptor input, FileDescriptor events,
              FileDescriptor output);
  void WriteInput();
  void ReadOutput();
  Status ReadEvents(const OnEvent& on_event);

  Subprocess process_;
  FileDescriptor input_;
  FileDescriptor events_;
  FileDescriptor output_;
  std::string pending_input_;
  FrameDecoder decoder_;
  std::string output_tail_;
};

}  // namespace assay::agent
