// PyTorch's tests in C++ use GoogleMock for GoogleTest's macros.
#pragma once
#include <gtest/gtest.h>
