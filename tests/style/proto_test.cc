// Checks the rules of the wire protocol, and that it is compatible with the accepted one
// (proto/golden/assay_v1.textproto). `./dev golden` accepts a change.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace pb = google::protobuf;
namespace fs = std::filesystem;

// The protocol of the source tree, as descriptors from protoc.
class ProtoTest : public testing::Test {
 protected:
  ProtoTest() {
    std::ifstream stream(ASSAY_DESCRIPTOR_SET, std::ios::binary);
    EXPECT_TRUE(current_.ParseFromIstream(&stream)) << ASSAY_DESCRIPTOR_SET;
    for (const auto& file : current_.file()) {
      const auto* built = pool_.BuildFile(file);
      EXPECT_NE(built, nullptr) << file.name();
      if (built != nullptr && file.package() != "google.protobuf") files_.push_back(built);
    }
  }

  void ForEachMessage(const std::function<void(const pb::Descriptor&)>& visit) const {
    std::function<void(const pb::Descriptor&)> recurse = [&](const pb::Descriptor& message) {
      if (message.options().map_entry()) return;
      visit(message);
      for (int i = 0; i < message.nested_type_count(); ++i) recurse(*message.nested_type(i));
    };
    for (const auto* file : files_) {
      for (int i = 0; i < file->message_type_count(); ++i) recurse(*file->message_type(i));
    }
  }

  void ForEachEnum(const std::function<void(const pb::EnumDescriptor&)>& visit) const {
    for (const auto* file : files_) {
      for (int i = 0; i < file->enum_type_count(); ++i) visit(*file->enum_type(i));
    }
    ForEachMessage([&](const pb::Descriptor& message) {
      for (int i = 0; i < message.enum_type_count(); ++i) visit(*message.enum_type(i));
    });
  }

  pb::FileDescriptorSet current_;
  pb::DescriptorPool pool_;
  std::vector<const pb::FileDescriptor*> files_;
};

