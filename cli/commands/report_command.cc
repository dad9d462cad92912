// assay report
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <set>

#include "cli/commands/app.h"
#include "cli/commands/fetch_results.h"
#include "cli/report/assets.h"
#include "cli/report/report_page.h"
#include "cli/views/format.h"
#include "common/clock.h"
#include "common/text.h"
#include "wire/timestamps.h"

namespace assay::cli {
namespace {

constexpr int kMaxResults = 10'000;
constexpr int kMaxPoints = 2'000;
constexpr int kMaxCases = 500;
constexpr int kMaxPlaces = 12;
// The least number of runs at one place for which the report shows a history.
constexpr int kMinRuns = 3;
// A request for columns may name 40 fields.
constexpr size_t kMaxFields = 40;
constexpr std::chrono::seconds kPatience{60};

struct ReportOptions {
  std::string subject;
  ResultsQuery query;
  std::string output = "report.html";
};

std::string Inflate(std::string_view gzip) {
  if (gzip.empty()) return "";
  constexpr int kGzipWindow = 15 + 16;
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) return "";
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzip.data()));
  stream.avail_in = static_cast<uInt>(gzip.size());
  std::string text;
  char buffer[65536];
  int ended = Z_OK;
  while (ended == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer);
    stream.avail_out = sizeof buffer;
    ended = inflate(&stream, Z_NO_FLUSH);
    text.append(buffer, sizeof buffer - stream.avail_out);
  }
  inflateEnd(&stream);
  return text;
}

// Reads the parts of a report one after the other.
class Reader {
 public:
  Reader(Client& client, ReportData& data) : client_(client), data_(data) {}

  // Returns false if no result matches.
  Result<bool> Read(const std::string& campaign, const std::string& filter) {
    filter_ = filter;
    ASSAY_RETURN_IF_ERROR(ReadGroups());
    if (data_.groups.groups().empty()) return false;
    ASSAY_RETURN_IF_ERROR(ReadResults());
    ASSAY_RETURN_IF_ERROR(ReadRoofline());
    ASSAY_RETURN_IF_ERROR(ReadComparison());
    ASSAY_RETURN_IF_ERROR(ReadHistory());
    if (!campaign.empty()) ASSAY_RETURN_IF_ERROR(ReadCampaign(campaign));
    return true;
  }

 private:
  Status ReadGroups() {
    v1::GroupResultsRequest request;
    request.set_filter(filter_);
    request.add_group_by("gpu.model");
    request.set_limit(kMaxCases);
    ASSAY_ASSIGN_OR_RETURN(
        data_.groups, client_.Call(&v1::ResultService::Stub::GroupResults, request, kPatience));
    return Status::Ok();
  }

  Status ReadResults() {
    v1::TabulateResultsRequest request;
    request.set_filter(filter_);
    request.set_limit(kMaxResults);
    std::vector<std::string> fields = ReportFields();
    for (const std::string& name : VaryingParameters(data_.groups, kMaxFields - fields.size())) {
      fields.push_back("parameters." + name);
    }
    for (const std::string& field : fields) request.add_fields(field);
    ASSAY_ASSIGN_OR_RETURN(
        data_.results, client_.Call(&v1::ResultService::Stub::TabulateResults, request, kPatience));
    return Status::Ok();
  }

  Status ReadRoofline() {
    v1::GetRooflineRequest request;
    request.set_filter(filter_);
    request.set_limit(kMaxPoints);
    ASSAY_ASSIGN_OR_RETURN(
        data_.roofline, client_.Call(&v1::AnalysisService::Stub::GetRoofline, request, kPatience));
    return Status::Ok();
  }

  // Compares drivers if the results have two.
  Status ReadComparison() {
    for (const v1::ResultColumn& column : data_.results.columns()) {
      if (column.field() != "driver" || column.texts_size() != 2) continue;
      v1::CompareResultsRequest request;
      request.set_filter(filter_);
      request.set_by("driver");
      ASSAY_ASSIGN_OR_RETURN(
          data_.comparison,
          client_.Call(&v1::AnalysisService::Stub::CompareResults, request, kPatience));
    }
    return Status::Ok();
  }

  // Adds histories if results have several runs at one place.
  Status ReadHistory() {
    v1::GetHistoryRequest request;
    request.set_filter(filter_);
    request.set_place_limit(kMaxPlaces);
    ASSAY_ASSIGN_OR_RETURN(
        v1::GetHistoryResponse history,
        client_.Call(&v1::AnalysisService::Stub::GetHistory, request, kPatience));
    const bool repeated =
        std::any_of(history.places().begin(), history.places().end(),
                    [](const auto& place) { return place.points_size() >= kMinRuns; });
    if (repeated) data_.history = std::move(history);
    return Status::Ok();
  }

