/* SPDX-License-Identifier: MIT
 * html_data.h - all that the page shows of a run, as one JSON object, where sc_emit_to() says. */
#ifndef SC_CLI_HTML_DATA_H
#define SC_CLI_HTML_DATA_H

#include "cli/report.h"
#include <stdbool.h>

/* False, and said on stderr: a log could not be read again. */
bool sc_html_data_emit(const sc_report *report);

#endif
