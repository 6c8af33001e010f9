/* A library that has the name of one of PyTorch's and nothing else: its functions are in libtl_stable_abi.so,
 * which it needs. */
typedef int tl_no_empty_unit;
