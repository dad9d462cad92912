#include "coordinator/web/bridge.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>
#include <openssl/evp.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "assay/v1/failure.pb.h"
#include "common/executor.h"
#include "common/mutex.h"
#include "common/status.h"
#include "common/text.h"
#include "coordinator/rpc/admission.h"
#include "coordinator/web/http_status.h"
#include "wire/roles.h"
#include "wire/status_conversion.h"

namespace assay::coordinator::web {
namespace {

namespace pb = google::protobuf;
using nlohmann::json;

constexpr std::chrono::seconds kDeadline{30};
// Smaller answers are not compressed.
constexpr size_t kCompressFrom = 1024;
constexpr size_t kEnvelopeHead = 5;
// Flags of an envelope.
constexpr char kCompressed = 1;
constexpr char kEndOfStream = 2;
constexpr char kStream[] = "application/connect+json";

const pb::MethodDescriptor* MethodOf(std::string_view path) {
  const size_t slash = path.find('/', 1);
  if (path.empty() || path[0] != '/' || slash == path.npos) return nullptr;
  if (path.find('/', slash + 1) != path.npos || path.find('\0') != path.npos) return nullptr;
  std::string name(path.substr(1));
  name[slash - 1] = '.';
  return pb::DescriptorPool::generated_pool()->FindMethodByName(name);
}

std::unique_ptr<pb::Message> NewMessage(const pb::Descriptor* type) {
  return std::unique_ptr<pb::Message>(
      pb::MessageFactory::generated_factory()->GetPrototype(type)->New());
}

std::string ToJson(const pb::Message& message) {
  pb::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  std::string text;
  static_cast<void>(pb::util::MessageToJsonString(message, &text, options));
  return text;
}

// Returns false if objects and lists are nested more deeply than `most`. Does not check the syntax.
bool IsShallow(std::string_view text, int most) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > most) return false;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return true;
}

Result<std::unique_ptr<pb::Message>> ParseRequest(const pb::Descriptor* type,
                                                  const std::string& text) {
  if (!IsShallow(text, Bridge::kMaxDepth)) {
    return InvalidArgument("the request is nested more deeply than " +
                           std::to_string(Bridge::kMaxDepth) + " levels");
  }
  std::unique_ptr<pb::Message> message = NewMessage(type);
  const auto parsed = pb::util::JsonStringToMessage(text, message.get());
  if (parsed.ok()) return message;
  return InvalidArgument("the request is no JSON of " + type->full_name() + ": " +
                         Sanitize(std::string(parsed.message())));
}

grpc::ByteBuffer Serialize(const pb::Message& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

// Returns the message in `bytes` as JSON.
std::string ToJson(const pb::Descriptor* type, const grpc::ByteBuffer& bytes) {
  grpc::Slice slice;
  const std::unique_ptr<pb::Message> message = NewMessage(type);
  if (bytes.DumpToSingleSlice(&slice).ok()) {
    message->ParseFromArray(slice.begin(), static_cast<int>(slice.size()));
  }
  return ToJson(*message);
}

// Encodes `bytes` in Base64 without padding, as Connect sends the details of errors.
std::string Base64(const std::string& bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                     reinterpret_cast<const unsigned char*>(bytes.data()),
                                     static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(length));
  while (!text.empty() && text.back() == '=') text.pop_back();
  return text;
}

// Returns Connect's name of a code, which is gRPC's name in lower case, except for "canceled".
std::string ConnectCode(Code code) {
  if (code == Code::kCancelled) return "canceled";
  std::string name(CodeName(code));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return name;
}

// Returns an error as JSON in the format of the Connect protocol. The "debug" field of a detail
// contains the detail as readable JSON.
json ErrorJson(const grpc::Status& status) {
  json error = {{"code", ConnectCode(static_cast<Code>(status.error_code()))},
                {"message", status.error_message()}};
  v1::ErrorStatus sent;
  if (!sent.ParseFromString(status.error_details())) return error;
  for (const pb::Any& any : sent.details()) {
    const std::string name = any.type_url().substr(any.type_url().rfind('/') + 1);
    json detail = {{"type", name}, {"value", Base64(any.value())}};
    const pb::Descriptor* const type =
        pb::DescriptorPool::generated_pool()->FindMessageTypeByName(name);
    if (type != nullptr) {
      const std::unique_ptr<pb::Message> message = NewMessage(type);
      if (message->ParseFromString(any.value())) {
        detail["debug"] = json::parse(ToJson(*message), nullptr, false);
      }
    }
    error["details"].push_back(std::move(detail));
  }
  return error;
}

