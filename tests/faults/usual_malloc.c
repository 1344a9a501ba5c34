// The C library's allocator, unless LD_PRELOAD brings another one.
#include "reuse.h"
