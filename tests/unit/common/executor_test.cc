#include "common/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stdexcept>

namespace assay {
namespace {

TEST(ThreadPool, TaskThatThrows_DoesNotStopTheOthers) {
  auto pool = NewThreadPool(2, "test");
  std::promise<int> done;
  pool->Post([] { throw std::runtime_error("planted"); });
  pool->Post([&] { pool->Post([&] { done.set_value(7); }); });
  EXPECT_EQ(done.get_future().get(), 7);
}

TEST(ThreadPool, DelayedTasksKeepTheirOrder) {
  auto pool = NewThreadPool(1, "test");
  std::promise<void> done;
  std::string order;
  pool->PostAfter(std::chrono::milliseconds(20), [&] {
    order += "late";
    done.set_value();
  });
  pool->PostAfter(std::chrono::milliseconds(1), [&] { order += "early "; });
  done.get_future().get();
  EXPECT_EQ(order, "early late");
}

TEST(ThreadPool, Destructor_DropsTasksThatHaveNotBegun) {
  std::atomic<bool> ran = false;
  {
    auto pool = NewThreadPool(1, "test");
    pool->PostAfter(std::chrono::hours(1), [&] { ran = true; });
  }
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace assay
