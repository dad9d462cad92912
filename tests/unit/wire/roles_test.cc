#include "wire/roles.h"

#include <gmock/gmock.h>

#include <set>
#include <string>
#include <vector>

#include "assay/v1/agent_service.pb.h"
#include "assay/v1/analysis_service.pb.h"
#include "assay/v1/campaign_service.pb.h"
#include "assay/v1/identity_service.pb.h"
#include "assay/v1/node_service.pb.h"
#include "assay/v1/result_service.pb.h"
#include "assay/v1/schedule_service.pb.h"

namespace assay {
namespace {

// Every method of every service of Assay.
std::set<std::string> Methods() {
  // A file of services without messages has no descriptor that is always linked.
  std::set<std::string> methods = {"/assay.v1.FleetService/Attach"};
  for (const google::protobuf::FileDescriptor* file :
       {v1::CreateCampaignRequest::descriptor()->file(), v1::ListNodesRequest::descriptor()->file(),
        v1::ListResultsRequest::descriptor()->file(), v1::RunJobRequest::descriptor()->file(),
        v1::CompareResultsRequest::descriptor()->file(),
        v1::ListSchedulesRequest::descriptor()->file(),
        v1::ListInvitesRequest::descriptor()->file()}) {
    for (int i = 0; i < file->service_count(); ++i) {
      const google::protobuf::ServiceDescriptor& service = *file->service(i);
      for (int j = 0; j < service.method_count(); ++j) {
        methods.insert("/" + service.full_name() + "/" + service.method(j)->name());
      }
    }
  }
  return methods;
}

TEST(Roles, EveryMethodHasOneRow) {
  std::set<std::string> rows;
  for (const MethodAccess& access : AccessTable()) {
    EXPECT_TRUE(rows.emplace(access.method).second) << access.method << " has two rows";
  }
  for (const std::string& method : Methods()) EXPECT_EQ(rows.count(method), 1) << method;
}

// The whole matrix, written down once more: a row for a method, a letter for each role that may
// call it. v s o a: viewer to admin; n: node; c: coordinator.
TEST(Roles, EveryCellIsAsDocumented) {
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"/assay.v1.NodeService/ListNodes", "vsoa"},
      {"/assay.v1.NodeService/GetNode", "vsoa"},
      {"/assay.v1.NodeService/GetFleet", "vsoa"},
      {"/assay.v1.NodeService/WatchFleet", "vsoa"},
      {"/assay.v1.NodeService/AddNode", "oa"},
      {"/assay.v1.NodeService/RemoveNode", "oa"},
      {"/assay.v1.NodeService/CordonNode", "oa"},
      {"/assay.v1.NodeService/UncordonNode", "oa"},
      {"/assay.v1.NodeService/DrainNode", "oa"},
      {"/assay.v1.NodeService/UpdateNode", "oa"},
      {"/assay.v1.CampaignService/CreateCampaign", "soa"},
      {"/assay.v1.CampaignService/CancelCampaign", "soa"},
      {"/assay.v1.CampaignService/RerunCampaign", "soa"},
      {"/assay.v1.CampaignService/PauseCampaign", "soa"},
      {"/assay.v1.CampaignService/ResumeCampaign", "soa"},
      {"/assay.v1.ScheduleService/CreateSchedule", "soa"},
      {"/assay.v1.ScheduleService/ListSchedules", "vsoa"},
      {"/assay.v1.ScheduleService/DeleteSchedule", "soa"},
      {"/assay.v1.CampaignService/GetCampaign", "vsoa"},
      {"/assay.v1.CampaignService/ListCampaigns", "vsoa"},
      {"/assay.v1.CampaignService/ListJobs", "vsoa"},
      {"/assay.v1.CampaignService/WatchCampaign", "vsoa"},
      {"/assay.v1.CampaignService/GetCampaignProgress", "vsoa"},
      {"/assay.v1.CampaignService/ListFleetBenchmarks", "vsoa"},
      {"/assay.v1.ResultService/ListResults", "vsoa"},
      {"/assay.v1.ResultService/GroupResults", "vsoa"},
      {"/assay.v1.ResultService/GetResult", "vsoa"},
      {"/assay.v1.ResultService/TabulateResults", "vsoa"},
      {"/assay.v1.ResultService/ListFacets", "vsoa"},
      {"/assay.v1.ResultService/ImportResults", "oa"},
      {"/assay.v1.AnalysisService/CompareResults", "vsoa"},
      {"/assay.v1.AnalysisService/GetHistory", "vsoa"},
      {"/assay.v1.AnalysisService/ListRegressions", "vsoa"},
      {"/assay.v1.AnalysisService/ListOutliers", "vsoa"},
      {"/assay.v1.AnalysisService/ListBaselines", "vsoa"},
      {"/assay.v1.AnalysisService/GetBaseline", "vsoa"},
      {"/assay.v1.AnalysisService/GetCosts", "vsoa"},
      {"/assay.v1.AnalysisService/GetRoofline", "vsoa"},
      {"/assay.v1.AnalysisService/GetPairs", "vsoa"},
      {"/assay.v1.NoteService/CreateBaseline", "oa"},
      {"/assay.v1.NoteService/CreateAnnotation", "soa"},
      {"/assay.v1.NoteService/AcknowledgeRegression", "oa"},
      {"/assay.v1.IdentityService/CreateInvite", "a"},
      {"/assay.v1.IdentityService/ListInvites", "a"},
      {"/assay.v1.IdentityService/RevokeInvite", "a"},
      {"/assay.v1.IdentityService/ListIdentities", "oa"},
      {"/assay.v1.IdentityService/BanIdentity", "a"},
      {"/assay.v1.IdentityService/UnbanIdentity", "a"},
      {"/assay.v1.IdentityService/RemoveIdentity", "a"},
      {"/assay.v1.IdentityService/ListAttempts", "a"},
      {"/assay.v1.IdentityService/RenewCertificate", "vsoan"},
      {"/assay.v1.FleetService/Attach", "n"},
      {"/assay.v1.AgentService/Session", "c"},
      {"/assay.v1.AgentService/GetInventory", "oa"},
      {"/assay.v1.AgentService/ListBenchmarks", "oa"},
      {"/assay.v1.AgentService/RunJob", "oa"},
      {"/grpc.health.v1.Health/Check", "vsoanc"},
      {"/grpc.health.v1.Health/Watch", "vsoanc"},
      {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "vsoa"},
      {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "vsoa"},
  };
  ASSERT_EQ(expected.size(), AccessTable().size());
  const std::vector<std::pair<Role, char>> letters = {
      {Role::kNone, '-'},  {Role::kViewer, 'v'}, {Role::kSubmitter, 's'},   {Role::kOperator, 'o'},
      {Role::kAdmin, 'a'}, {Role::kNode, 'n'},   {Role::kCoordinator, 'c'}, {Role::kProxy, '-'}};
  for (const auto& [method, allowed] : expected) {
    for (const auto& [role, letter] : letters) {
      EXPECT_EQ(Allows(role, method), allowed.find(letter) != std::string::npos)
          << RoleName(role) << " and " << method;
    }
    EXPECT_TRUE(Allows(Role::kLocalAdmin, method)) << method;
  }
  EXPECT_FALSE(Allows(Role::kAdmin, "/assay.v1.NodeService/Later"));
}

TEST(Roles, SpiffeIdGivesFleetRoleAndId) {
  const Result<Identity> node = ParseSpiffeId("spiffe://lab/node/7d1e");
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_EQ(node->fleet, "lab");
  EXPECT_EQ(node->role, Role::kNode);
  EXPECT_EQ(node->id, "7d1e");
}

TEST(Roles, OtherUrisAreNoIdentity) {
  for (const char* uri :
       {"", "lab/node/1", "https://lab/node/1", "spiffe://lab/node", "spiffe://lab/node/1/2",
        "spiffe:///node/1", "spiffe://lab/node/", "spiffe://lab/king/1", "spiffe://lab/none/1",
        "spiffe://lab/local-admin/1", "spiffe://lab/node/a\nb"}) {
    EXPECT_EQ(ParseSpiffeId(uri).status().reason(), Reason::kNoIdentity) << uri;
  }
}

}  // namespace
}  // namespace assay
