// The products matmul.cpp chooses among.
#pragma once

#include "kernels/cpu/matmul.h"

namespace tl::cpu {

using MatmulKernel = void (*)(const Product& product);

MatmulKernel float_product();
MatmulKernel double_product();

}  // namespace tl::cpu
