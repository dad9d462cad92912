#include "wire/roles.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/text.h"

namespace assay {
namespace {

constexpr size_t kMaxPartBytes = 200;

constexpr std::array<std::pair<Role, std::string_view>, 9> kNames = {{
    {Role::kNone, "none"},
    {Role::kViewer, "viewer"},
    {Role::kSubmitter, "submitter"},
    {Role::kOperator, "operator"},
    {Role::kAdmin, "admin"},
    {Role::kLocalAdmin, "local-admin"},
    {Role::kNode, "node"},
    {Role::kCoordinator, "coordinator"},
    {Role::kProxy, "proxy"},
}};

constexpr std::array<MethodAccess, 60> kTable = {{
    // method, least role of users, node, coordinator
    {"/assay.v1.NodeService/ListNodes", Role::kViewer, false, false},
    {"/assay.v1.NodeService/GetNode", Role::kViewer, false, false},
    {"/assay.v1.NodeService/GetFleet", Role::kViewer, false, false},
    {"/assay.v1.NodeService/WatchFleet", Role::kViewer, false, false},
    {"/assay.v1.NodeService/AddNode", Role::kOperator, false, false},
    {"/assay.v1.NodeService/RemoveNode", Role::kOperator, false, false},
    {"/assay.v1.NodeService/CordonNode", Role::kOperator, false, false},
    {"/assay.v1.NodeService/UncordonNode", Role::kOperator, false, false},
    {"/assay.v1.NodeService/DrainNode", Role::kOperator, false, false},
    {"/assay.v1.NodeService/UpdateNode", Role::kOperator, false, false},
    {"/assay.v1.CampaignService/GetCampaign", Role::kViewer, false, false},
    {"/assay.v1.CampaignService/ListCampaigns", Role::kViewer, false, false},
    {"/assay.v1.CampaignService/ListJobs", Role::kViewer, false, false},
    {"/assay.v1.CampaignService/WatchCampaign", Role::kViewer, false, false},
    {"/assay.v1.CampaignService/GetCampaignProgress", Role::kViewer, false, false},
    {"/assay.v1.CampaignService/ListFleetBenchmarks", Role::kViewer, false, false},
    {"/assay.v1.CampaignService/CreateCampaign", Role::kSubmitter, false, false},
    // A submitter may change only its own campaigns and schedules. The services check this.
    {"/assay.v1.CampaignService/CancelCampaign", Role::kSubmitter, false, false},
    {"/assay.v1.CampaignService/RerunCampaign", Role::kSubmitter, false, false},
    {"/assay.v1.CampaignService/PauseCampaign", Role::kSubmitter, false, false},
    {"/assay.v1.CampaignService/ResumeCampaign", Role::kSubmitter, false, false},
    {"/assay.v1.ScheduleService/ListSchedules", Role::kViewer, false, false},
    {"/assay.v1.ScheduleService/CreateSchedule", Role::kSubmitter, false, false},
    {"/assay.v1.ScheduleService/DeleteSchedule", Role::kSubmitter, false, false},
    {"/assay.v1.ResultService/ListResults", Role::kViewer, false, false},
    {"/assay.v1.ResultService/GroupResults", Role::kViewer, false, false},
    {"/assay.v1.ResultService/GetResult", Role::kViewer, false, false},
    {"/assay.v1.ResultService/TabulateResults", Role::kViewer, false, false},
    {"/assay.v1.ResultService/ListFacets", Role::kViewer, false, false},
    {"/assay.v1.ResultService/ImportResults", Role::kOperator, false, false},
    {"/assay.v1.AnalysisService/CompareResults", Role::kViewer, false, false},
    {"/assay.v1.AnalysisService/GetHistory", Role::kViewer, false, false},
    {"/assay.v1.AnalysisService/ListRegressions", Role::kViewer, false, false},
    {"/assay.v1.AnalysisService/ListOutliers", Role::kViewer, false, false},
    {"/assay.v1.AnalysisService/ListBaselines", Role::kViewer, false, false},
    {"/assay.v1.AnalysisService/GetBaseline", Role::kViewer, false, false},
    {"/assay.v1.AnalysisService/GetCosts", Role::kViewer, false, false},
    {"/assay.v1.AnalysisService/GetRoofline", Role::kViewer, false, false},
    {"/assay.v1.AnalysisService/GetPairs", Role::kViewer, false, false},
    {"/assay.v1.NoteService/CreateBaseline", Role::kOperator, false, false},
    {"/assay.v1.NoteService/CreateAnnotation", Role::kSubmitter, false, false},
    {"/assay.v1.NoteService/AcknowledgeRegression", Role::kOperator, false, false},
    {"/assay.v1.IdentityService/CreateInvite", Role::kAdmin, false, false},
    {"/assay.v1.IdentityService/ListInvites", Role::kAdmin, false, false},
    {"/assay.v1.IdentityService/RevokeInvite", Role::kAdmin, false, false},
    {"/assay.v1.IdentityService/ListIdentities", Role::kOperator, false, false},
    {"/assay.v1.IdentityService/BanIdentity", Role::kAdmin, false, false},
    {"/assay.v1.IdentityService/UnbanIdentity", Role::kAdmin, false, false},
    {"/assay.v1.IdentityService/RemoveIdentity", Role::kAdmin, false, false},
    {"/assay.v1.IdentityService/ListAttempts", Role::kAdmin, false, false},
    // A caller can renew only its own certificate.
    {"/assay.v1.IdentityService/RenewCertificate", Role::kViewer, true, false},
    {"/assay.v1.FleetService/Attach", Role::kNone, true, false},
    {"/assay.v1.AgentService/Session", Role::kNone, false, true},
    {"/assay.v1.AgentService/GetInventory", Role::kOperator, false, false},
    {"/assay.v1.AgentService/ListBenchmarks", Role::kOperator, false, false},
    {"/assay.v1.AgentService/RunJob", Role::kOperator, false, false},
    {"/grpc.health.v1.Health/Check", Role::kViewer, true, true},
    {"/grpc.health.v1.Health/Watch", Role::kViewer, true, true},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", Role::kViewer, false, false},
    {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", Role::kViewer, false, false},
}};

bool IsUser(Role role) { return role >= Role::kViewer && role <= Role::kAdmin; }

}  // namespace

std::string_view RoleName(Role role) { return kNames.at(static_cast<size_t>(role)).second; }

Role ParseRole(std::string_view name) {
  for (const auto& [role, known] : kNames) {
    if (known == name && role != Role::kLocalAdmin) return role;
  }
  return Role::kNone;
}

std::span<const MethodAccess> AccessTable() { return kTable; }

bool Allows(Role role, std::string_view method) {
  if (role == Role::kLocalAdmin) return true;
  const auto* const row =
      std::find_if(kTable.begin(), kTable.end(),
                   [&](const MethodAccess& access) { return access.method == method; });
  if (row == kTable.end()) return false;
  if (role == Role::kNode) return row->node;
  if (role == Role::kCoordinator) return row->coordinator;
  return IsUser(role) && row->least_user != Role::kNone && role >= row->least_user;
}

Result<Identity> ParseSpiffeId(std::string_view uri) {
  constexpr std::string_view kScheme = "spiffe://";
  const auto refused = [&] {
    return InvalidArgument(
        "\"" + Cut(std::string(uri)) + "\" is not an identity of the form spiffe://FLEET/ROLE/ID",
        Reason::kNoIdentity);
  };
  if (uri.substr(0, kScheme.size()) != kScheme) return refused();
  const std::string_view rest = uri.substr(kScheme.size());
  const size_t first = rest.find('/');
  const size_t second = first == rest.npos ? rest.npos : rest.find('/', first + 1);
  if (second == rest.npos || rest.find('/', second + 1) != rest.npos) return refused();
  Identity identity;
  identity.fleet = rest.substr(0, first);
  identity.role = ParseRole(rest.substr(first + 1, second - first - 1));
  identity.id = rest.substr(second + 1);
  for (const std::string* part : {&identity.fleet, &identity.id}) {
    if (part->empty() || part->size() > kMaxPartBytes || !IsPlainText(*part)) return refused();
  }
  if (identity.role == Role::kNone) return refused();
  return identity;
}

}  // namespace assay
