// The contract of the IdentityStore on PostgreSQL, and a coordinator that is killed as it enrols.
#include <gtest/gtest.h>

#include "tests/contract/identity_store_contract.h"
#include "tests/contract/postgres_stores.h"

namespace assay::storage {
namespace {

const StoresFactory kIdentityPostgres = [] { return std::make_unique<PostgresStores>(); };

INSTANTIATE_TEST_SUITE_P(Postgres, IdentityStoreContract, ::testing::Values(kIdentityPostgres),
                         NameOfStores);

// Keys race for one invite, again and again, while the server ends all its connections. In the end
// there is nothing or one identity, to which the invite is bound.
TEST(IdentityStore, ACoordinatorThatIsKilledLeavesNothingOrAWholeIdentity) {
  PostgresStores stores;
  IdentityStore& identities = stores.identities();
  for (int round = 0; round < 10; ++round) {
    const std::string id = "invite-" + std::to_string(round);
    const auto invite = MakeInvite(id, "node-" + std::to_string(round));
    Status created = identities.CreateInvite(invite);
    // The store notices only now that the server has ended an idle connection.
    if (created.code() == Code::kUnavailable) created = identities.CreateInvite(invite);
    ASSERT_TRUE(created.ok()) << created;
    std::atomic<int> enrolled = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        const auto outcome =
            identities.Enrol(MakeEnrolling(id, "key-" + std::to_string(round * 8 + i)));
        if (outcome.ok() && outcome->kind == EnrolOutcome::Kind::kEnrolled) ++enrolled;
      });
    }
    // Waits until they have ended, so that none ends in the middle of the next round.
    stores.Execute(
        "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()");
    for (std::thread& thread : threads) thread.join();
    EXPECT_LE(enrolled, 1);
    const std::string bound =
        stores.Value("SELECT coalesce(identity_id, '') FROM invite WHERE invite_id = '" + id + "'");
    const std::string made = stores.Value(
        "SELECT coalesce(max(identity_id), '') FROM identity WHERE invite_id = '" + id + "'");
    EXPECT_EQ(bound, made);
    EXPECT_LE(
        std::stoi(stores.Value("SELECT count(*) FROM identity WHERE invite_id = '" + id + "'")), 1);
  }
}

}  // namespace
}  // namespace assay::storage