std::string Dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

http::Response ErrorResponse(const grpc::Status& status) {
  http::Response response;
  response.status = HttpStatus(static_cast<Code>(status.error_code()));
  response.headers = {{"Content-Type", kJson}, {"Cache-Control", "no-store"}};
  if (response.status == 503 || response.status == 429) {
    response.headers.emplace_back("Retry-After", "15");
  }
  response.body = Dump(ErrorJson(status));
  return response;
}

std::string Gzip(const std::string& bytes) {
  constexpr int kLevel = 4;
  constexpr int kGzipWindow = 15 + 16;
  z_stream stream{};
  if (deflateInit2(&stream, kLevel, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return "";
  }
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int ended = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return ended == Z_STREAM_END ? packed : "";
}

http::Response JsonResponse(std::string body, bool compress) {
  http::Response response;
  response.headers = {
      {"Content-Type", kJson}, {"Cache-Control", "no-store"}, {"Vary", "Accept-Encoding"}};
  if (compress && body.size() >= kCompressFrom) {
    std::string packed = Gzip(body);
    if (!packed.empty()) {
      response.headers.emplace_back("Content-Encoding", "gzip");
      body = std::move(packed);
    }
  }
  response.body = std::move(body);
  return response;
}

std::string Envelope(char flags, const std::string& text) {
  const auto size = static_cast<uint32_t>(text.size());
  std::string envelope = {flags, static_cast<char>(size >> 24), static_cast<char>(size >> 16),
                          static_cast<char>(size >> 8), static_cast<char>(size)};
  return envelope + text;
}

Result<std::string> OpenEnvelope(const std::string& body) {
  const auto byte = [&](size_t i) {
    return static_cast<uint32_t>(static_cast<unsigned char>(body[i]));
  };
  if (body.size() >= kEnvelopeHead) {
    const uint32_t size = byte(1) << 24 | byte(2) << 16 | byte(3) << 8 | byte(4);
    if (body[0] == 0 && body.size() == kEnvelopeHead + size) return body.substr(kEnvelopeHead);
  }
  return InvalidArgument(
      "the body must be one envelope: a zero byte, the length of the message as 4 bytes with the "
      "highest first, and the message as JSON");
}

// Returns the request message, in JSON, from the query of a GET request in Connect's format.
Result<std::string> MessageInQuery(const http::Request& request) {
  std::optional<std::string> message;
  for (const auto& [name, value] : request.query) {
    if (name == "message") message = value;
    if (name == "encoding" && value != "json") {
      return InvalidArgument("encoding=" + value + " is not known; use encoding=json");
    }
    if (name == "base64" || name == "compression") {
      return InvalidArgument("\"" + name + "\" is not supported; send the message as plain JSON");
    }
  }
  if (!message) {
    return InvalidArgument("a GET needs the request in its query: ?encoding=json&message={}");
  }
  return *message;
}

Result<std::string> UnaryMessage(const http::Request& request) {
  if (request.method == "GET") return MessageInQuery(request);
  return request.body;
}

std::chrono::milliseconds TimeoutOf(const http::Request& request) {
  const std::string text = http::HeaderOf(request, "connect-timeout-ms");
  constexpr size_t kMaxDigits = 10;
  if (text.empty() || text.size() > kMaxDigits ||
      !std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); })) {
    return kDeadline;
  }
  return std::min<std::chrono::milliseconds>(kDeadline,
                                             std::chrono::milliseconds(std::stoll(text)));
}

bool IsServed(const pb::MethodDescriptor& method, const std::string& path) {
  return !method.client_streaming() &&
         method.options().idempotency_level() == pb::MethodOptions::NO_SIDE_EFFECTS &&
         Allows(Role::kViewer, path);
}

std::string MediaType(const http::Request& request) {
  const std::string type = http::HeaderOf(request, "content-type");
  return type.substr(0, type.find(';'));
}

}  // namespace

