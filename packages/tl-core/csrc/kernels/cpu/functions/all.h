// Every functor, for the generated tables of loops.
#pragma once

#include "kernels/cpu/functions/binary.h"
#include "kernels/cpu/functions/ternary.h"
#include "kernels/cpu/functions/unary.h"
