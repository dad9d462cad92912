// The contract of every AnalysisStore for findings, baselines and annotations.
#pragma once

#include <gmock/gmock.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "storage/identity.h"
#include "tests/contract/stores.h"

namespace assay::storage {

class AnalysisStoreContract : public StoreContract {
 protected:
  static constexpr int kBegin = 1'767'225'600;

  static v1::Regression MakeRegression(const std::string& id, int minute = 0) {
    v1::Regression regression;
    regression.set_regression_id(id);
    regression.set_state(v1::REGRESSION_STATE_DETECTED);
    regression.set_scope(v1::REGRESSION_SCOPE_NO_PEER);
    regression.mutable_case_()->set_benchmark("gemm");
    regression.mutable_case_()->set_lineage_id("lineage");
    (*regression.mutable_case_()->mutable_parameters())["m"] = "8";
    regression.mutable_place()->add_node_names("g1");
    regression.mutable_place()->add_gpu_uuids("GPU-1");
    regression.mutable_step()->set_ratio(0.9);
    regression.mutable_detected_time()->set_seconds(kBegin + 60 * minute);
    return regression;
  }

  static v1::Incident MakeIncident(const std::string& id, int minute = 0) {
    v1::Incident incident;
    incident.set_incident_id(id);
    incident.set_state(v1::REGRESSION_STATE_CONFIRMED);
    incident.set_cause(v1::INCIDENT_CAUSE_DRIVER);
    incident.set_from("580.1");
    incident.set_to("590.1");
    incident.mutable_start_time()->set_seconds(kBegin + 60 * minute);
    return incident;
  }

  static v1::Outlier MakeOutlier(const std::string& lineage_id, const std::string& gpu, double z) {
    v1::Outlier outlier;
    outlier.mutable_place()->add_node_names("g1");
    outlier.mutable_place()->add_gpu_uuids(gpu);
    outlier.set_kind(v1::OUTLIER_KIND_SLOW);
    v1::OutlierCase& one = *outlier.add_cases();
    one.mutable_case_()->set_lineage_id(lineage_id);
    one.set_z(z);
    return outlier;
  }

  // Stores a simulated result and returns its lineage.
  std::string SimulatedLineage() {
    Connect({"a"});
    Create(MakeCampaign({MakeJob({"a"})}));
    v1::CaseResult result = MakeResult(Claim({"a"}).at(0));
    result.mutable_provenance()->set_simulated(true);
    Commit({result});
    return IdentityOf(result).lineage_id;
  }

  void Put(const Findings& findings) {
    const Status status = analysis().PutFindings(findings, 0);
    EXPECT_TRUE(status.ok()) << status;
  }

  static Findings Regressions(std::vector<v1::Regression> regressions) {
    Findings findings;
    findings.regressions = std::move(regressions);
    return findings;
  }

  std::vector<std::string> RegressionIds(const RegressionQuery& query) {
    const auto page = analysis().ListRegressions(query, {});
    EXPECT_TRUE(page.ok()) << page.status();
    std::vector<std::string> ids;
    if (!page.ok()) return ids;
    for (const v1::Regression& regression : page->items) ids.push_back(regression.regression_id());
    return ids;
  }

  std::vector<std::string> IncidentIds(const RegressionQuery& query) {
    const auto incidents = analysis().ListIncidents(query);
    EXPECT_TRUE(incidents.ok()) << incidents.status();
    std::vector<std::string> ids;
    if (!incidents.ok()) return ids;
    for (const v1::Incident& incident : *incidents) ids.push_back(incident.incident_id());
    return ids;
  }

