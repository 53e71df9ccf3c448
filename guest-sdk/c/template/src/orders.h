#ifndef ORDERS_H
#define ORDERS_H

#include <gristmill.h>

/// `$12.50` as 1250. False if it is no price.
bool to_cents(gm_text price, int64_t *cents);

#endif
