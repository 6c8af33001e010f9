// The macros of GoogleTest that PyTorch's tests in C++ use, over one list of functions.
//
// A failed ASSERT_ or EXPECT_ throws, so a test ends at its first failure. `tl_tests_count`, `tl_tests_name`
// and `tl_tests_run` are called by `tools.cpp_clients.peer_tests`.
#ifndef TL_SUITE_GTEST_H
#define TL_SUITE_GTEST_H

#include <cmath>
#include <cstring>
#include <exception>
#include <functional>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace testing {
struct Failure {
  std::string text;
};
struct Skip {
  std::string text;
};
template <class T, class = void>
struct Prints : std::false_type {};
template <class T>
struct Prints<T, std::void_t<decltype(std::declval<std::ostream&>() << std::declval<const T&>())>>
    : std::true_type {};
class Message {
 public:
  template <class T>
  Message& operator<<(const T& value) {
    if constexpr (Prints<T>::value) out_ << value;
    return *this;
  }
  Message& operator<<(std::ostream& (*f)(std::ostream&)) { return out_ << f, *this; }
  std::string text() const { return out_.str(); }

 private:
  std::ostringstream out_;
};
template <class Outcome>
struct Thrower {
  const char* file;
  int line;
  const char* what;
  void operator=(const Message& m) const {
    throw Outcome{std::string(file) + ":" + std::to_string(line) + ": " + what + " " + m.text()};
  }
};

class Test {
 public:
  virtual ~Test() = default;
  virtual void SetUp() {}
  virtual void TearDown() {}
  virtual void TestBody() {}
  void run() {
    SetUp();
    TestBody();
    TearDown();
  }
  static void SetUpTestSuite() {}
};
struct Entry {
  std::string name;
  std::function<void()> run;
};
inline std::vector<Entry>& entries() {
  static std::vector<Entry> all;
  return all;
}
template <class T>
bool add(const char* suite, const char* name) {
  entries().push_back({std::string(suite) + "." + name, [] { T().run(); }});
  return true;
}
inline bool near(double a, double b, double bound) { return std::fabs(a - b) <= bound; }
// Four units in the last place.
template <class T>
bool close(T a, T b) {
  T low = a, high = a;
  for (int i = 0; i < 4; ++i) low = std::nextafter(low, -INFINITY), high = std::nextafter(high, INFINITY);
  return a == b || (b >= low && b <= high);
}
inline void InitGoogleTest(int*, char**) {}
}  // namespace testing

#define TL_TEST_CLASS(SUITE, NAME) SUITE##_##NAME##_Test
#define TL_TEST(SUITE, NAME, BASE)                                                                      \
  class TL_TEST_CLASS(SUITE, NAME) : public BASE {                                                      \
   public:                                                                                              \
    void TestBody() override;                                                                           \
  };                                                                                                    \
  static const bool SUITE##_##NAME##_there = ::testing::add<TL_TEST_CLASS(SUITE, NAME)>(#SUITE, #NAME); \
  void TL_TEST_CLASS(SUITE, NAME)::TestBody()
#define TEST(SUITE, NAME) TL_TEST(SUITE, NAME, ::testing::Test)
#define TEST_F(SUITE, NAME) TL_TEST(SUITE, NAME, SUITE)

#define TL_THROW(OUTCOME, WHAT) \
  ::testing::Thrower<::testing::OUTCOME>{__FILE__, __LINE__, WHAT} = ::testing::Message()
#define TL_HOLDS(WHAT, ...) \
  if (__VA_ARGS__) {        \
  } else                    \
    TL_THROW(Failure, WHAT)
#define FAIL() TL_THROW(Failure, "FAIL")
#define GTEST_FAIL() FAIL()
#define ADD_FAILURE() FAIL()
#define SUCCEED() ::testing::Message()
#define GTEST_SKIP() TL_THROW(Skip, "skipped")

#define ASSERT_TRUE(...) TL_HOLDS(#__VA_ARGS__, static_cast<bool>(__VA_ARGS__))
#define ASSERT_FALSE(...) TL_HOLDS("not " #__VA_ARGS__, !static_cast<bool>(__VA_ARGS__))
#define TL_COMPARES(A, OP, B) \
  TL_HOLDS(#A " " #OP " " #B, \
           [&](const auto& a, const auto& b) -> bool { return static_cast<bool>(a OP b); }((A), (B)))
