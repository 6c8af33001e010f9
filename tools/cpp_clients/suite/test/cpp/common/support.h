// A test that expects an exception, and a part of its message.
#pragma once
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#define ASSERT_THROWS_WITH(STATEMENT, PART)                                                         \
  do {                                                                                              \
    std::string tl_message;                                                                         \
    bool tl_threw = false;                                                                          \
    try {                                                                                           \
      (void)STATEMENT;                                                                              \
    } catch (const std::exception& e) {                                                             \
      tl_threw = true, tl_message = e.what();                                                       \
    }                                                                                               \
    TL_HOLDS(#STATEMENT " throws", tl_threw);                                                       \
    TL_HOLDS("the message has the text", tl_message.find(PART) != std::string::npos) << tl_message; \
  } while (0)
