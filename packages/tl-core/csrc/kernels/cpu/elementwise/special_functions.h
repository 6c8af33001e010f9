// Special functions of one number in double precision: compiled once, for every loop.
#pragma once

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

}  // namespace tl::cpu::special
