/* SPDX-License-Identifier: MIT
 * copies.h - the driver's streams, events and copies as the core sees them. */
#ifndef SC_HOOKS_COPIES_H
#define SC_HOOKS_COPIES_H

#include "base/driver.h"

extern const sc_copy_driver sc_copies_of_driver;

#endif
