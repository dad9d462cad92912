#include "runner/gang_output.h"

#include <cstdio>
#include <vector>

namespace assay {
namespace {

std::string Microseconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f us", seconds * 1e6);
  return text;
}

std::string Head(const char* name) {
  char text[32];
  std::snprintf(text, sizeof text, "  %-16s ", name);
  return text;
}

std::string Place(const GangReport& gang, int rank) {
  const RankPlace& place = gang.places[static_cast<size_t>(rank)];
  return "GPU " + std::to_string(place.gpu_index) + " of " + place.host;
}

}  // namespace

std::string GangLines(const GangReport& gang) {
  std::string text;
  if (gang.choice) {
    text += Head("collective") + gang.choice->algorithm;
    if (!gang.choice->protocol.empty()) text += ", " + gang.choice->protocol;
    if (gang.choice->channels > 0) {
      text += ", " + std::to_string(gang.choice->channels) + " channels";
    }
    text += " (" + gang.choice->source + ")\n";
  }
  for (const RankTimes& times : gang.times) {
    text += Head(times.rank == 0 ? "inside, by rank" : "") + std::to_string(times.rank) + ": " +
            Microseconds(times.median) + ", p05 " + Microseconds(times.p05) + ", p95 " +
            Microseconds(times.p95) + ", waits " + Microseconds(times.wait) + ", " +
            Place(gang, times.rank) + "\n";
  }
  if (gang.slow) {
    text += Head("slow rank") + std::to_string(gang.slow->rank) + " (" +
            Place(gang, gang.slow->rank) + "): the others wait " +
            Microseconds(gang.slow->others_wait_seconds) + " for it\n";
  }
  return text;
}

void AddGang(const GangReport& gang, JsonObject* report) {
  std::vector<std::string> ranks;
  for (const RankTimes& times : gang.times) {
    const RankPlace& place = gang.places[static_cast<size_t>(times.rank)];
    JsonObject json;
    json.AddRaw("rank", std::to_string(times.rank)).Add("median", times.median);
    json.Add("p05", times.p05).Add("p95", times.p95).AddRaw("n", std::to_string(times.n));
    json.Add("wait", times.wait).Add("node_name", place.host);
    ranks.push_back(json.AddRaw("gpu_index", std::to_string(place.gpu_index)).ToString());
  }
  if (!ranks.empty()) report->AddRaw("rank_times", JsonArray(ranks));
  if (gang.slow) {
    const RankPlace& place = gang.places[static_cast<size_t>(gang.slow->rank)];
    JsonObject json;
    json.AddRaw("rank", std::to_string(gang.slow->rank)).Add("node_name", place.host);
    json.AddRaw("gpu_index", std::to_string(place.gpu_index));
    report->Add("slow_rank", json.Add("others_wait_seconds", gang.slow->others_wait_seconds));
  }
  if (gang.choice) {
    JsonObject json;
    json.Add("algorithm", gang.choice->algorithm).Add("protocol", gang.choice->protocol);
    json.AddRaw("channels", std::to_string(gang.choice->channels));
    report->Add("collective", json.Add("source", gang.choice->source));
  }
}

}  // namespace assay
