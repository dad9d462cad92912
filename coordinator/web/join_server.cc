#include "coordinator/web/join_server.h"

#include <fcntl.h>
#include <google/protobuf/util/json_util.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "common/digest.h"
#include "common/executor.h"
#include "common/file.h"
#include "common/subprocess.h"
#include "common/text.h"
#include "coordinator/core/guarded.h"
#include "coordinator/web/http_status.h"
#include "coordinator/web/join_script.h"
#include "coordinator/web/refusal_limit.h"
#include "http/metrics_server.h"
#include "http/server.h"

namespace assay::coordinator::web {

// The archive of the programs that run on a node. The file is kept open, so replacing it has no
// effect until the next start.
struct Archive {
  FileDescriptor file;
  size_t size = 0;
  std::string sha256;
};

namespace {

using nlohmann::json;

constexpr size_t kMaxBodyBytes = 32 << 10;
constexpr size_t kMaxArchiveBytes = 256 << 20;
constexpr size_t kPartBytes = 64 << 10;
constexpr unsigned kConnections = 512;
constexpr unsigned kConnectionsPerAddress = 64;
// Time that a client has to read 64 KiB.
constexpr Duration kResponsePatience = std::chrono::seconds(30);
// Enrolments have their own threads, because they wait for the database.
constexpr int kEnrolThreads = 2;

constexpr char kJoinJson[] = "application/json";

Result<std::shared_ptr<const Archive>> OpenArchive(const std::string& path) {
  auto archive = std::make_shared<Archive>();
  archive->file = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!archive->file.valid()) {
    return InvalidArgument("cannot read " + path + ": " + std::strerror(errno),
                           Reason::kFileUnreadable);
  }
  ASSAY_ASSIGN_OR_RETURN(
      const std::string bytes,
      ReadFile("/proc/self/fd/" + std::to_string(archive->file.get()), kMaxArchiveBytes));
  archive->size = bytes.size();
  archive->sha256 = Sha256Hex(bytes);
  return std::shared_ptr<const Archive>(std::move(archive));
}

// Returns the next part of the archive, or "" at its end.
std::string NextPart(const Archive& archive, size_t& offset) {
  std::string part(std::min(kPartBytes, archive.size - offset), '\0');
  const ssize_t size =
      ::pread(archive.file.get(), part.data(), part.size(), static_cast<off_t>(offset));
  // The exception breaks the connection off, so that the client notices the error.
  if (size < 0 || (size == 0 && !part.empty())) throw std::runtime_error("the archive ended early");
  part.resize(static_cast<size_t>(size));
  offset += part.size();
  return part;
}

http::Response JoinError(const Status& status) {
  json error = {{"code", CodeName(status.code())},
                {"reason", ReasonWord(status.reason())},
                {"message", status.message()},
                {"hint", status.hint()},
                {"violations", json::array()}};
  for (const Violation& violation : status.violations()) {
    error["violations"].push_back(
        {{"field", violation.field}, {"description", violation.description}});
  }
  http::Response response;
  response.status = HttpStatus(status.code());
  response.headers = {{"Content-Type", kJoinJson}, {"Cache-Control", "no-store"}};
  if (response.status == 503 || response.status == 429) {
    response.headers.emplace_back("Retry-After", "5");
  }
  response.body = error.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  return response;
}

// Parses the body of POST /enrol. Ignores unknown fields, because a newer agent may send them.
Result<v1::EnrolRequest> ParseEnrolRequest(const std::string& body) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  v1::EnrolRequest request;
  const auto parsed = google::protobuf::util::JsonStringToMessage(body, &request, options);
  if (parsed.ok()) return request;
  const std::string message = parsed.message().ToString();
  return InvalidArgument("the body is not an EnrolRequest in JSON: " +
                         Sanitize(Cut(message.substr(0, message.find('\n')), 200)));
}

// Replaces the placeholder '@NAME@' in the script.
void Fill(std::string& script, const std::string& name, const std::string& value) {
  const std::string mark = "'@" + name + "@'";
  script.replace(script.find(mark), mark.size(), "'" + value + "'");
}

}  // namespace

class JoinServer::Impl {
 public:
  Impl(const JoinServerOptions& options, Enrolment& enrolment, const Clock& clock)
      : options_(options), enrolment_(enrolment), refusals_(clock) {}
  ~Impl() {
    // End the exchanges first, and then the tasks that answer them.
    server_ = nullptr;
    enrolling_ = nullptr;
  }

  Status Start() {
    if (!options_.archive.empty()) {
      ASSAY_ASSIGN_OR_RETURN(archive_, OpenArchive(options_.archive));
    }
    enrolling_ = NewThreadPool(kEnrolThreads, "enrol");
    http::ServerOptions server;
    server.address = options_.address;
    server.handler = [this](const std::shared_ptr<http::Exchange>& exchange) { Handle(exchange); };
    server.connections = kConnections;
    server.connections_per_address = kConnectionsPerAddress;
    server.body_bytes = kMaxBodyBytes;
    server.request_patience = options_.request_patience;
    server.response_patience = kResponsePatience;
    server.tls_certificate = options_.certificate;
    server.tls_key = options_.key;
    // The script to be served contains the actual port, which is only known once the server has
    // started. Requests that arrive earlier wait for this mutex.
    MutexLock lock(mutex_);
    ASSAY_ASSIGN_OR_RETURN(server_, http::Server::Start(std::move(server)));
    HostPort reached = options_.advertise.value_or(server_->address());
    if (reached.port == 0) reached.port = server_->address().port;
    address_ = {"https://" + reached.ToString(), options_.pin, options_.authority};
    script_ = MakeScript();
    return Status::Ok();
  }

