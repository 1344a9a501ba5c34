// kernel.h for C++.
#pragma once
#include <atomic>
using std::atomic_fetch_add;
using std::atomic_int;
using std::atomic_load;
using std::atomic_store;
#define _Thread_local thread_local
#include "kernel.h"