// State that all calls share.
struct Bridge::Shared {
  explicit Shared(const std::shared_ptr<grpc::Channel>& services) : stub(services) {}

  grpc::GenericStub stub;
  std::atomic<int> streams = 0;
  Mutex mutex;
  CondVar changed;
  int calls ASSAY_GUARDED_BY(mutex) = 0;
  int CallCount() {
    MutexLock lock(mutex);
    return calls;
  }
  // The threads that convert responses to JSON. They are separate from gRPC's threads, which are
  // also needed to renew leases.
  const std::unique_ptr<Executor> converter = NewThreadPool(2, "console");
};

// A count of one call in progress, from the construction of this object to its destruction.
class Bridge::Counted {
 public:
  explicit Counted(Shared& shared) : shared_(shared) {
    MutexLock lock(shared_.mutex);
    ++shared_.calls;
  }
  ~Counted() {
    MutexLock lock(shared_.mutex);
    --shared_.calls;
    shared_.changed.NotifyAll();
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  Shared* operator->() const { return &shared_; }

 private:
  Shared& shared_;
};

class Bridge::UnaryCall : public std::enable_shared_from_this<UnaryCall> {
 public:
  UnaryCall(Shared& shared, std::shared_ptr<http::Exchange> exchange,
            const pb::MethodDescriptor& method)
      : shared_(shared), exchange_(std::move(exchange)), method_(method) {}

  void Start(const pb::Message& request) {
    const http::Request& http = exchange_->request();
    compress_ = http::HeaderOf(http, "accept-encoding").find("gzip") != std::string::npos;
    context_.set_deadline(std::chrono::system_clock::now() + TimeoutOf(http));
    context_.AddMetadata(rpc::kViewer, rpc::ViewerMark(http.peer));
    request_ = Serialize(request);
    exchange_->OnGone([weak = weak_from_this()] {
      const auto call = weak.lock();
      if (!call) return;
      call->gone_ = true;
      call->context_.TryCancel();
    });
    shared_->stub.UnaryCall(&context_, http.path, grpc::StubOptions(), &request_, &response_,
                            [self = shared_from_this()](const grpc::Status& status) {
                              self->shared_->converter->Post([self, status] { self->End(status); });
                            });
  }

 private:
  void End(const grpc::Status& status) {
    if (gone_) return;  // The client has disconnected.
    exchange_->Respond(status.ok()
                           ? JsonResponse(ToJson(method_.output_type(), response_), compress_)
                           : ErrorResponse(status));
  }

  const Counted shared_;  // Destroyed last.
  const std::shared_ptr<http::Exchange> exchange_;
  const pb::MethodDescriptor& method_;
  grpc::ClientContext context_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;
  bool compress_ = false;
  std::atomic<bool> gone_ = false;
};

// A stream of messages. The next message is read once the client has taken the previous one.
class Bridge::StreamCall : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                           public std::enable_shared_from_this<StreamCall> {
 public:
  StreamCall(Shared& shared, std::shared_ptr<http::Exchange> exchange,
             const pb::MethodDescriptor& method)
      : shared_(shared), exchange_(std::move(exchange)), method_(method) {}

  void Start(const pb::Message& request) {
    const http::Request& http = exchange_->request();
    self_ = shared_from_this();
    http::Response head;
    head.headers = {{"Content-Type", kStream}, {"Cache-Control", "no-store"}};
    compress_ = http::HeaderOf(http, "connect-accept-encoding").find("gzip") != std::string::npos;
    if (compress_) head.headers.emplace_back("Connect-Content-Encoding", "gzip");
    exchange_->Begin(std::move(head));
    context_.AddMetadata(rpc::kViewer, rpc::ViewerMark(http.peer));
    request_ = Serialize(request);
    shared_->stub.PrepareBidiStreamingCall(&context_, http.path, grpc::StubOptions(), this);
    AddHold();
    StartWriteLast(&request_, grpc::WriteOptions());
    StartRead(&message_);
    StartCall();
    exchange_->OnGone([weak = weak_from_this()] {
      if (const auto call = weak.lock()) call->OnGone();
    });
  }

  void OnReadDone(bool ok) override {
    {
      MutexLock lock(mutex_);
      reading_ = false;
      if (!ok || gone_) return Release();
    }
    shared_->converter->Post([self = shared_from_this()] {
      self->exchange_->Write(self->MessageEnvelope());
      self->exchange_->OnDrained([self] { self->ReadNext(); });
    });
  }

