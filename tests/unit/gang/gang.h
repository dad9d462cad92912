// A gang of threads over loopback, for tests of what ranks do together.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "gang/peers.h"

namespace assay {

// Runs `body` once a rank, each on its own thread with its own Peers, and waits.
inline void RunGang(int world_size, const std::function<void(std::unique_ptr<Peers>)>& body) {
  constexpr Duration kTimeout = std::chrono::seconds(20);
  auto rendezvous = ListenForPeers("127.0.0.1");
  ASSERT_TRUE(rendezvous.ok()) << rendezvous.status();
  std::vector<std::thread> threads;
  for (int rank = 1; rank < world_size; ++rank) {
    threads.emplace_back([&, rank] {
      auto peers = JoinPeers((*rendezvous)->token(), rank, world_size, kTimeout);
      ASSERT_TRUE(peers.ok()) << peers.status();
      body(std::move(peers).value());
    });
  }
  auto peers = (*rendezvous)->Accept(world_size, {}, kTimeout);
  EXPECT_TRUE(peers.ok()) << peers.status();
  if (peers.ok()) body(std::move(peers).value());
  for (std::thread& thread : threads) thread.join();
}

}  // namespace assay
