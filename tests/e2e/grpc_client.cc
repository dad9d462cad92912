// Lists and calls the services of any gRPC server with reflection, like grpcurl:
//   grpc_client ADDRESS [CA [CERT KEY]] list
//   grpc_client ADDRESS [CA [CERT KEY]] call SERVICE/METHOD JSON
// Prints one line of JSON per response. Without CA the connection is plaintext. A failure of one of
// Assay's servers is printed with its reason: "status 7: MESSAGE (NOT_PERMITTED)".
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "common/reason.h"
#include "reflection.grpc.pb.h"
#include "wire/status_conversion.h"

namespace {

namespace pb = google::protobuf;
namespace reflection = grpc::reflection::v1alpha;

std::string ReadFile(const std::string& path) {
  std::ifstream stream(path);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

void SetDeadline(grpc::ClientContext* context) {
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(15));
}

int Fail(const std::string& message) {
  std::fprintf(stderr, "grpc_client: %s\n", message.c_str());
  return 1;
}

// Sends one request to the server's reflection service. Returns false on failure.
bool Ask(const std::shared_ptr<grpc::Channel>& channel,
         const reflection::ServerReflectionRequest& request,
         reflection::ServerReflectionResponse* response) {
  const auto stub = reflection::ServerReflection::NewStub(channel);
  grpc::ClientContext context;
  SetDeadline(&context);
  const auto stream = stub->ServerReflectionInfo(&context);
  const bool answered = stream->Write(request) && stream->Read(response);
  stream->WritesDone();
  const grpc::Status status = stream->Finish();
  if (!answered || !status.ok()) Fail(status.error_message());
  return answered && !response->has_error_response();
}

int List(const std::shared_ptr<grpc::Channel>& channel) {
  reflection::ServerReflectionRequest request;
  request.set_list_services("*");
  reflection::ServerReflectionResponse response;
  if (!Ask(channel, request, &response)) return Fail("no list of services");
  for (const auto& service : response.list_services_response().service()) {
    std::printf("%s\n", service.name().c_str());
  }
  return 0;
}

// Adds the file that `request` names, after all files that it imports.
bool AddFile(const std::shared_ptr<grpc::Channel>& channel,
             const reflection::ServerReflectionRequest& request, pb::DescriptorPool* pool) {
  reflection::ServerReflectionResponse response;
  if (!Ask(channel, request, &response)) return false;
  for (const std::string& bytes : response.file_descriptor_response().file_descriptor_proto()) {
    pb::FileDescriptorProto file;
    if (!file.ParseFromString(bytes)) return false;
    for (const std::string& dependency : file.dependency()) {
      if (pool->FindFileByName(dependency) != nullptr) continue;
      reflection::ServerReflectionRequest next;
      next.set_file_by_filename(dependency);
      if (!AddFile(channel, next, pool)) return false;
    }
    if (pool->FindFileByName(file.name()) == nullptr && pool->BuildFile(file) == nullptr) {
      return false;
    }
  }
  return true;
}

grpc::ByteBuffer Serialize(const pb::Message& message) {
  grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

void PrintJson(const grpc::ByteBuffer& bytes, pb::Message* message) {
  grpc::ByteBuffer copy = bytes;
  grpc::ProtoBufferReader reader(&copy);
  if (!message->ParseFromZeroCopyStream(&reader)) {
    Fail("a response does not parse");
    return;
  }
  pb::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  if (pb::util::MessageToJsonString(*message, &json, options).ok())
    std::printf("%s\n", json.c_str());
}

// Sends one request and prints every response, unary or streaming.
int Exchange(const std::shared_ptr<grpc::Channel>& channel, const std::string& path,
             const pb::Message& request, pb::Message* response) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  SetDeadline(&context);
  grpc::CompletionQueue queue;
  void* tag = nullptr;
  bool ok = false;
  const auto next = [&] { return queue.Next(&tag, &ok) && ok; };
  const auto call = stub.PrepareCall(&context, path, &queue);
  call->StartCall(nullptr);
  if (next()) {
    call->WriteLast(Serialize(request), grpc::WriteOptions(), nullptr);
    next();
  }
  grpc::ByteBuffer bytes;
  for (;;) {
    call->Read(&bytes, nullptr);
    if (!next()) break;
    PrintJson(bytes, response);
  }
  grpc::Status status;
  call->Finish(&status, nullptr);
  next();
  if (status.ok()) return 0;
  const assay::Status error = assay::rpc::FromGrpc(status);
  const std::string reason(assay::ReasonWord(error.reason()));
  return Fail("status " + std::to_string(status.error_code()) + ": " + error.message() +
              (reason.empty() ? "" : " (" + reason + ")"));
}

int Call(const std::shared_ptr<grpc::Channel>& channel, const std::string& name,
         const std::string& json) {
  const size_t slash = name.find('/');
  if (slash == std::string::npos) return Fail("SERVICE/METHOD expected");
  pb::DescriptorPool pool;
  reflection::ServerReflectionRequest request;
  request.set_file_containing_symbol(name.substr(0, slash));
  // The health service is compiled in, because servers do not describe it.
  const bool described = AddFile(channel, request, &pool);
  const pb::ServiceDescriptor* service = (described ? &pool : pb::DescriptorPool::generated_pool())
                                             ->FindServiceByName(name.substr(0, slash));
  const pb::MethodDescriptor* method =
      service == nullptr ? nullptr : service->FindMethodByName(name.substr(slash + 1));
  if (method == nullptr) return Fail("no method " + name);
  pb::DynamicMessageFactory factory(&pool);
  const std::unique_ptr<pb::Message> input(factory.GetPrototype(method->input_type())->New());
  const std::unique_ptr<pb::Message> output(factory.GetPrototype(method->output_type())->New());
  const auto parsed = pb::util::JsonStringToMessage(json, input.get());
  if (!parsed.ok()) return Fail(parsed.ToString());
  return Exchange(channel, "/" + name, *input, output.get());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  size_t command = 1;
  while (command < arguments.size() && arguments[command] != "list" &&
         arguments[command] != "call") {
    ++command;
  }
  if (command >= arguments.size()) return Fail("list or call expected");
  grpc::SslCredentialsOptions tls;
  if (command > 1) tls.pem_root_certs = ReadFile(arguments[1]);
  if (command > 3) {
    tls.pem_cert_chain = ReadFile(arguments[2]);
    tls.pem_private_key = ReadFile(arguments[3]);
  }
  const auto channel = grpc::CreateChannel(
      arguments[0], command > 1 ? grpc::SslCredentials(tls) : grpc::InsecureChannelCredentials());
  if (arguments[command] == "list") return List(channel);
  if (arguments.size() != command + 3) return Fail("call SERVICE/METHOD JSON expected");
  return Call(channel, arguments[command + 1], arguments[command + 2]);
}