  void OnDone(const grpc::Status& status) override {
    json end = json::object();
    if (!status.ok()) end["error"] = ErrorJson(status);
    exchange_->Write(Envelope(kEndOfStream, Dump(end)));
    exchange_->End();
    --shared_->streams;
    self_ = nullptr;
  }

 private:
  std::string MessageEnvelope() const {
    const std::string text = ToJson(method_.output_type(), message_);
    if (compress_ && text.size() >= kCompressFrom) {
      const std::string packed = Gzip(text);
      if (!packed.empty()) return Envelope(kCompressed, packed);
    }
    return Envelope(0, text);
  }
  void ReadNext() {
    MutexLock lock(mutex_);
    if (gone_ || released_) return;
    reading_ = true;
    StartRead(&message_);
  }
  void OnGone() {
    MutexLock lock(mutex_);
    gone_ = true;
    context_.TryCancel();
    if (!reading_) Release();
  }
  // Allows gRPC to call OnDone.
  void Release() ASSAY_REQUIRES(mutex_) {
    if (!std::exchange(released_, true)) RemoveHold();
  }

  const Counted shared_;  // Destroyed last.
  const std::shared_ptr<http::Exchange> exchange_;
  const pb::MethodDescriptor& method_;
  grpc::ClientContext context_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer message_;
  bool compress_ = false;
  std::shared_ptr<StreamCall> self_;  // Keeps this object alive until OnDone.
  Mutex mutex_;
  bool reading_ ASSAY_GUARDED_BY(mutex_) = true;
  bool gone_ ASSAY_GUARDED_BY(mutex_) = false;
  bool released_ ASSAY_GUARDED_BY(mutex_) = false;
};

Bridge::Bridge(const std::shared_ptr<grpc::Channel>& services)
    : shared_(std::make_unique<Shared>(services)) {}

Bridge::~Bridge() {
  MutexLock lock(shared_->mutex);
  while (shared_->calls > 0) shared_->changed.Wait(shared_->mutex);
}

bool Bridge::IsMethod(std::string_view path) { return MethodOf(path) != nullptr; }

void Bridge::Answer(const std::shared_ptr<http::Exchange>& exchange) {
  const http::Request& request = exchange->request();
  const auto refuse = [&](const Status& status) {
    exchange->Respond(ErrorResponse(assay::rpc::ToGrpc(status)));
  };
  const pb::MethodDescriptor* const method = MethodOf(request.path);
  if (method == nullptr || !IsServed(*method, request.path)) {
    return refuse(
        Status(Code::kPermissionDenied, Reason::kNotPermitted,
               request.path.substr(1) + " is not served over HTTP: it may change something")
            .WithHint("call it with gRPC, or use the command line"));
  }
  const bool streams = method->server_streaming();
  if (request.method == "POST" ? MediaType(request) != (streams ? kStream : kJson)
                               : request.method != "GET" || streams) {
    http::Response response = ErrorResponse(assay::rpc::ToGrpc(
        InvalidArgument(std::string("POST with Content-Type: ") + (streams ? kStream : kJson))));
    response.status = request.method == "POST" ? 415 : 405;
    return exchange->Respond(std::move(response));
  }
  const Result<std::string> text = streams ? OpenEnvelope(request.body) : UnaryMessage(request);
  if (!text.ok()) return refuse(text.status());
  const auto message = ParseRequest(method->input_type(), *text);
  if (!message.ok()) return refuse(message.status());
  if (!streams) {
    if (shared_->CallCount() >= kMaxCalls) {
      return refuse(Unavailable("too many questions at once", Reason::kOverloaded)
                        .WithHint("ask again in a moment"));
    }
    std::make_shared<UnaryCall>(*shared_, exchange, *method)->Start(**message);
    return;
  }
  if (++shared_->streams > kMaxStreams) {
    --shared_->streams;
    return refuse(Unavailable("too many pages are open", Reason::kOverloaded)
                      .WithHint("ask at intervals instead"));
  }
  std::make_shared<StreamCall>(*shared_, exchange, *method)->Start(**message);
}

}  // namespace assay::coordinator::web