  const JoinAddress& address() const { return address_; }

 private:
  std::string MakeScript() const {
    std::string script = JoinScript();
    Fill(script, "URL", address_.url);
    Fill(script, "PIN", options_.pin);
    Fill(script, "VERSION", options_.version);
    Fill(script, "SHA256", archive_ ? archive_->sha256 : "");
    std::string authority = options_.authority;
    while (authority.ends_with('\n')) authority.pop_back();
    Fill(script, "AUTHORITY", authority);
    return script;
  }

  std::string Script() {
    MutexLock lock(mutex_);
    return script_;
  }

  void Handle(const std::shared_ptr<http::Exchange>& exchange) {
    const http::Request& request = exchange->request();
    const bool enrols = request.path == "/enrol";
    if (!enrols && request.path != "/join" && request.path != "/assay-node.deb") {
      return exchange->Respond(JoinError(
          NotFound("no such path; there are GET /join, GET /assay-node.deb and POST /enrol")));
    }
    const std::string method = enrols ? "POST" : "GET";
    if (request.method != method) {
      http::Response refused =
          JoinError(InvalidArgument("only " + method + " is answered for " + request.path));
      refused.status = 405;
      refused.headers.emplace_back("Allow", method);
      return exchange->Respond(std::move(refused));
    }
    if (enrols) return Enrol(exchange);
    if (request.path == "/join") {
      return exchange->Respond(
          {200, {{"Content-Type", "text/x-shellscript"}, {"Cache-Control", "no-store"}}, Script()});
    }
    if (!archive_) {
      return exchange->Respond(
          JoinError(NotFound("this coordinator has no archive of the node's programs")
                        .WithHint("start it with --node-archive FILE")));
    }
    http::RespondInParts(exchange, "application/vnd.debian.binary-package",
                         [archive = archive_, offset = std::make_shared<size_t>(0)] {
                           return NextPart(*archive, *offset);
                         });
  }

  void Enrol(const std::shared_ptr<http::Exchange>& exchange) {
    const std::string& peer = exchange->request().peer;
    if (!refusals_.Allows(peer)) {
      return exchange->Respond(JoinError(Status(Code::kResourceExhausted, Reason::kOverloaded,
                                                "too many refused requests from " + peer)
                                             .WithHint("try again in a minute")));
    }
    enrolling_->Post([this, exchange] {
      http::Response response;
      const Status enrolled = Guarded("Enrol", [&]() -> Status {
        ASSAY_ASSIGN_OR_RETURN(const v1::EnrolRequest request,
                               ParseEnrolRequest(exchange->request().body));
        ASSAY_ASSIGN_OR_RETURN(const v1::EnrolResponse made,
                               enrolment_.Enrol(request, exchange->request().peer));
        response.headers = {{"Content-Type", kJoinJson}, {"Cache-Control", "no-store"}};
        const auto written = google::protobuf::util::MessageToJsonString(made, &response.body);
        return written.ok() ? Status::Ok() : Internal("cannot write the response in JSON");
      });
      if (enrolled.ok()) return exchange->Respond(std::move(response));
      if (enrolled.code() != Code::kUnavailable && enrolled.code() != Code::kInternal) {
        refusals_.NoteRefusal(exchange->request().peer);
      }
      exchange->Respond(JoinError(ForPeers(enrolled)));
    });
  }

  // Replaces the texts of internal errors, because peers do not need to know the database's address
  // or the names of queries.
  static Status ForPeers(const Status& status) {
    if (status.code() == Code::kUnavailable) {
      return Unavailable("the coordinator's database does not answer", status.reason())
          .WithHint("try again in some seconds");
    }
    return status.code() == Code::kInternal
               ? Internal("the coordinator failed; its log has the cause", status.reason())
               : status;
  }

  const JoinServerOptions options_;
  Enrolment& enrolment_;
  RefusalLimit refusals_;
  std::shared_ptr<const Archive> archive_;
  JoinAddress address_;  // Constant after Start.
  Mutex mutex_;
  std::string script_ ASSAY_GUARDED_BY(mutex_);
  std::unique_ptr<Executor> enrolling_;
  std::unique_ptr<http::Server> server_;
};

JoinServer::JoinServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JoinServer::~JoinServer() = default;

Result<std::unique_ptr<JoinServer>> JoinServer::Start(const JoinServerOptions& options,
                                                      Enrolment& enrolment, const Clock& clock) {
  auto impl = std::make_unique<Impl>(options, enrolment, clock);
  ASSAY_RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<JoinServer>(new JoinServer(std::move(impl)));
}

const JoinAddress& JoinServer::address() const { return impl_->address(); }

}  // namespace assay::coordinator::web
