/* A library that has a name which extensions need and nothing else. The functions of PyTorch's libraries are
 * in libtl_stable_abi.so, which those with PyTorch's names need in turn. */
typedef int tl_no_empty_unit;
