// Special functions of one number in double precision, and circular and hyperbolic functions of complex
// numbers: compiled once, for every loop.
#pragma once

#include "base/dtype.h"

namespace tl::cpu::special {

// ---- gamma and zeta ---------------------------------------------------------------------------------------
double lgamma(double x);
double digamma(double x);
double trigamma(double x);
double polygamma(double order,
                 double x);       // the derivative of that order of digamma; order is whole and not negative
double zeta(double s, double q);  // Hurwitz's: the sum of (q + k)^-s

// ---- the error function -----------------------------------------------------------------------------------
double erfinv(double x);
double erfcx(double x);  // exp(x^2) erfc(x)

// ---- complex numbers --------------------------------------------------------------------------------------
Complex128 acos(Complex128 x);
Complex128 acosh(Complex128 x);
Complex128 asin(Complex128 x);
Complex128 asinh(Complex128 x);
Complex128 atan(Complex128 x);
Complex128 atanh(Complex128 x);
Complex128 cos(Complex128 x);
Complex128 cosh(Complex128 x);
Complex128 sin(Complex128 x);
Complex128 sinh(Complex128 x);
Complex128 tan(Complex128 x);
Complex128 tanh(Complex128 x);

}  // namespace tl::cpu::special
