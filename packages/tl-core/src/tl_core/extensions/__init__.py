"""Extensions in C++: headers, builds, native stacks."""
