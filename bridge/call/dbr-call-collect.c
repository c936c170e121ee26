/* SPDX-License-Identifier: Apache-2.0 */
/* dbr-call-collect: from responses to the one document `$`. Nothing is copied: parts are linked.
 * See dbr-call-priv.h. */
#include "config.h"

#include "call/dbr-call-priv.h"

#include <string.h>

static const DbrJsonLimits body_limits = { 0, 0, DBR_JSON_LAX_UTF8 };
static const DbrJsonLimits problem_limits = { 64, 100000, DBR_JSON_LAX_UTF8 };

/* ---- parts */

/* The rows of a list, and the total that the backend names. A read without the list at all comes
 * from another API than the catalogue's: "none" would be untrue. */
static void
count_rows (DbrPart *part)
{
  DbrStep *step = part->step;
  const char *total_key = step->call->catalogue->backend->paging_total;
  DbrJson root = part->body ? dbr_json_doc_root (part->body) : DBR_JSON_NONE;
  gint64 total;

  if (step->def->rows == NULL || part->body == NULL)
    return;
  if (part->wants_body && part->status < 300
      && dbr_json_type (dbr_json_get (root, step->def->rows)) != DBR_JSON_ARRAY)
    part->error = g_strdup_printf ("%u without the list \"%s\": is that the address of the API?",
                                   part->status, step->def->rows);
  if (part->index == 0)
    step->rows = dbr_json_count (dbr_json_get (root, step->def->rows));
  if (total_key && dbr_json_int64 (dbr_json_get (root, total_key), &total) && total >= 0)
    step->total = total;
}

/* Whether a success has what the catalogue says that this API's has: whatever listens there can answer 200. */
static gboolean
is_expected (const DbrPart *part)
{
  const DbrJsonPath *expects = part->step->def->expects;
  DbrJson root = part->body ? dbr_json_doc_root (part->body) : DBR_JSON_NONE;
  DbrJsonPathEnv env = { root, root, part->step->call->now_us, NULL, NULL };
  gboolean holds = FALSE;

  if (expects == NULL || part->status >= 300)
    return TRUE;
  return part->body && dbr_json_path_test (expects, &env, &holds, NULL) && holds;
}

static void
check_expected (DbrPart *part)
{
  if (part->error == NULL && !is_expected (part))
    part->error = g_strdup_printf ("%u with another answer than this API's: is that its address?",
                                   part->status);
}

void
dbr_call_collect_part (DbrPart *part, EngResponse *response)
{
  DbrStep *step = part->step;
  DbrCall *self = step->call;
  g_autoptr (GError) error = NULL;
  gsize len = 0;

  part->status = response->status;
  step->status = response->status;
  if (response->error || !dbr_call_is_success (step->def, response->status))
    {
      part->error = dbr_call_describe_response (self, response);
      if (response->error == NULL && response->body)
        part->problem = dbr_json_doc_new (response->body, &problem_limits, NULL);
      self->root_is_stale = TRUE; /* advice may read it before the step has ended */
      return;
    }
  if (step->def->tail && response->records)
    {
      part->body = dbr_call_tail_body (response);
      return;
    }
  if (response->body)
    g_bytes_get_data (response->body, &len);
  if (len == 0) /* 204, or nothing to say */
    {
      if (part->wants_body && response->status < 300 && response->status != 204)
        part->error = g_strdup_printf ("%u with an empty body instead of JSON", response->status);
      check_expected (part);
      return;
    }
  part->body = dbr_json_doc_new (response->body, &body_limits, &error);
  if (part->body == NULL)
    part->error = dbr_call_describe_response (self, response);
  count_rows (part);
  check_expected (part);
}

/* ---- steps */

static DbrJsonDoc *
merge_pages (DbrStep *step)
{
  g_autoptr (DbrJsonBuilder) builder = dbr_json_builder_new ();
  const DbrPart *first = g_ptr_array_index (step->parts, 0);
  DbrJson root = dbr_json_doc_root (first->body);
  guint rows = 0;

  dbr_json_builder_begin_object (builder);
  for (DbrJson value = dbr_json_first (root); dbr_json_exists (value);
       value = dbr_json_next (value))
    {
      g_autofree char *key = dbr_json_dup_string (dbr_json_key (value));
      g_autoptr (GString) valid = g_string_new (NULL);
      dbr_text_append_valid (valid, key ? key : "", -1);
      if (strcmp (valid->str, step->def->rows) == 0)
        continue;
      dbr_json_builder_key (builder, valid->str);
      dbr_json_builder_link (builder, value);
    }
  dbr_json_builder_key (builder, step->def->rows);
  dbr_json_builder_begin_array (builder);
  for (guint i = 0; i < step->parts->len; i++)
    {
      const DbrPart *part = g_ptr_array_index (step->parts, i);
      DbrJson list = part->body ? dbr_json_get (dbr_json_doc_root (part->body), step->def->rows)
                                : DBR_JSON_NONE;
      for (DbrJson row = dbr_json_first (list); dbr_json_exists (row); row = dbr_json_next (row))
        {
          dbr_json_builder_link (builder, row);
          rows++;
        }
    }
  dbr_json_builder_end_array (builder);
  dbr_json_builder_end_object (builder);
  step->rows = rows;
  return dbr_json_builder_end (builder);
}

