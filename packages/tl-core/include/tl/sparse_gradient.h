/* Which elements of a sparse tensor have gradients that are read. */
#ifndef TL_SPARSE_GRADIENT_H
#define TL_SPARSE_GRADIENT_H

#include <stdint.h>

/* A bit of a sparse tensor that was made of values: a gradient is read where the tensor stores elements.
 * Without it, as of a leaf or of a dense tensor's sparse form, the elements that are not stored have
 * gradients too. */
#define TL_BIT_STORED_GRADIENT (UINT64_C(1) << 61)

#endif
