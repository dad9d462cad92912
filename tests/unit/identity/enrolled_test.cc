// Joining, against a small server: what is stored, and what bad servers and proxies lead to.
#include "identity/enrolled.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <sys/stat.h>

#include <fstream>

#include "assay/v1/identity_service.pb.h"
#include "common/file.h"
#include "identity/invite_token.h"
#include "identity/join_client.h"
#include "tests/unit/identity/join_server.h"
#include "tests/unit/identity/records.h"

namespace assay::identity {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

// Sets a variable of the environment until it is destroyed.
class Variable {
 public:
  Variable(std::string name, const std::string& value) : name_(std::move(name)) {
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  ~Variable() { ::unsetenv(name_.c_str()); }

 private:
  const std::string name_;
};

v1::EnrolRequest RequestIn(const std::string& http) {
  v1::EnrolRequest request;
  const std::string body = http.substr(http.find("\r\n\r\n") + 4);
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(body, &request).ok()) << body;
  return request;
}

class EnrolledTest : public ::testing::Test {
 protected:
  // Issues a certificate as a coordinator does.
  v1::EnrolResponse Issue(const v1::EnrolRequest& request) {
    const RequestedKey key = CheckCertificateRequest(request.certificate_request()).value();
    const WallTime now = Clock::Real().WallNow();
    v1::EnrolResponse response;
    response.set_certificate_chain(
        server_.authority()
            .Issue(key, {"node", kId, {"gpu-1"}, NewSerial(), now + 1h}, now)
            .value());
    response.set_authority(server_.authority().pem());
    response.set_identity_id(kId);
    response.set_name("gpu-1");
    response.set_fleet("assay");
    response.add_coordinators("assay.example:7900");
    response.mutable_scope()->set_role("node");
    return response;
  }

  static std::string Sent(const v1::EnrolResponse& response) {
    std::string json;
    EXPECT_TRUE(google::protobuf::util::MessageToJsonString(response, &json).ok());
    return JoinServer::Http(200, json);
  }

  Result<Enrolled> JoinIt() { return Join(folder_, {server_.url(), server_.pin()}, token_, "h"); }

