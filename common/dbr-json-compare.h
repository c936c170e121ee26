/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-json-compare: order and bounded equality of JSON values, for JSONPath and for sorting.
 * Source: RFC 9535 section 2.3.5.2.2.
 */
#pragma once

#include "dbr-json-doc.h"

G_BEGIN_DECLS

/* -1, 0 or 1; both must be numbers. By mathematical value, exact at any size. */
int
dbr_json_number_compare (DbrJson a, DbrJson b);
/* The same of two texts in JSON's grammar of numbers. */
int
dbr_json_number_text_compare (const char *a, gsize a_len, const char *b, gsize b_len);
/* -1, 0 or 1; both must be strings. By Unicode scalar values of the decoded texts. */
int
dbr_json_string_compare (DbrJson a, DbrJson b);
/* dbr_json_equal() that takes steps of *steps_left (nullable: no bound): one for each pair of
 * values, for each member of an object and for each 256 bytes of a text. FALSE when there are not
 * enough left; then *steps_left is 0. */
gboolean
dbr_json_equal_within (DbrJson a, DbrJson b, guint *steps_left);

G_END_DECLS
