/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-model: words and field tables, all from the lists in the header.
 */
#include "config.h"

#include "srv-model.h"

#include <string.h>

#define WORD(name, word) word,
const char *const srv_plan_state_words[] = { SRV_PLAN_STATES (WORD) NULL };
const char *const srv_task_state_words[] = { SRV_TASK_STATES (WORD) NULL };
const char *const srv_job_state_words[] = { SRV_JOB_STATES (WORD) NULL };
const char *const srv_message_state_words[] = { SRV_MESSAGE_STATES (WORD) NULL };
const char *const srv_question_state_words[] = { SRV_QUESTION_STATES (WORD) NULL };
const char *const srv_lease_kind_words[] = { SRV_LEASE_KINDS (WORD) NULL };
const char *const srv_approval_words[] = { SRV_APPROVALS (WORD) NULL };
const char *const srv_author_words[] = { SRV_AUTHORS (WORD) NULL };
const char *const srv_foreman_state_words[] = { SRV_FOREMAN_STATES (WORD) NULL };
const char *const srv_outcome_words[] = { SRV_OUTCOMES (WORD) NULL };
const char *const srv_event_kind_words[] = { SRV_EVENT_KINDS (WORD) NULL };
#undef WORD

gint
srv_word_find (const char *const *words, const char *word)
{
  for (gint i = 0; word && words[i]; i++)
    if (strcmp (words[i], word) == 0)
      return i;
  return -1;
}

const char *
srv_role_word (gint64 role)
{
  return role == SRV_ROLE_ADMIN     ? "admin"
         : role == SRV_ROLE_CLIENT  ? "user"
         : role == SRV_ROLE_FOREMAN ? "foreman"
         : role == SRV_ROLE_WORKER  ? "worker"
                                    : "engine";
}

/* One function a record, so that `Current` names its type. */
#define INT_ROW(field) { #field, G_STRUCT_OFFSET (Current, field), FALSE },
#define TEXT_ROW(field) { #field, G_STRUCT_OFFSET (Current, field), TRUE },
#define RECORD_INFO(KIND, Type, table, FIELDS) \
  static const SrvRecordInfo *Type##_info (void) \
  { \
    typedef Type Current; \
    static const SrvField fields[] = { FIELDS (INT_ROW, TEXT_ROW) }; \
    static const SrvRecordInfo info = { #table, sizeof (Current), fields, G_N_ELEMENTS (fields) }; \
    return &info; \
  }
SRV_RECORDS (RECORD_INFO)
#undef RECORD_INFO

const SrvRecordInfo *
srv_record_info (SrvRecordKind kind)
{
#define RECORD_CALL(KIND, Type, table, FIELDS) Type##_info,
  static const SrvRecordInfo *(*const infos[]) (void) = { SRV_RECORDS (RECORD_CALL) };
#undef RECORD_CALL

  return infos[kind]();
}

gpointer
srv_record_new (SrvRecordKind kind)
{
  SrvRecord *self = g_malloc0 (srv_record_info (kind)->size);

  self->kind = kind;
  return self;
}

void
srv_record_free (gpointer record)
{
  SrvRecord *self = record;

  if (!self)
    return;
  const SrvRecordInfo *info = srv_record_info (self->kind);
  for (guint i = 0; i < info->n_fields; i++)
    if (info->fields[i].is_text)
      g_free (G_STRUCT_MEMBER (char *, self, info->fields[i].offset));
  g_free (self);
}

void
srv_text_set (char **field, const char *text)
{
  char *copy = g_strdup (text); /* @text may be within *field */

  g_free (*field);
  *field = copy;
}
