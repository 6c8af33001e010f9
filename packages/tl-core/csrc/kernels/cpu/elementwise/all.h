// Every functor, for the generated tables of loops.
#pragma once

#include "kernels/cpu/elementwise/binary.h"
#include "kernels/cpu/elementwise/ternary.h"
#include "kernels/cpu/elementwise/unary.h"
