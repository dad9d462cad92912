// One runner process and its three pipes, without judgement: commands in, events and
// stderr out. The supervisor decides what they mean.
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

// The environment of every runner: what is on the allow-list of ours (search paths,
// locale, NCCL_*, CUDA_*, OMP_*, OPENBLAS_*), so that no secret of the agent's
// passes, and GPUs in PCI bus order. `visible_gpus` (UUIDs separated by commas, or
// empty for none) replaces CUDA_VISIBLE_DEVICES; absent: as it is. `cache_folder`,
// where runners keep what they measured of the node, becomes ASSAY_CACHE_DIR; empty:
// they keep nothing. `nccl` (GangEnvironment's answer) replaces ours of the same names.
std::vector<std::string> RunnerEnvironment(const std::optional<std::string>& visible_gpus,
                                           const std::string& cache_folder = "",
                                           const std::map<std::string, std::string>& nccl = {});

// Used by one thread. Destruction kills the process group.
class RankProcess {
 public:
  struct Options {
    std::string runner;
    std::string command;  // "serve" or "describe".
    std::vector<std::string> environment;
  };

  // The error names the program and why it did not start.
  static Result<RankProcess> Spawn(const Options& options);

  RankProcess(RankProcess&&) = default;
  RankProcess& operator=(RankProcess&&) = default;

  // Queues a command; written as the runner reads it. Dropped if it has gone.
  void Send(const v1::RunnerCommand& command);
  // Ends stdin, which tells the runner to stop.
  void CloseInput();

  // Adds the descriptors that Service waits for to `fds`, for poll(2).
  void AddPollFds(std::vector<pollfd>* fds) const;

  // Moves whatever can move without waiting. `on_event` gets each event and may
  // refuse it. DATA_LOSS if the runner's events are no events, or what `on_event`
  // said; both end the reading.
  using OnEvent = std::function<Status(const v1::RunnerEvent&)>;
  Status Service(const OnEvent& on_event);

  void Signal(int signal) { process_.Signal(signal); }
  // How it ended; nullopt while it runs. Its events may not all be read yet.
  std::optional<ExitStatus> Exited() { return process_.Wait(Duration::zero()); }
  bool HasPartialEvent() const { return decoder_.HasPartialFrame(); }

  // The last 64 KiB of stdout and stderr, made valid UTF-8.
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
