/* SPDX-License-Identifier: MIT
 * alias.h - memory that is the same at two addresses.
 *
 * Whoever maps one physical memory twice may give it to its next owner at another address than the
 * last had it at. The ledger goes by addresses; this asks what is mapped there. */
#ifndef SC_SIM_ALIAS_H
#define SC_SIM_ALIAS_H

#include <stdint.h>

#include "ledger.h"

/* The number of a record that is not live any more, not `record` itself, and that an operation
 * which is not done claims, where that operation's touch and this one meet in mapped memory; 0:
 * none. */
uint64_t sim_alias_unfinished(const struct sim_record *record, const struct sim_touch *touch);

#endif