#define ASSERT_EQ(A, B) TL_COMPARES(A, ==, B)
#define ASSERT_NE(A, B) TL_COMPARES(A, !=, B)
#define ASSERT_LT(A, B) TL_COMPARES(A, <, B)
#define ASSERT_LE(A, B) TL_COMPARES(A, <=, B)
#define ASSERT_GT(A, B) TL_COMPARES(A, >, B)
#define ASSERT_GE(A, B) TL_COMPARES(A, >=, B)
#define ASSERT_NEAR(A, B, BOUND) TL_HOLDS(#A " near " #B, ::testing::near(A, B, BOUND))
#define ASSERT_FLOAT_EQ(A, B) TL_HOLDS(#A " == " #B, ::testing::close<float>(A, B))
#define ASSERT_DOUBLE_EQ(A, B) TL_HOLDS(#A " == " #B, ::testing::close<double>(A, B))
#define ASSERT_STREQ(A, B) TL_HOLDS(#A " == " #B, std::strcmp(A, B) == 0)
#define TL_OUTCOME(STATEMENT, ERROR, CAUGHT, ANY) \
  [&]() -> bool {                                 \
    try {                                         \
      STATEMENT;                                  \
    } catch (const ::testing::Failure&) {         \
      throw;                                      \
    } catch (ERROR) {                             \
      return CAUGHT;                              \
    } catch (...) {                               \
      return ANY;                                 \
    }                                             \
    return !(CAUGHT);                             \
  }()
#define ASSERT_THROW(STATEMENT, ERROR) \
  TL_HOLDS(#STATEMENT " throws " #ERROR, TL_OUTCOME(STATEMENT, const ERROR&, true, false))
#define ASSERT_ANY_THROW(STATEMENT) \
  TL_HOLDS(#STATEMENT " throws", TL_OUTCOME(STATEMENT, const std::exception&, true, true))
#define ASSERT_NO_THROW(STATEMENT) \
  TL_HOLDS(#STATEMENT " does not throw", TL_OUTCOME(STATEMENT, const std::exception&, false, false))

#define EXPECT_TRUE ASSERT_TRUE
#define EXPECT_FALSE ASSERT_FALSE
#define EXPECT_EQ ASSERT_EQ
#define EXPECT_NE ASSERT_NE
#define EXPECT_LT ASSERT_LT
#define EXPECT_LE ASSERT_LE
#define EXPECT_GT ASSERT_GT
#define EXPECT_GE ASSERT_GE
#define EXPECT_NEAR ASSERT_NEAR
#define EXPECT_FLOAT_EQ ASSERT_FLOAT_EQ
#define EXPECT_DOUBLE_EQ ASSERT_DOUBLE_EQ
#define EXPECT_STREQ ASSERT_STREQ
#define EXPECT_THROW ASSERT_THROW
#define EXPECT_ANY_THROW ASSERT_ANY_THROW
#define EXPECT_NO_THROW ASSERT_NO_THROW

extern "C" {
[[gnu::used, gnu::visibility("default")]] inline int tl_tests_count() {
  return int(::testing::entries().size());
}
[[gnu::used, gnu::visibility("default")]] inline const char* tl_tests_name(int i) {
  return ::testing::entries()[size_t(i)].name.c_str();
}
// 0: passed, 1: failed, 2: skipped. The text says why.
[[gnu::used, gnu::visibility("default")]] inline int tl_tests_run(int i, char* text, int size) {
  std::string said;
  int outcome = 1;
  try {
    ::testing::entries()[size_t(i)].run();
    outcome = 0;
  } catch (const ::testing::Failure& e) {
    said = e.text;
  } catch (const ::testing::Skip& e) {
    said = e.text, outcome = 2;
  } catch (const std::exception& e) {
    said = std::string("threw: ") + e.what();
  } catch (...) {
    said = "threw something else";
  }
  std::strncpy(text, said.c_str(), size_t(size) - 1);
  text[size - 1] = 0;
  return outcome;
}
}

#endif  // TL_SUITE_GTEST_H
