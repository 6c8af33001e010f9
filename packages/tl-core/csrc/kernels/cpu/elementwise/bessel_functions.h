// Bessel functions of real arguments; those of the first and second kind are the C library's.
#pragma once

namespace tl::cpu::special {

// From here on the asymptotic series converge to rounding.
constexpr double kBesselSeriesEnd = 20;

double i0(double x);  // a trailing e: times exp(-|x|)
double i0e(double x);
double i1(double x);
double i1e(double x);
double k0(double x);
double k0e(double x);  // times exp(x)
double k1(double x);
double k1e(double x);

enum class BesselOrder { Zero, Third, One };
double scaled_bessel_k(BesselOrder order, double x);  // K times exp(x), for x from 0.2 on

double spherical_j0(double x);

}  // namespace tl::cpu::special
