#include "coordinator/rpc/open_streams.h"

#include <utility>
#include <vector>

namespace assay::coordinator::rpc {
namespace {

constexpr Duration kExpiryPeriod = std::chrono::seconds(1);

}  // namespace

void OpenStreams::Follow() {
  const WallTime now = clock_.WallNow();
  EndWhere([now](const Identity& caller) { return assay::rpc::CheckExpiry(caller, now); });
  executor_.PostAfter(kExpiryPeriod, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Follow();
  });
}

OpenStreams::Place OpenStreams::Add(const Identity& caller,
                                    std::function<void(const Status&)> end) {
  if (caller.role == Role::kLocalAdmin) return nullptr;
  int64_t id = 0;
  {
    MutexLock lock(mutex_);
    id = ++last_id_;
    entries_[id] = {caller, end};
  }
  Place place(this, [weak = weak_from_this(), id](OpenStreams*) {
    if (const auto self = weak.lock()) self->Remove(id);
  });
  // The caller may have been banned between the check of its call and now.
  if (const Status permitted = Permitted(caller); !permitted.ok()) {
    Remove(id);
    end(permitted);
  }
  return place;
}

void OpenStreams::Remove(int64_t id) {
  MutexLock lock(mutex_);
  entries_.erase(id);
}

Status OpenStreams::Permitted(const Identity& caller) const {
  if (!check_) return Status::Ok();
  Status permitted = check_(caller);
  // UNAVAILABLE means that the coordinator cannot yet tell whether the caller is permitted. Keep
  // the stream open, because the caller was permitted when it was opened.
  return permitted.code() == Code::kUnavailable ? Status::Ok() : permitted;
}

void OpenStreams::Recheck() {
  EndWhere([this](const Identity& caller) { return Permitted(caller); });
}

void OpenStreams::EndWhere(const std::function<Status(const Identity&)>& permitted) {
  std::vector<std::pair<std::function<void(const Status&)>, Status>> ended;
  {
    MutexLock lock(mutex_);
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      Status status = permitted(entry->second.caller);
      if (status.ok()) {
        ++entry;
        continue;
      }
      ended.emplace_back(std::move(entry->second.end), std::move(status));
      entry = entries_.erase(entry);
    }
  }
  for (const auto& [end, status] : ended) end(status);
}

}  // namespace assay::coordinator::rpc
