#include "kernels/runner/local_gang.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>
#include <thread>
#include <vector>

#include "kernels/net/socket.h"
#include "kernels/runner/exit_codes.h"
#include "kernels/runner/frame_io.h"

namespace assay {
namespace {

constexpr Duration kMeetingTimeout = std::chrono::seconds(60);

struct Child {
  pid_t pid = -1;
  Socket input;  // The writing end of its stdin.
};

Result<Child> StartChild(std::vector<std::string> arguments) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Unavailable(std::strerror(errno), "SPAWN");
  Child child;
  const Socket reading(ends[0]);
  child.input = Socket(ends[1]);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, reading.fd(), STDIN_FILENO);
  const int error =
      posix_spawn(&child.pid, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return Unavailable(std::strerror(error), "SPAWN");
  return child;
}

class SpawnedGang : public LocalGang {
 public:
  ~SpawnedGang() override {
    peers_.reset();
    for (Child& child : children_) {
      child.input = Socket();
      while (waitpid(child.pid, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }

  Status Start(const std::string& benchmark, const ParameterMap& parameters, RankOrder order) {
    ASSAY_ASSIGN_OR_RETURN(const auto rendezvous, ListenForPeers("127.0.0.1"));
    order.token = rendezvous->token();
    std::vector<std::string> arguments = {"assay-runner", "rank", benchmark};
    for (const auto& [name, value] : parameters) arguments.push_back(name + "=" + value);
    for (order.rank = 1; order.rank < order.world_size; ++order.rank) {
      ASSAY_ASSIGN_OR_RETURN(Child child, StartChild(arguments));
      children_.push_back(std::move(child));
      ASSAY_RETURN_IF_ERROR(WriteAll(children_.back().input.fd(), order.ToString() + "\n"));
    }
    ASSAY_ASSIGN_OR_RETURN(peers_, rendezvous->Accept(order.world_size, kMeetingTimeout));
    return Status::Ok();
  }

  Peers& peers() override { return *peers_; }

 private:
  std::vector<Child> children_;
  std::unique_ptr<Peers> peers_;
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
