#include "predict/quantity.h"

#include <gtest/gtest.h>

#include <string>

namespace assay::predict {
namespace {

double Value(const std::string& text, Unit unit) {
  const Result<Quantity> quantity = ParseQuantity(text, unit);
  EXPECT_TRUE(quantity.ok()) << text << ": " << quantity.status();
  return quantity.ok() ? quantity->value : -1;
}

TEST(QuantityTest, UnitsArePartOfTheInput) {
  EXPECT_EQ(Value("15T", Unit::kTokens), 15e12);
  EXPECT_EQ(Value("4Mi", Unit::kTokens), 4.0 * 1024 * 1024);
  EXPECT_EQ(Value("70B", Unit::kParameters), 70e9);
  EXPECT_EQ(Value("80GB", Unit::kBytes), 80e9);
  EXPECT_EQ(Value("80 GiB", Unit::kBytes), 80.0 * (1 << 30));
  EXPECT_EQ(Value("900GB/s", Unit::kBytesPerSecond), 900e9);
  EXPECT_EQ(Value("400Gbit/s", Unit::kBytesPerSecond), 50e9);
  EXPECT_EQ(Value("500ms", Unit::kSeconds), 0.5);
  EXPECT_EQ(Value("989TFLOP/s", Unit::kFlopPerSecond), 989e12);
  EXPECT_EQ(Value("40%", Unit::kFraction), 0.4);
  EXPECT_EQ(Value("0.4", Unit::kFraction), 0.4);
  EXPECT_EQ(Value("20/min", Unit::kPerSecond), 20.0 / 60);
}

TEST(QuantityTest, MoneyNamesItsCurrency) {
  for (const char* text : {"$2.00", "2.00 USD", "2USD", "$2"}) {
    const Result<Quantity> price = ParseQuantity(text, Unit::kMoneyPerHour);
    ASSERT_TRUE(price.ok()) << text;
    EXPECT_EQ(price->value, 2);
    EXPECT_EQ(price->currency, "USD") << text;
  }
  EXPECT_EQ(ParseQuantity("3.50 EUR/h", Unit::kMoneyPerHour)->currency, "EUR");
  EXPECT_FALSE(ParseQuantity("2.00", Unit::kMoney).ok());
  EXPECT_FALSE(ParseQuantity("2.00 dollars", Unit::kMoney).ok());
}

TEST(QuantityTest, NumbersWithoutARequiredUnitAreRefused) {
  EXPECT_FALSE(ParseQuantity("900", Unit::kBytesPerSecond).ok());
  EXPECT_FALSE(ParseQuantity("500", Unit::kSeconds).ok());
  EXPECT_FALSE(ParseQuantity("989", Unit::kFlopPerSecond).ok());
  EXPECT_FALSE(ParseQuantity("900 GB", Unit::kBytesPerSecond).ok());
  EXPECT_FALSE(ParseQuantity("1e30", Unit::kCount).ok());
  EXPECT_FALSE(ParseQuantity("nan", Unit::kNumber).ok());
  EXPECT_FALSE(ParseQuantity("1e29T", Unit::kTokens).ok());
}

TEST(QuantityTest, NumbersAreWrittenWithTheirUnit) {
  EXPECT_EQ(FormatQuantity(141.1e9, Unit::kBytes), "141.1 GB (131.4 GiB)");
  EXPECT_EQ(FormatQuantity(8030261248.0, Unit::kParameters), "8,030,261,248");
  EXPECT_EQ(FormatQuantity(0.00335, Unit::kSeconds), "3.350 ms");
  EXPECT_EQ(FormatQuantity(86400.0 * 34, Unit::kSeconds), "34.00 days");
  EXPECT_EQ(FormatQuantity(450e9, Unit::kBytesPerSecond), "450.0 GB/s");
  EXPECT_EQ(FormatQuantity(2, Unit::kMoneyPerHour, "USD"), "2.00 USD/h");
  EXPECT_EQ(FormatQuantity(0.4, Unit::kFraction), "40.0%");
}

}  // namespace
}  // namespace assay::predict
