// Decides who may call a coordinator that has its own certificate authority.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/executor.h"
#include "common/mutex.h"
#include "common/status.h"
#include "storage/identity_store.h"
#include "wire/roles.h"

namespace assay::coordinator {

// Keeps all identities of the fleet and their bans in memory, so that every call can be checked
// quickly. Reads changes from the database every two seconds. While the database is unreachable,
// uses the last known state. Thread-safe.
//
// Only a coordinator with its own certificate authority has a BanList. Other coordinators accept
// every certificate signed by their external authority. The BanList rejects nodes and users that
// are not enrolled. Coordinators and proxies are not enrolled and may always call.
class BanList : public std::enable_shared_from_this<BanList> {
 public:
  // All arguments must outlive the BanList.
  BanList(const Clock& clock, Executor& executor, storage::IdentityStore& store)
      : clock_(clock), executor_(executor), store_(store) {}

  // Reads the identities, and from then on their changes every two seconds. Blocks on the database.
  // If the first read fails, returns its error and retries later.
  Status Start();

  // Returns OK if the caller is permitted to make calls. Does not block. Check every call, and
  // recheck every open stream when an OnChange callback runs. The errors are
  // - PERMISSION_DENIED if the caller is banned;
  // - UNAUTHENTICATED if the caller is not enrolled, or is enrolled with another key;
  // - UNAVAILABLE, for a few seconds, if the caller is unknown, but another coordinator may have
  //   just enrolled it;
  // - UNAVAILABLE if the identities have not been read yet.
  Status Check(const Identity& caller);

  // Registers a callback for changes that may revoke a caller's permission. The callback runs with
  // no lock held on the thread that found the change, and must return quickly. Register all
  // callbacks before Start().
  void OnChange(std::function<void()> callback) { callbacks_.push_back(std::move(callback)); }

  // Reads changes now. Blocks on the database.
  Status Refresh();
  // Adds an identity that was enrolled a moment ago.
  void Put(const v1::EnrolledIdentity& identity);

 private:
  struct Entry {
    std::string name;
    std::string key_hash;
    std::optional<WallTime> expire_time;
    std::optional<WallTime> ban_time;
    std::string ban_reason;
  };
  static std::string KeyOf(std::string_view role, const std::string& id) {
    return std::string(role) + "/" + id;
  }
  static Entry EntryOf(const v1::EnrolledIdentity& identity);
  // Returns true if the enrolment of an identity has ended since the previous call.
  bool HasOneEnded(WallTime now) ASSAY_REQUIRES(mutex_);
  // Records that a caller has been unknown since the refresh with the number `refreshes`. If the
  // caller is already recorded, keeps its earlier number. Returns the recorded number.
  int64_t NoteUnknown(const std::string& key, const std::string& key_hash, int64_t refreshes)
      ASSAY_REQUIRES(mutex_);
  void RefreshLater();

  const Clock& clock_;
  Executor& executor_;
  storage::IdentityStore& store_;
  std::vector<std::function<void()>> callbacks_;

  // Held while identities are read, so that an older state never replaces a newer one.
  Mutex refreshing_;
  Mutex mutex_;
  int64_t revision_ ASSAY_GUARDED_BY(mutex_) = 0;  // 0: nothing was read yet.
  int64_t refreshes_ ASSAY_GUARDED_BY(mutex_) = 0;
  bool failed_ ASSAY_GUARDED_BY(mutex_) = false;
  WallTime checked_ends_ ASSAY_GUARDED_BY(mutex_){};
  std::map<std::string, Entry> entries_ ASSAY_GUARDED_BY(mutex_);  // By role and id.
  // Unknown callers, with the number of refreshes at which each was first recorded.
  std::map<std::string, int64_t> unknown_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay::coordinator
