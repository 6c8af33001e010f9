// The checks of PyTorch's older tests.
#pragma once
#include <stdexcept>
#include <string>

#define ASSERT(CONDITION) \
  if (!(CONDITION)) throw std::runtime_error("does not hold: " #CONDITION)
#define TRY_CATCH_ELSE(STATEMENT, CAUGHT, ELSE) \
  {                                             \
    bool tl_threw = false;                      \
    try {                                       \
      STATEMENT;                                \
    } catch (const std::exception&) {           \
      tl_threw = true;                          \
    }                                           \
    if (tl_threw) {                             \
      CAUGHT;                                   \
    } else {                                    \
      ELSE;                                     \
    }                                           \
  }
#define ASSERT_THROWSM(STATEMENT, MESSAGE) \
  TRY_CATCH_ELSE(STATEMENT, {}, throw std::runtime_error("expected an exception: " #STATEMENT))
#define ASSERT_THROWS(STATEMENT) ASSERT_THROWSM(STATEMENT, "")
#define ASSERT_EQUAL(A, B) ASSERT((A).equal(B))
#define ASSERT_ALLCLOSE(A, B) ASSERT((A).allclose(B))
#define ASSERT_ALLCLOSE_TOLERANCES(A, B, A_TOLERANCE, R_TOLERANCE) \
  ASSERT((A).allclose(B, A_TOLERANCE, R_TOLERANCE))
