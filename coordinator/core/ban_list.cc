#include "coordinator/core/ban_list.h"

#include <fmt/format.h>

#include <utility>

#include "common/log.h"
#include "common/text.h"
#include "coordinator/core/guarded.h"
#include "wire/timestamps.h"

namespace assay::coordinator {
namespace {

constexpr Duration kRefreshPeriod = std::chrono::seconds(2);
constexpr size_t kMaxUnknown = 10'000;
// Number of refreshes after which a caller that is still not in the list is rejected as not
// enrolled. One is not enough, because that refresh may have started before the caller was
// enrolled.
constexpr int64_t kSettling = 2;

std::string MomentText(WallTime time) { return schema::TimeText(schema::ToTimestamp(time)); }

}  // namespace

BanList::Entry BanList::EntryOf(const v1::EnrolledIdentity& identity) {
  Entry entry;
  entry.name = identity.name();
  entry.key_hash = identity.key_hash();
  if (identity.has_expire_time()) {
    entry.expire_time = schema::FromTimestamp(identity.expire_time());
  }
  if (identity.has_ban_time()) entry.ban_time = schema::FromTimestamp(identity.ban_time());
  entry.ban_reason = identity.ban_reason();
  return entry;
}

Status BanList::Start() {
  const Status read = Refresh();
  RefreshLater();
  return read;
}

void BanList::RefreshLater() {
  executor_.PostAfter(kRefreshPeriod, [weak = weak_from_this()] {
    const std::shared_ptr<BanList> self = weak.lock();
    if (!self) return;
    // Refresh logs its errors.
    static_cast<void>(Guarded("BanList", [&] { return self->Refresh(); }));
    self->RefreshLater();
  });
}

bool BanList::HasOneEnded(WallTime now) {
  bool ended = false;
  for (const auto& [key, entry] : entries_) {
    ended = ended ||
            (entry.expire_time && *entry.expire_time <= now && *entry.expire_time > checked_ends_);
  }
  checked_ends_ = now;
  return ended;
}

Status BanList::Refresh() {
  bool notify = false;
  {
    MutexLock refreshing(refreshing_);
    int64_t revision = 0;
    {
      MutexLock lock(mutex_);
      revision = revision_;
    }
    auto changed = store_.ListChanged(revision);
    MutexLock lock(mutex_);
    if (!changed.ok()) {
      if (!std::exchange(failed_, true)) {
        Log().warn("bans and enrolments of other coordinators have no effect here: {}",
                   changed.status().message());
      }
      return changed.status();
    }
    failed_ = false;
    ++refreshes_;
    if (*changed) {
      std::map<std::string, Entry> entries;
      for (const v1::EnrolledIdentity& identity : (*changed)->identities) {
        entries[KeyOf(identity.role(), identity.identity_id())] = EntryOf(identity);
      }
      entries_.swap(entries);
      revision_ = (*changed)->revision;
      // Record removed identities as unknown since long ago, so that Check() refuses them at once.
      for (const auto& [key, entry] : entries) {
        if (entries_.count(key) == 0) NoteUnknown(key, entry.key_hash, refreshes_ - kSettling);
      }
    }
    notify = HasOneEnded(clock_.WallNow()) || changed->has_value();
  }
  if (notify) {
    for (const auto& callback : callbacks_) callback();
  }
  return Status::Ok();
}

int64_t BanList::NoteUnknown(const std::string& key, const std::string& key_hash,
                             int64_t refreshes) {
  if (unknown_.size() >= kMaxUnknown) unknown_.clear();
  return unknown_.try_emplace(key + " " + key_hash, refreshes).first->second;
}

void BanList::Put(const v1::EnrolledIdentity& identity) {
  MutexLock refreshing(refreshing_);
  MutexLock lock(mutex_);
  // If a refresh has already read this identity with the same key, keep that entry. It may be newer
  // than `identity` and, for example, include a ban. The next refresh reads everything anyway.
  Entry& entry = entries_[KeyOf(identity.role(), identity.identity_id())];
  if (entry.key_hash != identity.key_hash()) entry = EntryOf(identity);
  if (revision_ > 0) revision_ = -1;
}

Status BanList::Check(const Identity& caller) {
  switch (caller.role) {
    case Role::kLocalAdmin:
    case Role::kCoordinator:
    case Role::kProxy:
      return Status::Ok();
    default:
      break;
  }
  const std::string key = KeyOf(RoleName(caller.role), caller.id);
  const std::string who = std::string(RoleName(caller.role)) + " " +
                          Quote(caller.name.empty() ? caller.id : caller.name);
  MutexLock lock(mutex_);
  const auto found = entries_.find(key);
  if (found != entries_.end() && found->second.key_hash == caller.key_hash) {
    const Entry& entry = found->second;
    if (entry.ban_time) {
      return Status(Code::kPermissionDenied, Reason::kBanned,
                    fmt::format("{} was banned at {}{}", who, MomentText(*entry.ban_time),
                                entry.ban_reason.empty() ? "" : ": " + entry.ban_reason))
          .WithViolations({{"identity", "banned", 0}})
          .WithHint("an admin can end the ban: assay node unban");
    }
    if (entry.expire_time && *entry.expire_time <= clock_.WallNow()) {
      return Status(Code::kUnauthenticated, Reason::kNoIdentity,
                    fmt::format("the enrolment of {} ended at {}", who,
                                MomentText(*entry.expire_time)))
          .WithHint("join again with a new invite");
    }
    return Status::Ok();
  }
  const int64_t first = NoteUnknown(key, caller.key_hash, refreshes_);
  if (revision_ == 0 || refreshes_ < first + kSettling) {
    return Unavailable("this coordinator does not know " + who + " yet; try again in some seconds");
  }
  return Status(Code::kUnauthenticated, Reason::kNoIdentity,
                who + " is not enrolled in this fleet, or with another key")
      .WithHint("join again with a new invite");
}

}  // namespace assay::coordinator
