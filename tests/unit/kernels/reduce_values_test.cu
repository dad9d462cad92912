// The pattern of reductions on the host: a right reduction in any order passes, and one
// that leaves a rank out, takes one twice or does another operation is found.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "kernels/nccl/reduce_values.cuh"

namespace assay {
namespace {

constexpr int kRanks[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 31, 33, 64, 100, 128, 200, 512};
constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMin, ReduceOp::kMax,
                             ReduceOp::kAvg};

// Emulates a GPU's rounding: every step is rounded to T.
template <typename T>
T Rounded(double value) {
  if constexpr (std::is_integral<T>::value || std::is_same<T, double>::value) {
    return static_cast<T>(value);
  } else {
    return static_cast<T>(static_cast<float>(value));
  }
}

template <typename T>
T Combine(ReduceOp op, T a, T b) {
  const double x = ToDouble(a);
  const double y = ToDouble(b);
  switch (op) {
    case ReduceOp::kProd:
      return Rounded<T>(x * y);
    case ReduceOp::kMin:
      return Rounded<T>(std::fmin(x, y));
    case ReduceOp::kMax:
      return Rounded<T>(std::fmax(x, y));
    default:
      return Rounded<T>(x + y);
  }
}

// As NCCL: a mean of floating-point numbers is the sum of products with 1 / n, one of
// integers the quotient of the sum.
template <typename T>
std::vector<T> Parts(const ReducePattern& pattern, int64_t index) {
  std::vector<T> parts;
  for (int rank = 0; rank < pattern.world_size; ++rank) {
    T part = FromInt<T>(ReduceInput<T>(pattern, rank, index));
    if (pattern.op == ReduceOp::kAvg && !std::is_integral<T>::value) {
      part = Rounded<T>(ToDouble(part) * ToDouble(Rounded<T>(1.0 / pattern.world_size)));
    }
    parts.push_back(part);
  }
  return parts;
}

template <typename T>
T Quotient(const ReducePattern& pattern, T sum) {
  if constexpr (std::is_integral<T>::value) {
    if (pattern.op == ReduceOp::kAvg) return static_cast<T>(sum / pattern.world_size);
  }
  return sum;
}

// Around a ring from rank `first` on, without the ranks below `left_out`.
template <typename T>
T Ring(const ReducePattern& pattern, const std::vector<T>& parts, int first, int left_out = 0) {
  const auto ranks = static_cast<size_t>(pattern.world_size);
  T result = parts[static_cast<size_t>(first) % ranks];
  for (size_t i = 1; i + static_cast<size_t>(left_out) < ranks; ++i) {
    result = Combine(pattern.op, result, parts[(static_cast<size_t>(first) + i) % ranks]);
  }
  return Quotient(pattern, result);
}

// Pairs, then pairs of pairs.
template <typename T>
T Tree(const ReducePattern& pattern, std::vector<T> parts) {
  while (parts.size() > 1) {
    std::vector<T> halves;
    for (size_t i = 0; i + 1 < parts.size(); i += 2) {
      halves.push_back(Combine(pattern.op, parts[i], parts[i + 1]));
    }
    if (parts.size() % 2 == 1) halves.push_back(parts.back());
    parts = halves;
  }
  return Quotient(pattern, parts[0]);
}

template <typename T>
struct TypeOf {};
#define ASSAY_TYPE(T, KIND)                              \
  template <>                                            \
  struct TypeOf<T> {                                     \
    static constexpr ReduceType kind = ReduceType::KIND; \
  }
ASSAY_TYPE(float, kFloat32);
ASSAY_TYPE(__half, kFloat16);
ASSAY_TYPE(__nv_bfloat16, kBfloat16);
ASSAY_TYPE(double, kFloat64);
ASSAY_TYPE(int8_t, kInt8);
ASSAY_TYPE(uint8_t, kUint8);
ASSAY_TYPE(long long, kInt64);
ASSAY_TYPE(__nv_fp8_e4m3, kFloat8E4m3);
ASSAY_TYPE(__nv_fp8_e5m2, kFloat8E5m2);
#undef ASSAY_TYPE

template <typename T>
class ReduceValuesTest : public ::testing::Test {
 protected:
  // Calls `test` with every pattern that a collective may have.
  template <typename Test>
  void ForEachPattern(const Test& test) {
    for (const ReduceOp op : kOps) {
      for (const int ranks : kRanks) {
        if (op == ReduceOp::kAvg && IsRefused(ranks)) continue;
        SCOPED_TRACE("op " + std::to_string(static_cast<int>(op)) + ", " + std::to_string(ranks) +
                     " ranks");
        test(ReducePattern{TypeOf<T>::kind, op, 7, ranks});
      }
    }
  }

