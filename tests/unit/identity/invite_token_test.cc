#include "identity/invite_token.h"

#include <gmock/gmock.h>

#include <random>
#include <string>

#include "common/text.h"
#include "tests/wording.h"

namespace assay::identity {
namespace {

std::string Example() { return InviteTokenText({"abcdefghijklmnop", std::string(32, 'x')}); }

TEST(InviteToken, RoundTrip) {
  const InviteToken token = NewInviteToken();
  EXPECT_EQ(token.secret.size(), 32U);
  const std::string text = InviteTokenText(token);
  EXPECT_EQ(text.size(), 80U);
  const Result<InviteToken> parsed = ParseInviteToken(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->id, token.id);
  EXPECT_EQ(parsed->secret, token.secret);
  EXPECT_NE(NewInviteToken().secret, token.secret);
}

TEST(InviteToken, SpacesAroundItAndCapitalsDoNotMatter) {
  std::string capitals = Example();
  for (char& c : capitals) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  EXPECT_TRUE(ParseInviteToken("  " + Example() + "\r\n").ok());
  EXPECT_TRUE(ParseInviteToken(capitals).ok());
}

TEST(InviteToken, ErrorsSayWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"empty", ""},
      {"other", "hunter2"},
      {"url", "https://coordinator:7902/join"},
      {"half", Example().substr(0, 50)},
      {"prefix", "assay1"},
      {"newer", "assay2.abc"},
      {"mistyped", "assay1.abcdefghijklmnoq" + Example().substr(23)},
      {"longer", Example() + "a"},
  };
  for (const auto& [name, text] : texts) {
    const Status status = ParseInviteToken(text).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << name;
    ASSERT_EQ(status.violations().size(), 1U) << name;
    EXPECT_EQ(status.violations()[0].field, "token") << name;
    EXPECT_WORDING("identity/token-" + name, status.ToString());
  }
}

TEST(InviteToken, EveryPartAndEveryChangeIsRefused) {
  const std::string text = Example();
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(ParseInviteToken(text.substr(0, size)).ok()) << size;
  }
  for (size_t i = 0; i < text.size(); ++i) {
    for (const char c : std::string("abz27. \0\x80", 9)) {
      std::string changed = text;
      changed[i] = c;
      if (changed == text) continue;
      EXPECT_FALSE(ParseInviteToken(changed).ok()) << changed;
    }
  }
  std::mt19937 random(7);
  for (int i = 0; i < 10'000; ++i) {
    std::string garbage = i % 2 == 0 ? "assay1." : "";
    for (size_t size = random() % 120; garbage.size() < size;) {
      garbage += static_cast<char>(random() % 256);
    }
    EXPECT_FALSE(ParseInviteToken(garbage).ok());
  }
  EXPECT_FALSE(ParseInviteToken(std::string(1 << 20, 'a')).ok());
}

TEST(InviteToken, ErrorsDoNotRepeatTheSecret) {
  const std::string text = Example();
  const std::string secret = text.substr(30, 20);
  for (const std::string& bad : {text + "a", text.substr(0, 70), "x" + text, "assay9" + text}) {
    EXPECT_THAT(ParseInviteToken(bad).status().ToString(),
                ::testing::Not(::testing::HasSubstr(secret)));
  }
}

TEST(InviteToken, SecretsAreComparedByTheirDigest) {
  const std::string hash = SecretHash("one");
  EXPECT_TRUE(IsSecretOf("one", hash));
  EXPECT_FALSE(IsSecretOf("two", hash));
  EXPECT_FALSE(IsSecretOf("one", ""));
}

}  // namespace
}  // namespace assay::identity