  static constexpr char kId[] = "0b0e4f4a-7a45-4d4f-9a55-000000000001";
  TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path() + "/data/identity";
  const std::string token_ = InviteTokenText(NewInviteToken());
  std::function<std::string(const v1::EnrolRequest&)> answer_ =
      [this](const v1::EnrolRequest& request) { return Sent(Issue(request)); };
  JoinServer server_{[this](const std::string& http) { return answer_(RequestIn(http)); }};
};

TEST_F(EnrolledTest, JoinStoresWhatTheCoordinatorSends) {
  v1::EnrolRequest request;
  answer_ = [&](const v1::EnrolRequest& sent) {
    request = sent;
    return Sent(Issue(sent));
  };
  const auto joined = JoinIt();
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(request.token(), token_);
  EXPECT_EQ(request.host_name(), "h");
  EXPECT_TRUE(request.has_time());
  const auto loaded = LoadEnrolled(folder_);
  ASSERT_TRUE(loaded.ok() && *loaded) << loaded.status();
  const Enrolled& enrolled = **loaded;
  EXPECT_EQ(enrolled.id, kId);
  EXPECT_EQ(enrolled.name, "gpu-1");
  EXPECT_EQ(enrolled.role, "node");
  EXPECT_EQ(enrolled.fleet, "assay");
  EXPECT_THAT(enrolled.coordinators, ElementsAre("assay.example:7900"));
  EXPECT_EQ(enrolled.join.pin, server_.pin());
  EXPECT_EQ(enrolled.expire_time, joined->expire_time);
  EXPECT_EQ(enrolled.expire_time - enrolled.issue_time, 1h + 5min);
  EXPECT_EQ(ReadFile(enrolled.authority_file()).value(), server_.authority().pem());
  for (const std::string& file : {enrolled.key_file(), enrolled.certificate_file()}) {
    struct stat facts {};
    ASSERT_EQ(::stat(file.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0600u) << file;
  }
  EXPECT_FALSE(LoadEnrolled(temporary_.path()).value());
}

TEST_F(EnrolledTest, LostResponse_SameKeyWithTheNextTry) {
  std::vector<std::string> hashes;
  answer_ = [&](const v1::EnrolRequest& request) {
    hashes.push_back(CheckCertificateRequest(request.certificate_request()).value().hash);
    const std::string whole = Sent(Issue(request));
    return hashes.size() == 1 ? whole.substr(0, whole.size() - 10) : whole;
  };
  EXPECT_EQ(JoinIt().status().reason(), Reason::kUnreachable);
  EXPECT_FALSE(LoadEnrolled(folder_).value());
  EXPECT_TRUE(JoinIt().ok());
  ASSERT_EQ(hashes.size(), 2u);
  EXPECT_EQ(hashes[0], hashes[1]);
}

TEST_F(EnrolledTest, CrashBetweenTheFiles_IsRepairedByTheNextLoad) {
  const Enrolled old = JoinIt().value();
  const std::string before = ReadFile(old.certificate_file()).value();
  const auto renewed = RenewByKey(old);
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  const std::string after = ReadFile(old.certificate_file()).value();
  EXPECT_NE(before, after);
  // The program was killed before it replaced this file.
  std::ofstream(old.certificate_file()) << before;
  ASSERT_TRUE(LoadEnrolled(folder_).ok());
  EXPECT_EQ(ReadFile(old.certificate_file()).value(), after);
}

TEST_F(EnrolledTest, RenewedCertificate_IsStoredOnlyForTheOwnKey) {
  const Enrolled enrolled = JoinIt().value();
  v1::EnrolRequest request;
  request.set_certificate_request(MakeCertificateRequest(enrolled.key_file()).value());
  const std::string chain = Issue(request).certificate_chain();
  ASSERT_TRUE(StoreCertificate(enrolled, chain).ok());
  EXPECT_EQ(ReadFile(enrolled.certificate_file()).value(), chain);
  const Key other = std::move(NewKey().value());
  request.set_certificate_request(RequestPem(other.get()));
  EXPECT_EQ(StoreCertificate(enrolled, Issue(request).certificate_chain()).status().reason(),
            Reason::kWrongPeer);
  EXPECT_EQ(ReadFile(enrolled.certificate_file()).value(), chain);
}

TEST_F(EnrolledTest, DamagedFolder_IsAnError) {
  const Enrolled enrolled = JoinIt().value();
  for (const char* text : {"", "{}", "{\"url\": 3", "[]"}) {
    std::ofstream(folder_ + "/enrolment.json") << text;
    EXPECT_EQ(LoadEnrolled(folder_).status().reason(), Reason::kBadFile) << text;
  }
}

TEST_F(EnrolledTest, ErrorsOfTheCoordinatorArriveWhole) {
  answer_ = [](const v1::EnrolRequest&) {
    return JoinServer::Http(
        403, R"({"code":"PERMISSION_DENIED","reason":"INVITE_USED","message":"used\u001b[0m",)"
             R"("hint":"ask","violations":[{"field":"token","description":"used"},7]})");
  };
  const Status refused = JoinIt().status();
  EXPECT_EQ(refused.code(), Code::kPermissionDenied);
  EXPECT_EQ(refused.reason(), Reason::kInviteUsed);
  EXPECT_EQ(refused.hint(), "ask");
  EXPECT_EQ(refused.message().find('\x1b'), std::string::npos);
  ASSERT_EQ(refused.violations().size(), 1u);
  EXPECT_EQ(refused.violations()[0].field, "token");
}

TEST_F(EnrolledTest, AnswersOfOtherServers_AreWrongPeer) {
  for (const std::string& answer :
       {JoinServer::Http(404, "not here"), JoinServer::Http(200, "<html>"),
        JoinServer::Http(200, "{}"), JoinServer::Http(400, R"({"code":"OK"})"),
        std::string("220 smtp.example\r\n\r\n"), std::string("HTTP/1.1 200 OK\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n") +
            std::string(100'000, 'x'),
        std::string(100'000, 'x')}) {
    answer_ = [&](const v1::EnrolRequest&) { return answer; };
    const Status refused = JoinIt().status();
    EXPECT_EQ(refused.code(), Code::kFailedPrecondition) << answer.substr(0, 80);
    EXPECT_EQ(refused.reason(), Reason::kWrongPeer) << answer.substr(0, 80);
    EXPECT_FALSE(refused.hint().empty());
  }
  EXPECT_FALSE(LoadEnrolled(folder_).value());
}

TEST_F(EnrolledTest, BusyCoordinator_IsUnavailable) {
  answer_ = [](const v1::EnrolRequest&) { return JoinServer::Http(429, "slow down"); };
  EXPECT_EQ(JoinIt().status().code(), Code::kUnavailable);
}

TEST_F(EnrolledTest, WrongPin_SendsNoToken) {
  const std::string pin = KeyPin(NewKey().value().get());
  const Status refused = Join(folder_, {server_.url(), pin}, token_, "h").status();
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_EQ(refused.reason(), Reason::kWrongPeer);
  EXPECT_EQ(server_.requests(), 0);
}

TEST_F(EnrolledTest, BadUrlPinOrToken_IsRefusedBeforeAnyConnection) {
  const auto status = [&](const JoinPoint& point, const std::string& token) {
    return Join(folder_, point, token, "h").status();
  };
  for (const char* url : {"http://a:1", "https://", "https://a", "https://a:0", "a:1"}) {
    const Status refused = status({url, server_.pin()}, token_);
    EXPECT_EQ(refused.code(), Code::kInvalidArgument) << url;
  }
  for (const std::string& pin :
       {std::string(), std::string("x"), server_.pin().substr(1), "sha256//" + server_.pin()}) {
    EXPECT_EQ(status({server_.url(), pin}, token_).code(), Code::kInvalidArgument) << pin;
  }
  EXPECT_EQ(status({server_.url(), server_.pin()}, token_.substr(0, 70)).reason(),
            Reason::kBadInviteToken);
  EXPECT_EQ(server_.requests(), 0);
}

TEST_F(EnrolledTest, ServerThatIsSilent_TimesOut) {
  answer_ = [](const v1::EnrolRequest&) { return std::string(); };
  const Status closed = JoinIt().status();
  EXPECT_EQ(closed.reason(), Reason::kUnreachable);
  // Accepts connections in the kernel, and never answers.
  const Listener silent = std::move(ListenOn({"127.0.0.1", 0}).value());
  const JoinPoint point{"https://" + silent.address.ToString(), server_.pin()};
  const Status refused = PostEnrol(point, {}, 200ms).status();
  EXPECT_EQ(refused.code(), Code::kUnavailable);
  EXPECT_EQ(refused.reason(), Reason::kUnreachable);
}

TEST_F(EnrolledTest, NobodyListens_IsUnreachable) {
  const Status refused = PostEnrol({"https://127.0.0.1:1", server_.pin()}, {}, 5s).status();
  EXPECT_EQ(refused.reason(), Reason::kUnreachable);
  EXPECT_FALSE(refused.hint().empty());
}

TEST_F(EnrolledTest, PlaintextServer_IsWrongPeer) {
  const JoinServer plain([](const std::string&) { return JoinServer::Http(400, "bad request"); },
                         /*tls=*/false);
  const Status refused = PostEnrol({plain.url(), plain.pin()}, {}, 5s).status();
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_EQ(refused.reason(), Reason::kWrongPeer);
}

TEST_F(EnrolledTest, ProxyIsAskedForTheTunnel) {
  std::string asked;
  const JoinServer proxy(
      [&](const std::string& request) {
        asked = request;
        return std::string("HTTP/1.1 407 Authentication Required\r\n\r\n");
      },
      /*tls=*/false);
  const Variable variable("https_proxy",
                          "http://me:pass%40word@127.0.0.1:" + std::to_string(proxy.port()));
  const Status refused = JoinIt().status();
  EXPECT_EQ(refused.reason(), Reason::kUnreachable);
  EXPECT_THAT(asked, HasSubstr("CONNECT 127.0.0.1:" + std::to_string(server_.port())));
  EXPECT_THAT(asked, HasSubstr("Proxy-Authorization: Basic bWU6cGFzc0B3b3Jk\r\n"));
  EXPECT_EQ(refused.ToString().find("pass@word"), std::string::npos);
  {
    const Variable except("no_proxy", "example.com, 127.0.0.1");
    EXPECT_TRUE(JoinIt().ok());
  }
  const Variable socks("https_proxy", "socks5://me:secret@127.0.0.1:1080");
  const Status unusable = JoinIt().status();
  EXPECT_EQ(unusable.code(), Code::kInvalidArgument);
  EXPECT_EQ(unusable.message().find("secret"), std::string::npos);
}

}  // namespace
}  // namespace assay::identity
