/* SPDX-License-Identifier: MIT */
#include "engine/thread.h"

_Thread_local sc_thread sc_thread_self __attribute__((tls_model("initial-exec")));