  v1::Regression Only() {
    RegressionQuery all;
    all.include_closed = true;
    const auto page = analysis().ListRegressions(all, {});
    EXPECT_TRUE(page.ok() && page->items.size() == 1) << page.status();
    return page.ok() && !page->items.empty() ? page->items[0] : v1::Regression();
  }
};

TEST_P(AnalysisStoreContract, RegressionsAreListedByTheirQuery) {
  v1::Regression resolved = MakeRegression("resolved", 3);
  resolved.set_state(v1::REGRESSION_STATE_RESOLVED);
  v1::Regression cleared = MakeRegression("cleared", 4);
  cleared.set_state(v1::REGRESSION_STATE_CLEARED);
  v1::Regression member = MakeRegression("member", 1);
  member.set_incident_id("incident");
  member.mutable_place()->add_node_names("g2");
  v1::Regression simulated = MakeRegression("simulated", 2);
  simulated.mutable_case_()->set_simulated(true);
  simulated.mutable_case_()->set_lineage_id("other");
  Put(Regressions({resolved, cleared, member, simulated, MakeRegression("plain", 5)}));
  EXPECT_THAT(RegressionIds({}), ::testing::ElementsAre("plain", "simulated", "member"));
  RegressionQuery query;
  query.include_closed = true;
  EXPECT_THAT(RegressionIds(query),
              ::testing::ElementsAre("plain", "cleared", "resolved", "simulated", "member"));
  query.simulated = false;
  EXPECT_THAT(RegressionIds(query),
              ::testing::ElementsAre("plain", "cleared", "resolved", "member"));
  query.simulated = true;
  EXPECT_THAT(RegressionIds(query), ::testing::ElementsAre("simulated"));
  query = {};
  query.incident_id = "incident";
  EXPECT_THAT(RegressionIds(query), ::testing::ElementsAre("member"));
  query = {};
  query.node_name = "g2";
  EXPECT_THAT(RegressionIds(query), ::testing::ElementsAre("member"));
  query = {};
  query.lineage_id = "other";
  EXPECT_THAT(RegressionIds(query), ::testing::ElementsAre("simulated"));
  query.node_name = "g'3";
  EXPECT_THAT(RegressionIds(query), ::testing::IsEmpty());

  resolved.set_state(v1::REGRESSION_STATE_DETECTED);
  resolved.mutable_step()->set_ratio(0.5);
  Put(Regressions({resolved}));
  const auto again = analysis().ListRegressions({}, {2, ""});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->items.at(1).DebugString(), resolved.DebugString()) << "replaced";
}

TEST_P(AnalysisStoreContract, OpenRegressionsAreCountedByPlace) {
  v1::Regression resolved = MakeRegression("resolved");
  resolved.set_state(v1::REGRESSION_STATE_RESOLVED);
  v1::Regression cleared = MakeRegression("cleared");
  cleared.set_state(v1::REGRESSION_STATE_CLEARED);
  v1::Regression acknowledged = MakeRegression("acknowledged");
  acknowledged.set_state(v1::REGRESSION_STATE_ACKNOWLEDGED);
  v1::Regression unknown = MakeRegression("unknown");
  unknown.clear_state();
  v1::Regression link = MakeRegression("link");
  link.mutable_place()->add_node_names("g2");
  link.mutable_place()->add_gpu_uuids("GPU-2");
  v1::Regression cpu = MakeRegression("cpu");
  cpu.mutable_place()->clear_gpu_uuids();
  // A driver's regression is not the place's.
  v1::Regression fleet = MakeRegression("fleet");
  fleet.set_incident_id("driver");
  Findings findings = Regressions({resolved, cleared, acknowledged, unknown, link, cpu, fleet});
  findings.incidents = {MakeIncident("driver", 2)};
  findings.incidents[0].set_cause(v1::INCIDENT_CAUSE_DRIVER);
  Put(findings);
  const auto places = analysis().CountOpenRegressions(10);
  ASSERT_TRUE(places.ok()) << places.status();
  ASSERT_EQ(places->size(), 3U);
  EXPECT_EQ(places->front().count, 2);
  EXPECT_THAT(places->front().gpu_uuids, ::testing::ElementsAre("GPU-1"));
  int of_nodes = 0, of_links = 0;
  for (const PlaceRegressions& place : *places) {
    EXPECT_THAT(place.node_names, ::testing::Contains("g1"));
    if (place.gpu_uuids.empty()) of_nodes += place.count;
    if (place.gpu_uuids.size() == 2) of_links += place.count;
  }
  EXPECT_EQ(of_nodes, 1);
  EXPECT_EQ(of_links, 1);
  EXPECT_EQ(analysis().CountOpenRegressions(1)->size(), 1U);
}

