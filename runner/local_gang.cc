#include "runner/local_gang.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "common/subprocess.h"
#include "gang/peer_watch.h"
#include "gang/peers.h"
#include "gang/socket.h"
#include "runner/exit_codes.h"
#include "runner/frame_io.h"

namespace assay {
namespace {

constexpr Duration kMeetingTimeout = std::chrono::seconds(60);
// The time that the children may take to exit after their stdin is closed.
constexpr Duration kLeavingTimeout = std::chrono::seconds(5);
// The time that a rank may take to end after its connection has ended, in milliseconds.
constexpr int kEndingMilliseconds = 1000;

struct Child {
  FileDescriptor input;   // The writing end of its stdin.
  FileDescriptor output;  // The reading end of its stdout and stderr.
  Subprocess process;
};

Result<Child> StartChild(const std::vector<std::string>& arguments) {
  ASSAY_ASSIGN_OR_RETURN(Pipe input, MakePipe());
  ASSAY_ASSIGN_OR_RETURN(Pipe output, MakePipe());
  SubprocessOptions options;
  options.argv = arguments;
  options.descriptors = {{STDIN_FILENO, input.read.get()},
                         {STDOUT_FILENO, output.write.get()},
                         {STDERR_FILENO, output.write.get()}};
  ASSAY_ASSIGN_OR_RETURN(Subprocess process, Subprocess::Spawn(options));
  return Child{std::move(input.write), std::move(output.read), std::move(process)};
}

// Copies the output of a rank to stderr until the pipe ends. Starts each line with the rank.
void CopyLines(size_t rank, FileDescriptor output) {
  std::FILE* const file = fdopen(output.get(), "r");
  if (file == nullptr) return;  // The rank then writes to a closed pipe and continues.
  static_cast<void>(output.Release());
  char* line = nullptr;
  size_t capacity = 0;
  for (ssize_t size = 0; (size = getline(&line, &capacity, file)) > 0;) {
    const char* const end = line[size - 1] == '\n' ? "" : "\n";
    std::fprintf(stderr, "rank %zu: %s%s", rank, line, end);
  }
  std::free(line);
  std::fclose(file);
}

class SpawnedGang : public LocalGang {
 public:
  ~SpawnedGang() override {
    watch_.reset();
    peers_.reset();
    for (Child& child : children_) child.input.Close();
    for (Child& child : children_) child.process.Wait(kLeavingTimeout);
    NameKilled();
    children_.clear();  // Kills the children that have not exited.
    for (std::thread& copier : copiers_) copier.join();
  }

  Status Start(const std::string& benchmark, const ParameterMap& parameters, RankOrder order) {
    ASSAY_ASSIGN_OR_RETURN(const auto rendezvous, ListenForPeers("127.0.0.1"));
    order.token = rendezvous->token();
    std::vector<std::string> arguments = {"/proc/self/exe", "rank", benchmark};
    for (const auto& [name, value] : parameters) arguments.push_back(name + "=" + value);
    std::vector<int> processes;
    for (order.rank = 1; order.rank < order.world_size; ++order.rank) {
      ASSAY_ASSIGN_OR_RETURN(Child child, StartChild(arguments));
      processes.push_back(child.process.pidfd());
      copiers_.emplace_back(CopyLines, static_cast<size_t>(order.rank), std::move(child.output));
      children_.push_back(std::move(child));
      // Writing fails if the child has already ended. Accept() below reports that.
      static_cast<void>(WriteAll(children_.back().input.get(), order.ToString() + "\n"));
    }
    auto met = rendezvous->Accept(order.world_size, processes, kMeetingTimeout);
    if (!met.ok()) return WhoEnded(met.status());
    peers_ = *std::move(met);
    names_killed_ = true;
    watch_ = std::make_unique<PeerWatch>(peers_->Heartbeats(),
                                         [this](const Status& lost) { KillAll(lost); });
    return Status::Ok();
  }

  Peers& peers() override { return *peers_; }

 private:
  // Returns an error that says which rank's process terminated before all ranks were connected, and
  // how. Returns `otherwise` if all processes are still running.
  Status WhoEnded(const Status& otherwise) {
    for (size_t i = 0; i < children_.size(); ++i) {
      const auto exit = children_[i].process.Wait(Duration(0));
      if (!exit) continue;
      return PeerLost("rank " + std::to_string(i + 1) + " " + exit->ToString() +
                      " before all ranks had met; each lives until the case ends")
          .WithHint("what it said itself is on stderr, before this");
    }
    return otherwise;
  }

  // Kills the processes of all other ranks because one of them is lost. This closes their
  // connections, so that this process does not wait for them forever.
  void KillAll(const Status& lost) {
    std::fprintf(stderr, "assay-runner: %s\n", lost.Text().c_str());
    // When a process dies, its connections close shortly before it terminates. Wait for it to
    // terminate, so that NameKilled() can tell which signal killed it.
    std::vector<pollfd> ends;
    for (const Child& child : children_) ends.push_back({child.process.pidfd(), POLLIN, 0});
    poll(ends.data(), ends.size(), kEndingMilliseconds);
    NameKilled();
    for (Child& child : children_) child.process.Signal(SIGKILL);
  }

  // Prints to stderr which ranks were killed by a signal, for example by the kernel because memory
  // ran out. Otherwise, the user would see only that a connection was closed. Does nothing when
  // called again.
  void NameKilled() {
    for (size_t i = 0; names_killed_ && i < children_.size(); ++i) {
      const auto exit = children_[i].process.Wait(Duration(0));
      if (!exit || exit->signal == 0) continue;
      std::fprintf(stderr, "assay-runner: rank %zu %s\n", i + 1, exit->ToString().c_str());
    }
    names_killed_ = false;
  }

  std::vector<Child> children_;
  bool names_killed_ = false;         // Used by the watch's thread while the watch exists.
  std::vector<std::thread> copiers_;  // One per child; they copy its output.
  std::unique_ptr<Peers> peers_;
  std::unique_ptr<PeerWatch> watch_;
};

}  // namespace

std::string RankOrder::ToString() const {
  std::ostringstream line;
  line << rank << ' ' << world_size << ' ' << seed << ' ' << (measure ? 1 : 0) << ' ' << token;
  return line.str();
}

Result<RankOrder> RankOrder::Parse(const std::string& line) {
  std::istringstream text(line);
  RankOrder order;
  if (text >> order.rank >> order.world_size >> order.seed >> order.measure >> order.token &&
      order.rank > 0 && order.rank < order.world_size) {
    return order;
  }
  return InvalidArgument("`rank` is for assay-runner's own use: it is told its rank on stdin");
}

Result<std::unique_ptr<LocalGang>> StartLocalGang(const std::string& benchmark,
                                                  const ParameterMap& parameters, int world_size,
                                                  uint64_t seed, bool measure) {
  auto gang = std::make_unique<SpawnedGang>();
  RankOrder order;
  order.world_size = world_size;
  order.seed = seed;
  order.measure = measure;
  ASSAY_RETURN_IF_ERROR(gang->Start(benchmark, parameters, order));
  return std::unique_ptr<LocalGang>(std::move(gang));
}

void StopWithStdin() {
  std::thread([] {
    char byte;
    for (;;) {
      const ssize_t got = read(STDIN_FILENO, &byte, 1);
      if (got == 0 || (got < 0 && errno != EINTR)) _exit(kExitStopped);
    }
  }).detach();
}

}  // namespace assay
