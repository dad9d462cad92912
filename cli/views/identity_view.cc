#include "cli/views/identity_view.h"

#include <map>

#include "cli/views/format.h"
#include "cli/views/output.h"
#include "common/numbers.h"
#include "common/text.h"
#include "wire/reasons.h"
#include "wire/timestamps.h"

namespace assay::cli {
namespace {

using Timestamp = google::protobuf::Timestamp;

bool HasPassed(const Timestamp& time, WallTime now) { return schema::FromTimestamp(time) <= now; }

// Returns what an invite sets for a node: "vast, $2.50/h, rack=7, ephemeral".
std::vector<std::string> SettingsOf(const v1::InviteScope& scope) {
  std::vector<std::string> settings;
  if (!scope.provider().empty()) settings.push_back(scope.provider());
  if (scope.has_price_per_hour()) {
    settings.push_back("$" + FormatFixed(scope.price_per_hour(), 2) + "/h");
  }
  for (const auto& [key, value] :
       std::map<std::string, std::string>(scope.labels().begin(), scope.labels().end())) {
    settings.push_back(key + "=" + value);
  }
  if (scope.ephemeral()) settings.push_back("ephemeral");
  return settings;
}

Cell InviteState(const v1::Invite& invite, WallTime now) {
  if (invite.has_use_time()) return {"used", Tone::kDim};
  if (invite.has_revoke_time()) return {"revoked", Tone::kDim};
  if (HasPassed(invite.expire_time(), now)) return {"expired", Tone::kDim};
  return {"open", Tone::kGood};
}

// Returns the state with the time at which the invite got it or, if it is open, will lose it.
Cell StateWithTime(const v1::Invite& invite, WallTime now) {
  Cell state = InviteState(invite, now);
  const Timestamp& time = invite.has_use_time()      ? invite.use_time()
                          : invite.has_revoke_time() ? invite.revoke_time()
                                                     : invite.expire_time();
  state.text += (state.text == "open" ? " until " : " at ") + FormatTime(time);
  return state;
}

Cell IdentityState(const v1::EnrolledIdentity& identity, WallTime now) {
  if (identity.has_ban_time()) return {"banned", Tone::kBad};
  if (identity.has_expire_time() && HasPassed(identity.expire_time(), now)) {
    return {"ended", Tone::kDim};
  }
  if (HasPassed(identity.certificate_expire_time(), now)) return {"absent", Tone::kDoubtful};
  return {"enrolled", Tone::kGood};
}

}  // namespace

std::string ScopeText(const v1::InviteScope& scope) {
  const std::vector<std::string> settings = SettingsOf(scope);
  std::string text = scope.name();
  if (!settings.empty()) text += (text.empty() ? "(" : " (") + Join(settings) + ")";
  return text;
}

std::string InviteText(const v1::Invite& invite) {
  const v1::InviteScope& scope = invite.scope();
  const bool node = scope.role() == "node";
  std::string text = "Invite " + invite.invite_id() + " enrols one " + (node ? "node" : "user");
  if (const std::string what = ScopeText(scope); !what.empty()) text += " " + what;
  if (!node) text += ", with the role " + scope.role();
  text += ". It can be used until " + FormatTime(invite.expire_time()) + ".";
  if (scope.has_identity_expire_time()) {
    text += " The " + std::string(node ? "node" : "user") + " may stay until " +
            FormatTime(scope.identity_expire_time()) + ".";
  }
  return Sanitize(text);
}

std::string InvitesText(const std::vector<v1::Invite>& invites, WallTime now, const Style& style) {
  Table table({{"INVITE"},
               {"ROLE", Align::kLeft, 1},
               {"NAME"},
               {"STATE"},
               {"SETS", Align::kLeft, 2},
               {"BY", Align::kLeft, 3},
               {"MADE", Align::kLeft, 4}});
  for (const v1::Invite& one : invites) {
    const std::string& used_by = one.identity_name();
    table.Add({one.invite_id(), one.scope().role(), used_by.empty() ? one.scope().name() : used_by,
               StateWithTime(one, now), Join(SettingsOf(one.scope())), one.created_by(),
               FormatTime(one.create_time())});
  }
  return table.Render(style);
}

std::string InvitesCsv(const std::vector<v1::Invite>& invites, WallTime now) {
  std::string csv =
      CsvRecord({"invite_id", "role", "name", "state", "create_time", "created_by", "expire_time",
                 "use_time", "identity_id", "identity_name", "revoke_time", "provider",
                 "price_per_hour", "labels", "ephemeral", "identity_expire_time"});
  for (const v1::Invite& one : invites) {
    const v1::InviteScope& scope = one.scope();
    std::vector<std::string> labels;
    for (const auto& [key, value] :
         std::map<std::string, std::string>(scope.labels().begin(), scope.labels().end())) {
      labels.push_back(key + "=" + value);
    }
    csv += CsvRecord(
        {one.invite_id(), scope.role(), scope.name(), InviteState(one, now).text,
         FormatTimeExact(one.create_time()), one.created_by(), FormatTimeExact(one.expire_time()),
         FormatTimeExact(one.use_time()), one.identity_id(), one.identity_name(),
         FormatTimeExact(one.revoke_time()), scope.provider(),
         scope.has_price_per_hour() ? FormatExact(scope.price_per_hour()) : "", Join(labels, ";"),
         scope.ephemeral() ? "true" : "false", FormatTimeExact(scope.identity_expire_time())});
  }
  return csv;
}

std::string IdentitiesText(const std::vector<v1::EnrolledIdentity>& identities, WallTime now,
                           const Style& style) {
  Table table({{"NAME"},
               {"ROLE", Align::kLeft, 1},
               {"STATE"},
               {"CERTIFICATE ENDS"},
               {"ENROLLED", Align::kLeft, 3},
               {"MAY STAY UNTIL", Align::kLeft, 2},
               {"INVITE", Align::kLeft, 4},
               {"ID", Align::kLeft, 5}});
  std::string bans;
  for (const v1::EnrolledIdentity& one : identities) {
    table.Add({one.name(), one.role(), IdentityState(one, now),
               FormatTime(one.certificate_expire_time()), FormatTime(one.create_time()),
               one.has_expire_time() ? FormatTime(one.expire_time()) : "", one.invite_id(),
               one.identity_id() == one.name() ? "" : one.identity_id()});
    if (!one.has_ban_time()) continue;
    std::string ban = one.name() + ": banned at " + FormatTime(one.ban_time());
    if (!one.banned_by().empty()) ban += " by " + one.banned_by();
    if (!one.ban_reason().empty()) ban += ": " + one.ban_reason();
    bans += Wrap(Sanitize(ban), style.width, 4) + "\n";
  }
  return table.Render(style) + (bans.empty() ? "" : "\n" + bans);
}

std::string IdentitiesCsv(const std::vector<v1::EnrolledIdentity>& identities, WallTime now) {
  std::string csv = CsvRecord({"identity_id", "role", "name", "state", "key_hash", "serial",
                               "certificate_expire_time", "create_time", "expire_time", "invite_id",
                               "ephemeral", "ban_time", "ban_reason", "banned_by"});
  for (const v1::EnrolledIdentity& one : identities) {
    csv += CsvRecord({one.identity_id(), one.role(), one.name(), IdentityState(one, now).text,
                      one.key_hash(), one.serial(), FormatTimeExact(one.certificate_expire_time()),
                      FormatTimeExact(one.create_time()), FormatTimeExact(one.expire_time()),
                      one.invite_id(), one.ephemeral() ? "true" : "false",
                      FormatTimeExact(one.ban_time()), one.ban_reason(), one.banned_by()});
  }
  return csv;
}

std::string AttemptsText(const std::vector<v1::EnrolmentAttempt>& attempts, const Style& style) {
  constexpr int kWide = 140;
  const bool wide = style.width == 0 || style.width >= kWide;
  std::vector<Column> columns = {
      {"TIME"}, {"FROM"}, {"WHO", Align::kLeft, wide ? 0 : 1}, {"REASON"}};
  if (wide) columns.push_back({"MESSAGE"});
  Table table(columns);
  for (const v1::EnrolmentAttempt& one : attempts) {
    std::vector<Cell> row = {FormatTime(one.time()), one.address(), one.subject(),
                             ReasonWord(one.reason())};
    if (wide) row.emplace_back(one.message());
    table.Add(std::move(row));
  }
  if (wide) return table.Render(style);
  // The header is one line, and each row is another.
  const std::string rendered = table.Render(style);
  const std::vector<std::string_view> lines = Split(rendered, '\n');
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    text.append(lines[i]).append("\n");
    if (i == 0 || i > attempts.size()) continue;
    text += "  " + Wrap(Sanitize(attempts[i - 1].message()), style.width - 2, 4) + "\n";
  }
  return text;
}

std::string AttemptsCsv(const std::vector<v1::EnrolmentAttempt>& attempts) {
  std::string csv = CsvRecord({"time", "address", "subject", "reason", "message"});
  for (const v1::EnrolmentAttempt& one : attempts) {
    csv += CsvRecord({FormatTimeExact(one.time()), one.address(), one.subject(),
                      ReasonWord(one.reason()), one.message()});
  }
  return csv;
}

}  // namespace assay::cli