TEST_P(AnalysisStoreContract, PagesOfRegressionsFollowEachOther) {
  std::vector<v1::Regression> all;
  for (int i = 0; i < 5; ++i) all.push_back(MakeRegression("id" + std::to_string(i), i / 2));
  all[3].mutable_detected_time()->set_nanos(123'456'789);
  Put(Regressions(all));
  std::vector<std::string> seen;
  PageRequest request{2, ""};
  do {
    const auto page = analysis().ListRegressions({}, request);
    ASSERT_TRUE(page.ok()) << page.status();
    for (const v1::Regression& one : page->items) seen.push_back(one.regression_id());
    request.token = page->next_token;
  } while (!request.token.empty() && seen.size() < 10);
  EXPECT_THAT(seen, ::testing::ElementsAre("id4", "id3", "id2", "id1", "id0"));
  for (const char* token : {"x", "g", "gx y", "r1 a"}) {
    EXPECT_EQ(analysis().ListRegressions({}, {2, token}).status().code(), Code::kInvalidArgument)
        << token;
  }
}

TEST_P(AnalysisStoreContract, IncidentsAreListedByTheirQuery) {
  Findings findings;
  v1::Incident resolved = MakeIncident("resolved", 3);
  resolved.set_state(v1::REGRESSION_STATE_RESOLVED);
  v1::Incident simulated = MakeIncident("simulated", 1);
  simulated.set_simulated(true);
  findings.incidents = {resolved, simulated, MakeIncident("driver", 2)};
  v1::Regression member = MakeRegression("member");
  member.set_incident_id("driver");
  member.set_state(v1::REGRESSION_STATE_RESOLVED);
  findings.regressions = {member};
  Put(findings);
  EXPECT_THAT(IncidentIds({}), ::testing::ElementsAre("driver", "simulated")) << "newest first";
  RegressionQuery query;
  query.include_closed = true;
  EXPECT_THAT(IncidentIds(query), ::testing::ElementsAre("resolved", "driver", "simulated"));
  query.simulated = true;
  EXPECT_THAT(IncidentIds(query), ::testing::ElementsAre("simulated"));
  query = {};
  query.incident_id = "driver";
  EXPECT_EQ(analysis().ListIncidents(query)->at(0).DebugString(),
            findings.incidents[2].DebugString());
  for (const auto& [node, lineage, count] :
       {std::tuple{"g1", "", 1}, {"g1", "lineage", 1}, {"", "x", 0}, {"g2", "lineage", 0}}) {
    query = {};
    query.node_name = node;
    query.lineage_id = lineage;
    EXPECT_EQ(IncidentIds(query).size(), static_cast<size_t>(count)) << node << lineage;
  }
}