 private:
  // A mean that the benchmarks refuse.
  static bool IsRefused(int ranks) {
    if (sizeof(T) > 1) return false;
    return std::is_integral<T>::value ? ranks > 63 : MeanRounds(ranks);
  }
};

using Types = ::testing::Types<float, __half, __nv_bfloat16, double, int8_t, uint8_t, long long,
                               __nv_fp8_e4m3, __nv_fp8_e5m2>;
TYPED_TEST_SUITE(ReduceValuesTest, Types);

TYPED_TEST(ReduceValuesTest, InputsAreExact) {
  using T = TypeParam;
  this->ForEachPattern([](const ReducePattern& pattern) {
    for (int64_t index = 0; index < 200; ++index) {
      for (int rank = 0; rank < pattern.world_size; ++rank) {
        const int value = ReduceInput<T>(pattern, rank, index);
        ASSERT_EQ(ToDouble(FromInt<T>(value)), value);
        ASSERT_GE(value, 0);
        ASSERT_LE(value, LargestWhole<T>());
      }
    }
  });
}

TYPED_TEST(ReduceValuesTest, ARightReductionPassesInAnyOrder) {
  using T = TypeParam;
  this->ForEachPattern([](const ReducePattern& pattern) {
    for (int64_t index = 0; index < 300; ++index) {
      const int output = ReduceOutput<T>(pattern, index);
      const std::vector<T> parts = Parts<T>(pattern, index);
      ASSERT_TRUE(IsReduced(pattern, Tree(pattern, parts), output)) << index;
      for (const int first : {0, 1, pattern.world_size - 1}) {
        ASSERT_TRUE(IsReduced(pattern, Ring(pattern, parts, first), output)) << index;
      }
    }
  });
}

// Whichever it is, within as many elements as make it likely a thousand times over.
TYPED_TEST(ReduceValuesTest, ARankLeftOutIsFound) {
  using T = TypeParam;
  this->ForEachPattern([](const ReducePattern& pattern) {
    if (pattern.world_size == 1) return;
    for (const int missing : {0, pattern.world_size / 2, pattern.world_size - 1}) {
      int wrong = 0;
      for (int64_t index = 0; index < 64 * pattern.world_size && wrong == 0; ++index) {
        const T result = Ring(pattern, Parts<T>(pattern, index), missing + 1, 1);
        wrong += IsReduced(pattern, result, ReduceOutput<T>(pattern, index)) ? 0 : 1;
      }
      EXPECT_GT(wrong, 0) << "without rank " << missing;
    }
  });
}

TYPED_TEST(ReduceValuesTest, AnotherOperationIsFound) {
  using T = TypeParam;
  this->ForEachPattern([](const ReducePattern& pattern) {
    if (pattern.world_size == 1) return;
    for (const ReduceOp op : kOps) {
      if (op == pattern.op) continue;
      ReducePattern other = pattern;
      other.op = op;
      int wrong = 0;
      for (int64_t index = 0; index < 2000 && wrong == 0; ++index) {
        std::vector<T> parts;
        for (int rank = 0; rank < pattern.world_size; ++rank) {
          parts.push_back(FromInt<T>(ReduceInput<T>(pattern, rank, index)));
        }
        T result = Tree(other, parts);
        if (op == ReduceOp::kAvg) result = Rounded<T>(ToDouble(result) / pattern.world_size);
        wrong += IsReduced(pattern, result, ReduceOutput<T>(pattern, index)) ? 0 : 1;
      }
      EXPECT_GT(wrong, 0) << "op " << static_cast<int>(op);
    }
  });
}

// Else a buffer that nobody reduced could pass.
TYPED_TEST(ReduceValuesTest, ResultsDifferFromElementToElement) {
  using T = TypeParam;
  this->ForEachPattern([](const ReducePattern& pattern) {
    std::set<int> outputs;
    for (int64_t index = 0; index < 500; ++index) {
      outputs.insert(ReduceOutput<T>(pattern, index));
    }
    EXPECT_GE(outputs.size(),
              pattern.op == ReduceOp::kProd || pattern.op == ReduceOp::kAvg ? 2U : 4U);
  });
}

TYPED_TEST(ReduceValuesTest, NotANumberNeverPasses) {
  using T = TypeParam;
  if constexpr (!std::is_integral<T>::value) {
    const T nan = Rounded<T>(std::numeric_limits<double>::quiet_NaN());
    this->ForEachPattern([&](const ReducePattern& pattern) {
      EXPECT_FALSE(IsReduced(pattern, nan, ReduceOutput<T>(pattern, 3)));
    });
  }
}

// Where a mean rounds most: another part is no rounding.
TEST(ReduceMeanTest, WrongPartExceedsRounding) {
  const ReducePattern pattern{ReduceType::kBfloat16, ReduceOp::kAvg, 7, 24};
  for (int64_t index = 0; index < 100; ++index) {
    const int output = ReduceOutput<__nv_bfloat16>(pattern, index);
    for (const int off : {-32, 32}) {
      const auto wrong = Rounded<__nv_bfloat16>((output + off) / 24.0);
      EXPECT_FALSE(IsReduced(pattern, wrong, output)) << output << " and " << output + off;
    }
  }
}

}  // namespace
}  // namespace assay