// Converts "FailureClass" to "FAILURE_CLASS".
std::string UpperSnake(const std::string& camel) {
  std::string out;
  for (const char c : camel) {
    if (std::isupper(static_cast<unsigned char>(c)) && !out.empty()) out += '_';
    out += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return out;
}

TEST_F(ProtoTest, PackagesMatchTheirFolders) {
  ASSERT_FALSE(files_.empty());
  for (const auto* file : files_) {
    std::string folder = fs::path(file->name()).parent_path().string();
    for (char& c : folder) c = c == '/' ? '.' : c;
    EXPECT_EQ(file->package(), folder) << file->name();
  }
}

TEST_F(ProtoTest, EnumsStartUnspecifiedAndPrefixTheirValues) {
  ForEachEnum([](const pb::EnumDescriptor& type) {
    const std::string prefix = UpperSnake(type.name()) + "_";
    EXPECT_EQ(type.value(0)->name(), prefix + "UNSPECIFIED");
    EXPECT_EQ(type.value(0)->number(), 0) << type.full_name();
    for (int i = 0; i < type.value_count(); ++i) {
      EXPECT_EQ(type.value(i)->name().rfind(prefix, 0), 0U) << type.value(i)->full_name();
    }
  });
}

TEST_F(ProtoTest, ServicesAndTheirRequestsAreNamedAlike) {
  // Both calls that open a session carry the messages of the session.
  const std::set<std::string> sessions = {"Session", "Attach"};
  for (const auto* file : files_) {
    for (int s = 0; s < file->service_count(); ++s) {
      const pb::ServiceDescriptor& service = *file->service(s);
      const std::string& name = service.name();
      EXPECT_TRUE(name.size() > 7 && name.substr(name.size() - 7) == "Service") << name;
      for (int m = 0; m < service.method_count(); ++m) {
        const pb::MethodDescriptor& method = *service.method(m);
        if (sessions.count(method.name()) != 0) continue;
        EXPECT_EQ(method.input_type()->name(), method.name() + "Request");
        EXPECT_EQ(method.output_type()->name(), method.name() + "Response");
      }
    }
  }
}

TEST_F(ProtoTest, FieldsAreSnakeCaseAndTimesAreTyped) {
  ForEachMessage([](const pb::Descriptor& message) {
    for (int i = 0; i < message.field_count(); ++i) {
      const pb::FieldDescriptor& field = *message.field(i);
      for (const char c : field.name()) {
        EXPECT_TRUE(std::islower(static_cast<unsigned char>(c)) ||
                    std::isdigit(static_cast<unsigned char>(c)) || c == '_')
            << field.full_name();
      }
      const std::string& name = field.name();
      if (name.size() > 5 && name.substr(name.size() - 5) == "_time") {
        ASSERT_NE(field.message_type(), nullptr) << field.full_name();
        const std::string& type = field.message_type()->full_name();
        EXPECT_TRUE(type == "google.protobuf.Timestamp" || type == "google.protobuf.Duration")
            << field.full_name() << " is a " << type;
      }
    }
  });
}

TEST_F(ProtoTest, ListsAreReadInPages) {
  ForEachMessage([](const pb::Descriptor& message) {
    if (message.FindFieldByName("page_size") == nullptr) return;
    EXPECT_NE(message.FindFieldByName("page_token"), nullptr) << message.full_name();
    const std::string& name = message.name();
    const std::string response = name.substr(0, name.size() - 7) + "Response";
    const pb::Descriptor* page = message.file()->FindMessageTypeByName(response);
    ASSERT_NE(page, nullptr) << response;
    EXPECT_NE(page->FindFieldByName("next_page_token"), nullptr) << response;
  });
}

// Maps the name of each element of a protocol to the properties that must not change.
using Surface = std::map<std::string, std::string>;

void AddMessage(const std::string& scope, const pb::DescriptorProto& message, Surface& surface) {
  const std::string name = scope + "." + message.name();
  surface[name] = "message";
  for (const auto& field : message.field()) {
    // The wire uses numbers and types. JSON and users use names.
    surface[name + " field " + std::to_string(field.number())] =
        field.name() + " " + pb::FieldDescriptorProto::Type_Name(field.type()) + " " +
        pb::FieldDescriptorProto::Label_Name(field.label()) + " " + field.type_name() +
        (field.proto3_optional() ? " optional" : "");
  }
  for (const auto& type : message.enum_type()) {
    for (const auto& value : type.value()) {
      surface[name + "." + type.name() + " value " + std::to_string(value.number())] = value.name();
    }
  }
  for (const auto& nested : message.nested_type()) AddMessage(name, nested, surface);
}

Surface SurfaceOf(const pb::FileDescriptorSet& set) {
  Surface surface;
  for (const auto& file : set.file()) {
    for (const auto& message : file.message_type()) AddMessage(file.package(), message, surface);
    for (const auto& type : file.enum_type()) {
      for (const auto& value : type.value()) {
        surface[file.package() + "." + type.name() + " value " + std::to_string(value.number())] =
            value.name();
      }
    }
    for (const auto& service : file.service()) {
      for (const auto& method : service.method()) {
        surface[file.package() + "." + service.name() + "." + method.name()] =
            method.input_type() + (method.client_streaming() ? " stream" : "") + " -> " +
            method.output_type() + (method.server_streaming() ? " stream" : "");
      }
    }
  }
  return surface;
}

TEST_F(ProtoTest, NothingAcceptedWasRemovedRenumberedOrRetyped) {
  std::ifstream stream(ASSAY_GOLDEN_DESCRIPTOR);
  ASSERT_TRUE(stream.good()) << "run ./dev golden";
  std::stringstream text;
  text << stream.rdbuf();
  pb::FileDescriptorSet golden;
  ASSERT_TRUE(pb::TextFormat::ParseFromString(text.str(), &golden));
  pb::FileDescriptorSet current;
  for (const auto* file : files_) file->CopyTo(current.add_file());

  const Surface now = SurfaceOf(current);
  const Surface accepted = SurfaceOf(golden);
  ASSERT_FALSE(accepted.empty());
  for (const auto& [name, shape] : accepted) {
    const auto found = now.find(name);
    if (found == now.end()) {
      ADD_FAILURE() << name << " (" << shape << ") is gone; reserve its number and keep old "
                    << "clients working, or accept the break with ./dev golden";
    } else {
      EXPECT_EQ(found->second, shape) << name << " changed";
    }
  }
  for (const auto& [name, shape] : now) {
    EXPECT_TRUE(accepted.count(name) != 0)
        << name << " (" << shape << ") is new: accept it with ./dev golden";
  }
}

}  // namespace
