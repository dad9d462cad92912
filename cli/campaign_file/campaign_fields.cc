#include "cli/campaign_file/campaign_fields.h"

#include <algorithm>

#include "model/limits.h"

namespace assay::cli {

const std::vector<CampaignField>& CampaignFields() {
  using Kind = CampaignField::Kind;
  static const std::vector<CampaignField> fields = {
      {"name", Kind::kText, "required",
       "Name of the campaign. Names may repeat; commands then mean the newest."},
      {"benchmarks", Kind::kBenchmarks, "required",
       "What to run: a list of `NAME` or `NAME: {parameter: value}`."},
      {"nodes", Kind::kText, "every connected node",
       "Filter over nodes, in quotes: `'gpu.model = \"H200\"'`."},
      {.name = "absent",
       .kind = Kind::kChoice,
       .default_text = "fail with accept rules, else warn",
       .description =
           "Matching nodes that are disconnected or cordoned at submission: `fail` refuses the "
           "campaign, `warn` runs on the others and names the absent ones, `wait` also makes jobs "
           "for the absent ones, which wait for them.",
       .choices = {"fail", "warn", "wait"}},
      {.name = "expect_nodes",
       .kind = Kind::kInteger,
       .default_text = "any number",
       .description = "Refuse the campaign unless exactly this many nodes match, connected or not.",
       .minimum = 1,
       .maximum = kMaxExpectedNodes},
      {.name = "placement",
       .kind = Kind::kChoice,
       .default_text = "each",
       .description =
           "`each`: every matching node, and every GPU of it. `any`: once, wherever there is room "
           "first. `pairs`: every pair of matching nodes.",
       .choices = {"each", "any", "pairs"}},
      {.name = "exclusive",
       .kind = Kind::kChoice,
       .default_text = "node",
       .description =
           "Nothing else is measured at the same time on the same node, or on the same GPU.",
       .choices = {"node", "gpu"}},
      {.name = "repetitions",
       .kind = Kind::kInteger,
       .default_text = "1",
       .description = "Separate runs of every case.",
       .minimum = 1,
       .maximum = kMaxRepetitions},
      {.name = "effort",
       .kind = Kind::kChoice,
       .default_text = "standard",
       .description =
           "Time to measure one case. `quick`: about 1 s, with wider intervals. `standard`: at "
           "most about 4 s, or 15 s for large matrix products. `thorough`: up to 30 s, for "
           "differences of less than a percent.",
       .choices = {"quick", "standard", "thorough"}},
      {"timeout", Kind::kDuration, "20m", "Limit of one job on its node, from 1s to 24h."},
      {.name = "retries",
       .kind = Kind::kInteger,
       .default_text = "0",
       .description = "Further attempts of a job after a failure that may be temporary.",
       .maximum = kMaxRetries},
      {.name = "priority",
       .kind = Kind::kInteger,
       .default_text = "0",
       .description = "Campaigns of higher priority run first.",
       .minimum = -kMaxPriority,
       .maximum = kMaxPriority},
      {.name = "unplaceable",
       .kind = Kind::kChoice,
       .default_text = "refuse",
       .description =
           "Cases for which no matching node has enough GPUs: refuse the campaign, or skip them "
           "and run the rest.",
       .in_entry = true,
       .choices = {"refuse", "skip"}},
      {"counters", Kind::kBoolean, "false",
       "Read hardware counters of benchmarks on one GPU, in separate runs.", true},
      {"mixed_gpus", Kind::kBoolean, "false", "A gang may have GPUs of different models."},
      {"nccl", Kind::kNccl, "none",
       "NCCL's environment variables: `{NCCL_ALGO: Ring}`. In an entry, each variable replaces the "
       "campaign's.",
       true},
      {"accept", Kind::kRules, "none",
       "Rules of the verdict: a list of `BENCHMARK[PARAMETER=VALUE].METRIC >= NUMBER UNIT` or "
       "`>= NUMBER% of spec`."},
  };
  return fields;
}

const std::vector<std::string>& ChoicesOf(std::string_view field) {
  const std::vector<CampaignField>& fields = CampaignFields();
  return std::find_if(fields.begin(), fields.end(),
                      [field](const CampaignField& one) { return one.name == field; })
      ->choices;
}

}  // namespace assay::cli
