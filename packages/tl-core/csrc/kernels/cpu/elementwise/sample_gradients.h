// Implicit derivatives of samples by the parameters of their distribution: Figurnov, Mohamed and Mnih,
// "Implicit reparameterization gradients" (2018).
#pragma once

namespace tl::cpu::special {

// dx/dshape of a gamma variate x: -(dP(shape, x)/dshape) / density(x).
double standard_gamma_grad(double shape, double x);

// -(dI_x(alpha, total - alpha)/dalpha) / density(x) / (1 - x) of a beta variate x, the other parameter fixed.
double dirichlet_grad(double x, double alpha, double total);

}  // namespace tl::cpu::special
