// The same in C++.
#include "every.c"
