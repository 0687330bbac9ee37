/* SPDX-License-Identifier: MIT
 * symbols.h - call sites for people: "function file:line" for the "object+0xoffset" of a log.
 *
 * A log's `site` records say which file the code is from and its build-id. Where that very file is
 * still there, its symbols and debug information are read, by libdw, which is loaded when it is
 * first needed: the tool starts without it, and says once what is missing. A file with another
 * build-id is other code, and its places stay offsets. A chain of callers has its frames told each.
 * Nothing is fetched.
 *
 * Places that a log tells more of than SC_SYMBOLS_MOST stay as they are. One thread. */
#ifndef SC_CLI_SYMBOLS_H
#define SC_CLI_SYMBOLS_H

#include "cli/reader.h"

enum { SC_SYMBOLS_MOST = 65536 };

typedef struct sc_symbols sc_symbols;

/* Takes note of a `site` record; others are passed over. *symbols may be NULL: none so far. */
void sc_symbols_learn(sc_symbols **symbols, const sc_line *line);
/* `site` for people, or itself where nothing better is known. The text lives as long as `symbols`
 * and `site` do; NULL for NULL. */
const char *sc_symbols_place(sc_symbols *symbols, const char *site);
/* JSON: "site" as the log has it, and "place" where there is a better word for it. */
void sc_symbols_emit(sc_symbols *symbols, const char *site);
void sc_symbols_delete(sc_symbols *symbols);

#endif
