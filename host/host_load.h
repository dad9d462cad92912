// How much of the host's CPU time others used while something was measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay {

// Assay's own processes, for which nobody is to blame, are this one's whole tree: its topmost
// ancestor that is called "assay..." without another between (an agent, `assay up`), and all
// that descend from that, such as the other ranks of a gang. Not thread-safe.
class HostLoad {
 public:
  // `proc` has what Linux has under /proc; `cpus` are those that this process may use.
  HostLoad(std::vector<int> cpus, std::string proc = "/proc");

  void Begin();

  // Returns the fraction of CPU time since Begin that other processes used or that a hypervisor
  // withheld. Interrupts are excluded, because most of them serve the measured work. Returns
  // nothing if the kernel does not report it, or after less than 100 ms (ten ticks).
  std::optional<double> OthersShare() const;

 private:
  struct Ticks {
    int64_t used = 0;
    int64_t all = 0;
  };
  std::optional<Ticks> ReadCpus() const;
  // Returns the CPU ticks of all processes of the tree, including ended ones; `tree` lists the
  // running ones.
  int64_t TicksOf(const std::vector<int>& tree) const;
  std::vector<int> OwnTree() const;

  const std::vector<int> cpus_;
  const std::string proc_;
  // Found before the window, which a look at all processes would delay.
  const std::vector<int> tree_;
  std::optional<Ticks> cpus_begin_;
  int64_t own_begin_ = 0;
};

}  // namespace assay
