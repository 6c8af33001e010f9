// A header of PyTorch whose names the tests here do not use.
#pragma once
#include <ATen/ATen.h>
