/* SPDX-License-Identifier: MIT
 * A preload that does nothing but tell, by one symbol, that it was loaded. */
extern const int sc_stand_in;
const int sc_stand_in __attribute__((visibility("default"))) = 1;