TEST_P(AnalysisStoreContract, OutliersAreMergedAndReplacedByLineage) {
  const std::string lineage = SimulatedLineage();
  v1::Outlier simulated = MakeOutlier(lineage, "GPU-9", -9);
  simulated.set_simulated(true);
  v1::Outlier fast = MakeOutlier("l2", "GPU-2", 9);
  fast.set_kind(v1::OUTLIER_KIND_IMPLAUSIBLE);
  Findings findings;
  findings.lineage_ids = {"l1", "l2", lineage};
  findings.outliers = {MakeOutlier("l1", "GPU-2", -4), MakeOutlier("l1", "GPU-1", -5),
                       MakeOutlier("l2", "GPU-1", -6), fast, simulated};
  findings.judged = {{"l1", {"GPU-1", "GPU-2"}, {}},
                     {"l2", {"GPU-1"}, {"GPU-2", "GPU-3"}},
                     {lineage, {"GPU-9"}, {}}};
  findings.judged_until = WallTime(std::chrono::seconds(kBegin));
  findings.cursor = "5";
  Put(findings);

  const auto listed = analysis().ListOutliers({});
  ASSERT_TRUE(listed.ok()) << listed.status();
  ASSERT_EQ(listed->outliers_size(), 3);
  EXPECT_EQ(listed->outliers(0).place().gpu_uuids(0), "GPU-1");
  EXPECT_EQ(listed->outliers(0).judged_count(), 2);
  ASSERT_EQ(listed->outliers(0).cases_size(), 2);
  EXPECT_EQ(listed->outliers(0).cases(0).z(), -6) << "the worst first";
  EXPECT_EQ(listed->outliers(1).judged_count(), 1);
  EXPECT_EQ(listed->judged_places(), 2);
  EXPECT_EQ(listed->unjudged_places(), 1);
  EXPECT_EQ(listed->judged_until().seconds(), kBegin);
  v1::ListOutliersRequest request;
  request.set_simulated(true);
  EXPECT_EQ(analysis().ListOutliers(request)->outliers_size(), 1);
  EXPECT_EQ(analysis().ListOutliers(request)->judged_places(), 1);
  request.set_simulated(false);
  request.set_node_name("g2");
  EXPECT_EQ(analysis().ListOutliers(request)->outliers_size(), 0);

  Findings next;
  next.lineage_ids = {"l1"};
  next.judged = {{"l1", {}, {"GPU-1"}}};
  Put(next);
  const auto after = analysis().ListOutliers({});
  ASSERT_EQ(after->outliers_size(), 2) << "those of l2";
  EXPECT_EQ(after->outliers(0).cases_size(), 1);
  EXPECT_EQ(after->judged_places(), 1);
  EXPECT_EQ(after->unjudged_places(), 2);
  EXPECT_EQ(analysis().GetJudgeState()->cursor, "5") << "kept, because the new one is empty";
  EXPECT_EQ(analysis().GetJudgeState()->judged_until, findings.judged_until);
}

TEST_P(AnalysisStoreContract, FindingsAreCounted) {
  v1::Incident resolved = MakeIncident("resolved");
  resolved.set_state(v1::REGRESSION_STATE_RESOLVED);
  v1::Incident simulated = MakeIncident("simulated");
  simulated.set_simulated(true);
  v1::Outlier fast = MakeOutlier("l2", "GPU-2", 9);
  fast.set_kind(v1::OUTLIER_KIND_IMPLAUSIBLE);
  Findings findings;
  findings.incidents = {resolved, simulated, MakeIncident("one"), MakeIncident("two")};
  findings.lineage_ids = {"l1", "l2"};
  findings.outliers = {MakeOutlier("l1", "GPU-1", -5), MakeOutlier("l1", "GPU-3", -5),
                       MakeOutlier("l2", "GPU-1", -6), fast};
  Put(findings);

  const auto counts = analysis().CountFindings(10);
  ASSERT_TRUE(counts.ok()) << counts.status();
  std::map<bool, int> confirmed;
  for (const FindingCounts::Incidents& one : counts->incidents) {
    EXPECT_EQ(one.state, v1::REGRESSION_STATE_CONFIRMED);
    confirmed[one.simulated] += one.count;
  }
  EXPECT_EQ(confirmed, (std::map<bool, int>{{false, 2}, {true, 1}}));
  ASSERT_EQ(counts->outliers.size(), 2U);
  EXPECT_EQ(counts->outliers[0].kind, v1::OUTLIER_KIND_SLOW);
  EXPECT_EQ(counts->outliers[0].places, 2) << "GPU-1 is one place in two cases";
  EXPECT_EQ(counts->outliers[1].kind, v1::OUTLIER_KIND_IMPLAUSIBLE);
  EXPECT_EQ(counts->outliers[1].places, 1);
  EXPECT_EQ(analysis().CountFindings(1)->outliers.size(), 1U);
}

TEST_P(AnalysisStoreContract, FindingsOfAnEarlierTermChangeNothing) {
  EXPECT_EQ(analysis().GetJudgeState()->cursor, "");
  EXPECT_FALSE(analysis().GetJudgeState()->judged_until);
  const int64_t first = fleet().Elect("a", "a:1", std::chrono::minutes(1))->term;
  Findings findings = Regressions({MakeRegression("id-1")});
  findings.cursor = "1";
  ASSERT_TRUE(analysis().PutFindings(findings, first).ok());
  stores_->ExpireLeases();
  const int64_t second = fleet().Elect("b", "b:1", std::chrono::minutes(1))->term;
  findings = Regressions({MakeRegression("id-2")});
  findings.cursor = "2";
  EXPECT_EQ(analysis().PutFindings(findings, first).code(), Code::kFailedPrecondition);
  EXPECT_THAT(RegressionIds({}), ::testing::ElementsAre("id-1"));
  EXPECT_EQ(analysis().GetJudgeState()->cursor, "1");
  EXPECT_TRUE(analysis().PutFindings(findings, second).ok());
  EXPECT_EQ(analysis().GetJudgeState()->cursor, "2");
}

