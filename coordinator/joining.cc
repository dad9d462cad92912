#include "coordinator/joining.h"

#include <unistd.h>

#include <cctype>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "common/file.h"
#include "common/log.h"

namespace assay::coordinator {
namespace {

constexpr size_t kMaxIdHostBytes = 50;

std::string ThisHost() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

// Returns an id for the coordinator that listens on `port` of this host.
std::string CoordinatorId(int port) {
  std::string id = ThisHost().substr(0, kMaxIdHostBytes);
  for (char& c : id) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '-';
  }
  return id + "-" + std::to_string(port);
}

// Returns the names and addresses under which nodes and users reach this coordinator.
std::vector<std::string> NamesOf(const CoordinatorOptions& options) {
  std::set<std::string> names = {"localhost", "127.0.0.1", "::1",
                                 options.authority->advertise_join.host};
  if (options.advertise) names.insert(options.advertise->host);
  if (!AdvertisedAddress({}, options.listen).empty()) names.insert(options.listen.host);
  if (const std::string host = ThisHost(); !host.empty()) names.insert(host);
  return {names.begin(), names.end()};
}

}  // namespace

Result<std::unique_ptr<Joining>> Joining::Start(const CoordinatorOptions& options,
                                                const HostPort& listens, Executor& executor,
                                                storage::IdentityStore& store) {
  const AuthorityOptions& given = *options.authority;
  const Clock& clock = Clock::Real();
  std::unique_ptr<Joining> joining(new Joining);
  ASSAY_ASSIGN_OR_RETURN(joining->authority_,
                         identity::Authority::Open(given.folder, given.fleet, clock.WallNow()));
  const identity::Authority& authority = *joining->authority_;
  ASSAY_ASSIGN_OR_RETURN(
      const identity::ServerCertificate own,
      authority.IssueServer(CoordinatorId(listens.port), NamesOf(options), clock.WallNow()));
  ASSAY_ASSIGN_OR_RETURN(const std::string pin, authority.ServerPin());
  joining->tls_ = {own.certificate_file, own.key_file, own.authority_file};
  joining->bans_ = std::make_shared<BanList>(clock, executor, store);
  joining->enrolment_ = std::make_unique<Enrolment>(
      authority, clock, store, *joining->bans_,
      std::vector<std::string>{AdvertisedAddress(options.advertise, listens)},
      given.node_certificate);
  JoinAddress address{"https://" + given.advertise_join.ToString(), pin, authority.pem()};
  if (given.join) {
    web::JoinServerOptions server;
    server.address = *given.join;
    server.advertise = given.advertise_join;
    ASSAY_ASSIGN_OR_RETURN(server.certificate, ReadFile(own.certificate_file));
    ASSAY_ASSIGN_OR_RETURN(server.key, ReadFile(own.key_file));
    server.pin = pin;
    server.authority = authority.pem();
    server.archive = given.archive;
    server.version = ASSAY_VERSION;
    ASSAY_ASSIGN_OR_RETURN(joining->server_,
                           web::JoinServer::Start(server, *joining->enrolment_, clock));
    address = joining->server_->address();
    Log().info("nodes and users join at {}{}", address.url,
               given.archive.empty() ? ", without an archive of the node's programs" : "");
  }
  joining->membership_ = std::make_unique<rpc::Membership>(
      rpc::Membership{*joining->enrolment_, *joining->bans_, std::move(address)});
  return joining;
}

Status RunInvite(const CoordinatorOptions& options, storage::IdentityStore& store) {
  const AuthorityOptions& given = *options.authority;
  const Clock& clock = Clock::Real();
  ASSAY_ASSIGN_OR_RETURN(const auto authority,
                         identity::Authority::Open(given.folder, given.fleet, clock.WallNow()));
  ASSAY_ASSIGN_OR_RETURN(const std::string pin, authority->ServerPin());
  const auto executor = NewThreadPool(1, "invite");
  const auto bans = std::make_shared<BanList>(clock, *executor, store);
  Enrolment enrolment(*authority, clock, store, *bans, {});
  const JoinAddress address{"https://" + given.advertise_join.ToString(), pin, authority->pem()};
  ASSAY_ASSIGN_OR_RETURN(v1::CreateInviteResponse made,
                         enrolment.CreateInvite(options.invite->request, kLocalAdmin));
  AddCommands(address, made);
  if (options.invite->json) {
    std::cout << nlohmann::json({{"url", address.url},
                                 {"pin", address.pin},
                                 {"token", made.token()},
                                 {"command", made.command()}})
                     .dump()
              << "\n";
  } else {
    std::cout << made.command() << "\n";
  }
  return Status::Ok();
}

}  // namespace assay::coordinator