static DbrJsonDoc *
items_body (const DbrStep *step)
{
  g_autoptr (DbrJsonBuilder) builder = dbr_json_builder_new ();

  dbr_json_builder_begin_array (builder);
  for (guint i = 0; i < step->parts->len; i++)
    {
      const DbrPart *part = g_ptr_array_index (step->parts, i);
      dbr_json_builder_begin_object (builder);
      dbr_json_builder_key (builder, "item");
      dbr_json_builder_link (builder, part->item);
      dbr_json_builder_key (builder, "status");
      dbr_json_builder_int64 (builder, part->status);
      if (part->error)
        {
          g_autoptr (GString) valid = g_string_new (NULL);
          dbr_text_append_valid (valid, part->error, -1);
          dbr_json_builder_key (builder, "error");
          dbr_json_builder_string (builder, valid->str, (gssize) valid->len);
        }
      if (part->body && part->error == NULL)
        {
          dbr_json_builder_key (builder, "body");
          dbr_json_builder_link (builder, dbr_json_doc_root (part->body));
        }
      dbr_json_builder_end_object (builder);
    }
  dbr_json_builder_end_array (builder);
  return dbr_json_builder_end (builder);
}

void
dbr_call_collect_step (DbrStep *step)
{
  const DbrPart *first = step->parts->len ? g_ptr_array_index (step->parts, 0) : NULL;

  if (step->def->for_each)
    {
      step->body = items_body (step);
      return;
    }
  for (guint i = 0; i < step->parts->len && step->error == NULL; i++)
    {
      const DbrPart *part = g_ptr_array_index (step->parts, i);
      if (part->error)
        {
          step->error = g_strdup (part->error);
          step->state = DBR_STEP_FAILED;
        }
    }
  if (step->error || first == NULL || first->body == NULL)
    return;
  if (step->parts->len > 1)
    step->body = merge_pages (step);
  else
    step->body = dbr_json_doc_ref (first->body);
}

/* ---- the document */

static void
add_int (DbrJsonBuilder *builder, const char *key, gint64 value)
{
  dbr_json_builder_key (builder, key);
  dbr_json_builder_int64 (builder, value);
}

static void
add_http (DbrJsonBuilder *builder, const DbrStep *step)
{
  const DbrPart *first = step->parts->len ? g_ptr_array_index (step->parts, 0) : NULL;

  dbr_json_builder_begin_object (builder);
  dbr_json_builder_key (builder, "sent");
  dbr_json_builder_boolean (builder, step->was_sent);
  if (step->status)
    add_int (builder, "status", step->status);
  if (step->error)
    {
      g_autoptr (GString) valid = g_string_new (NULL);
      dbr_text_append_valid (valid, step->error, -1);
      dbr_json_builder_key (builder, "error");
      dbr_json_builder_string (builder, valid->str, (gssize) valid->len);
    }
  if (first && first->problem && !step->def->for_each)
    {
      dbr_json_builder_key (builder, "problem");
      dbr_json_builder_link (builder, dbr_json_doc_root (first->problem));
    }
  if (step->items)
    {
      dbr_json_builder_key (builder, "items");
      dbr_json_builder_link (builder, dbr_json_doc_root (step->items));
      dbr_json_builder_key (builder, "left");
      dbr_json_builder_link (builder, dbr_json_doc_root (step->left));
    }
  if (step->def->rows && step->body)
    {
      gint64 last = step->offset + step->rows;
      add_int (builder, "rows", step->rows);
      if (step->total >= 0)
        add_int (builder, "total", step->total);
      if (step->rows)
        {
          add_int (builder, "first", step->offset + 1);
          add_int (builder, "last", last);
        }
      if (step->rows && step->total > last)
        {
          add_int (builder, "next", last);
          add_int (builder, "cut", step->rows);
        }
    }
  dbr_json_builder_end_object (builder);
}

static char *
now_text (gint64 now_us)
{
  g_autoptr (GDateTime) time = g_date_time_new_from_unix_utc (now_us / G_USEC_PER_SEC);
  return g_date_time_format (time, "%Y-%m-%dT%H:%M:%SZ");
}

DbrJsonDoc *
dbr_call_compose (DbrCall *self)
{
  g_autoptr (DbrJsonBuilder) builder = dbr_json_builder_new ();
  g_autofree char *now = now_text (self->now_us);
  g_autoptr (GString) origin = g_string_new (NULL);

  dbr_text_append_valid (origin, dbr_backend_origin (self->backend), -1);
  dbr_json_builder_begin_object (builder);
  dbr_json_builder_key (builder, "args");
  dbr_json_builder_link (builder, dbr_json_doc_root (self->args));
  dbr_json_builder_key (builder, "now");
  dbr_json_builder_string (builder, now, -1);
  dbr_json_builder_key (builder, "call");
  dbr_json_builder_begin_object (builder);
  dbr_json_builder_key (builder, "id");
  dbr_json_builder_string (builder, self->id, -1);
  dbr_json_builder_key (builder, "origin");
  dbr_json_builder_string (builder, origin->str, (gssize) origin->len);
  dbr_json_builder_end_object (builder);
  dbr_json_builder_key (builder, "http");
  dbr_json_builder_begin_object (builder);
  for (guint i = 0; i < self->n_steps; i++)
    {
      dbr_json_builder_key (builder, self->steps[i].def->id);
      add_http (builder, &self->steps[i]);
    }
  dbr_json_builder_end_object (builder);
  for (guint i = 0; i < self->n_steps; i++)
    if (self->steps[i].body)
      {
        dbr_json_builder_key (builder, self->steps[i].def->id);
        dbr_json_builder_link (builder, dbr_json_doc_root (self->steps[i].body));
      }
  dbr_json_builder_end_object (builder);
  return dbr_json_builder_end (builder);
}