TEST_P(AnalysisStoreContract, AcknowledgementIsFoundByTheBeginningOfAnId) {
  v1::Incident incident = MakeIncident("abcd-3");
  v1::Regression member = MakeRegression("efgh-1");
  member.set_incident_id("abcd-3");
  v1::Regression resolved = MakeRegression("efgh-2");
  resolved.set_incident_id("abcd-3");
  resolved.set_state(v1::REGRESSION_STATE_RESOLVED);
  Findings findings = Regressions({member, resolved, MakeRegression("abcd-12"),
                                   MakeRegression("abcd-1"), MakeRegression("AB%_-1")});
  findings.incidents = {incident};
  Put(findings);
  const auto code = [&](const std::string& id) {
    return analysis().Acknowledge(id, "me", "", false).status().code();
  };
  EXPECT_EQ(code("abc"), Code::kInvalidArgument);
  EXPECT_EQ(code("abcd"), Code::kInvalidArgument) << "several";
  EXPECT_EQ(code("____"), Code::kNotFound);
  EXPECT_EQ(code("abcd-4"), Code::kNotFound);
  EXPECT_EQ(*analysis().Acknowledge("abcd-1", "me", "", false), 1) << "equal, not the beginning";
  EXPECT_EQ(*analysis().Acknowledge("AB%_", "me", "", false), 1);
  EXPECT_EQ(*analysis().Acknowledge("abcd-3", "ann", "known", true), 2);
  EXPECT_EQ(analysis().ListIncidents({})->at(0).state(), v1::REGRESSION_STATE_ACKNOWLEDGED);
  RegressionQuery query;
  query.incident_id = "abcd-3";
  query.include_closed = true;
  const auto page = analysis().ListRegressions(query, {});
  ASSERT_EQ(page->items.size(), 2U);
  for (const v1::Regression& one : page->items) {
    EXPECT_EQ(one.acknowledged_by(), "ann");
    EXPECT_EQ(one.acknowledge_note(), "known");
    EXPECT_TRUE(one.false_alarm());
    EXPECT_EQ(one.state(), one.regression_id() == "efgh-2" ? v1::REGRESSION_STATE_RESOLVED
                                                           : v1::REGRESSION_STATE_ACKNOWLEDGED);
  }
}

TEST_P(AnalysisStoreContract, LaterFindingsKeepAcknowledgements) {
  Findings findings = Regressions({MakeRegression("id-1")});
  findings.regressions[0].set_incident_id("incident");
  findings.incidents = {MakeIncident("incident")};
  Put(findings);
  ASSERT_EQ(*analysis().Acknowledge("inci", "ann", "known", true), 1);
  for (const auto& [stored, kept] :
       {std::pair{v1::REGRESSION_STATE_CONFIRMED, v1::REGRESSION_STATE_ACKNOWLEDGED},
        {v1::REGRESSION_STATE_DETECTED, v1::REGRESSION_STATE_ACKNOWLEDGED},
        {v1::REGRESSION_STATE_RESOLVED, v1::REGRESSION_STATE_RESOLVED}}) {
    findings.regressions[0].set_state(stored);
    findings.incidents[0].set_state(stored);
    findings.incidents[0].set_case_count(7);
    Put(findings);
    EXPECT_EQ(Only().state(), kept);
    EXPECT_EQ(Only().acknowledged_by(), "ann");
    EXPECT_EQ(Only().acknowledge_note(), "known");
    EXPECT_TRUE(Only().false_alarm());
    RegressionQuery all;
    all.include_closed = true;
    EXPECT_EQ(analysis().ListIncidents(all)->at(0).state(), kept);
    EXPECT_EQ(analysis().ListIncidents(all)->at(0).case_count(), 7);
  }
}

