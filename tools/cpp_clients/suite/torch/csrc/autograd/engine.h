// PyTorch's internals: tests that use them do not compile.
#pragma once
#include <torch/torch.h>