  Status ReadCampaign(const std::string& campaign) {
    v1::GetCampaignProgressRequest progress;
    progress.set_campaign(campaign);
    ASSAY_ASSIGN_OR_RETURN(
        data_.progress,
        client_.Call(&v1::CampaignService::Stub::GetCampaignProgress, progress, kPatience));
    v1::GetPairsRequest pairs;
    pairs.set_campaign(campaign);
    ASSAY_ASSIGN_OR_RETURN(data_.pairs,
                           client_.Call(&v1::AnalysisService::Stub::GetPairs, pairs, kPatience));
    return Status::Ok();
  }

  Client& client_;
  ReportData& data_;
  std::string filter_;
};

Status WriteReport(const std::string& path, const std::string& page) {
  if (path == "-") {
    Print(page);
    return Status::Ok();
  }
  std::ofstream file(path, std::ios::binary);
  file << page;
  file.close();
  if (file) return Status::Ok();
  return Status(Code::kUnknown, Reason::kSystemError,
                "cannot write " + path + ": " + std::strerror(errno));
}

// A filter has an operator, which names of campaigns seldom have.
bool IsFilter(const std::string& subject) { return subject.find_first_of("=<>:") != subject.npos; }

Result<ExitCode> MakeReport(Context& context, const ReportOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  ResultsQuery query = options.query;
  if (!options.subject.empty()) {
    std::string& into = IsFilter(options.subject) ? query.filter : query.campaign;
    if (!into.empty()) {
      return InvalidArgument(Quote(options.subject) + " and " + Quote(into) +
                             " both choose the results; give one of them");
    }
    into = options.subject;
  }
  ReportData data;
  data.filter = query.filter;
  data.version = ASSAY_VERSION;
  data.time = FormatTimeExact(schema::ToTimestamp(Clock::Real().WallNow()));
  std::string campaign_id;
  if (!query.campaign.empty()) {
    v1::GetCampaignRequest request;
    request.set_campaign(query.campaign);
    ASSAY_ASSIGN_OR_RETURN(const v1::GetCampaignResponse found,
                           client.Call(&v1::CampaignService::Stub::GetCampaign, request));
    data.campaign = found.campaign();
    campaign_id = query.campaign = found.campaign().campaign_id();
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string filter, CompleteFilter(client, query));
  Reader reader(client, data);
  ASSAY_ASSIGN_OR_RETURN(bool found, reader.Read(campaign_id, filter));
  if (!found && !campaign_id.empty()) {
    // For a simulated campaign, use its simulated results, which filters otherwise exclude.
    ASSAY_ASSIGN_OR_RETURN(const std::string simulated, Narrowed(filter, "simulated = true"));
    ASSAY_ASSIGN_OR_RETURN(found, reader.Read(campaign_id, simulated));
  }
  if (!found) {
    ExplainNoMatch(client, query);
    return kExitFailed;
  }
  ReportAssets assets;
  assets.script = Inflate(ReportScriptGzip());
  assets.style = Inflate(ReportStyleGzip());
  assets.style_sources = ReportStyleSources();
  const std::string page = ReportPage(data, assets);
  ASSAY_RETURN_IF_ERROR(WriteReport(options.output, page));
  if (options.output != "-") {
    PrintError("Wrote " + options.output + " (" +
               FormatQuantity(static_cast<double>(page.size()), "B").ToString() +
               "): " + Counted(data.results.row_count(), "result") + ".\n");
  }
  return kExitDone;
}

}  // namespace

void AddReportCommand(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "report", "Write a campaign's or a filter's results as one HTML file, to send or to print");
  auto options = std::make_shared<ReportOptions>();
  command
      ->add_option("subject", options->subject, "Id or name of a campaign, or a filter of results")
      ->type_name("CAMPAIGN|FILTER");
  AddRangeOptions(*command, options->query);
  command->add_option("-o,--output", options->output, "File to write; - for stdout")
      ->check(NotEmpty())
      ->capture_default_str();
  command->footer(
      "The file needs no network and no Assay. Its figures need a browser that runs scripts; its "
      "verdicts and tables do not. The newest 10,000 results are part of it.\n\n"
      "Example: assay report nightly -o nightly.html\n\n"
      "Exit status: 1 if no result matches.");
  OnRun(*command, context, options, MakeReport);
}

}  // namespace assay::cli