TEST_P(AnalysisStoreContract, FindingsThatRaceWithAnAcknowledgementKeepIt) {
  Put(Regressions({MakeRegression("id-1")}));
  std::atomic<bool> done{false};
  std::thread judge([&] {
    while (!done) Put(Regressions({MakeRegression("id-1")}));
  });
  for (int i = 0; i < 20; ++i) {
    const std::string note = "note " + std::to_string(i);
    const auto count = analysis().Acknowledge("id-1", "ann", note, false);
    EXPECT_TRUE(count.ok()) << count.status();
    EXPECT_EQ(Only().acknowledge_note(), note);
    EXPECT_EQ(Only().state(), v1::REGRESSION_STATE_ACKNOWLEDGED);
  }
  done = true;
  judge.join();
}

TEST_P(AnalysisStoreContract, BaselinesAreReplacedByName) {
  v1::Baseline baseline;
  baseline.set_name("golden");
  baseline.set_filter("benchmark = gemm");
  baseline.set_created_by("ann");
  baseline.set_case_count(12);
  for (int i = 0; i < 12; ++i) {
    v1::BaselineCase& one = *baseline.add_cases();
    one.mutable_case_()->set_benchmark("gemm");
    one.set_median(i);
  }
  ASSERT_TRUE(analysis().PutBaseline(baseline).ok());
  EXPECT_EQ(analysis().GetBaseline("golden")->DebugString(), baseline.DebugString());
  baseline.mutable_cases()->DeleteSubrange(1, 11);
  baseline.set_case_count(1);
  ASSERT_TRUE(analysis().PutBaseline(baseline).ok());
  EXPECT_EQ(analysis().GetBaseline("golden")->DebugString(), baseline.DebugString());
  v1::Baseline other = baseline;
  other.set_name("Early");
  ASSERT_TRUE(analysis().PutBaseline(other).ok());
  const auto listed = analysis().ListBaselines();
  ASSERT_TRUE(listed.ok() && listed->size() == 2) << listed.status();
  EXPECT_EQ(listed->at(0).name(), "Early");
  EXPECT_EQ(listed->at(1).name(), "golden");
  EXPECT_EQ(listed->at(1).case_count(), 1);
  EXPECT_EQ(listed->at(1).cases_size(), 0);
  const Status unknown = analysis().GetBaseline("goldn").status();
  EXPECT_EQ(unknown.code(), Code::kNotFound);
  EXPECT_EQ(unknown.hint(), "did you mean \"golden\"?");
}

TEST_P(AnalysisStoreContract, AnnotationsAreListedByTime) {
  const auto at = [](int seconds) { return WallTime(std::chrono::seconds(seconds)); };
  const auto put = [&](int seconds) {
    v1::Annotation annotation;
    annotation.set_annotation_id("id" + std::to_string(seconds));
    annotation.mutable_time()->set_seconds(seconds);
    annotation.set_text("moved to rack 7");
    annotation.set_node_name("g1");
    EXPECT_TRUE(analysis().PutAnnotation(annotation).ok());
  };
  for (const int seconds : {30, 10, 20, 40, 20}) put(seconds);
  const auto middle = analysis().ListAnnotations(at(20), at(30));
  ASSERT_TRUE(middle.ok() && middle->size() == 2) << middle.status();
  EXPECT_EQ(middle->at(0).time().seconds(), 20);
  EXPECT_EQ(middle->at(1).text(), "moved to rack 7");
  EXPECT_EQ(analysis().ListAnnotations(at(31), at(39))->size(), 0U);
  for (int seconds = 50; seconds < 1050; ++seconds) put(seconds);
  const auto newest = analysis().ListAnnotations(at(0), WallTime::max());
  ASSERT_TRUE(newest.ok() && newest->size() == 1000) << newest.status();
  EXPECT_EQ(newest->front().time().seconds(), 50);
  EXPECT_EQ(newest->back().time().seconds(), 1049);
}

}  // namespace assay::storage
