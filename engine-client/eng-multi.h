/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eng-multi: curl's multi interface as one GSource of the default main context.
 *
 * Curl's callbacks only record; finished transfers are harvested after curl_multi_socket_action()
 * has returned, so
 * @done may add, remove, or free everything. Private to engine-client.
 */
#pragma once

#include <curl/curl.h>
#include <glib.h>

G_BEGIN_DECLS

typedef struct _EngMulti EngMulti;

/* @easy has been removed from the multi and is the caller's; @data is its CURLOPT_PRIVATE. */
typedef void (*EngMultiDone) (CURL *easy, CURLcode code, gpointer data);

/* @max_connections: kept alive and in use together. Returns NULL when libcurl has no memory. */
EngMulti *
eng_multi_new (EngMultiDone done, guint max_connections);
/* Every easy handle must have been removed. Allowed inside @done. */
void
eng_multi_free (EngMulti *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (EngMulti, eng_multi_free)

/* Starts @easy; never calls @done itself. FALSE when libcurl refuses. */
gboolean
eng_multi_add (EngMulti *self, CURL *easy);
/* Aborts @easy; @done is not called for it. */
void
eng_multi_remove (EngMulti *self, CURL *easy);

G_END_DECLS
