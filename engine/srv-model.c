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
const char *const srv_decision_words[] = { SRV_DECISIONS (WORD) NULL };
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

/* ------------------------------------------------------------------- soundness */
/* Sums of two never overflow; a hash may be any number. */
#define MAX_NUMBER ((gint64) 1 << 60)

static gboolean
has_sound_fields (const SrvRecord *self, gsize any_number)
{
  const SrvRecordInfo *info = srv_record_info (self->kind);

  for (guint i = 0; i < info->n_fields; i++)
    {
      const SrvField *field = &info->fields[i];
      gconstpointer at = (const char *) self + field->offset;
      const char *text = field->is_text ? *(char *const *) at : NULL;
      gint64 number = field->is_text || field->offset == any_number ? 0 : *(const gint64 *) at;
      if ((text && !g_utf8_validate (text, -1, NULL)) || number < -MAX_NUMBER
          || number > MAX_NUMBER)
        return FALSE;
    }
  return TRUE;
}

#define IN(number, n_words) ((number) >= 0 && (number) < (gint64) (n_words))

static gboolean
has_words (const SrvRecord *self)
{
  const SrvProject *project = (const SrvProject *) self;
  const SrvPlan *plan = (const SrvPlan *) self;
  const SrvTask *task = (const SrvTask *) self;
  const SrvJob *job = (const SrvJob *) self;
  const SrvMessage *message = (const SrvMessage *) self;
  const SrvQuestion *question = (const SrvQuestion *) self;
  const SrvLease *lease = (const SrvLease *) self;
  const SrvEvent *event = (const SrvEvent *) self;

  switch (self->kind)
    {
    case SRV_RECORD_PROJECT:
      return IN (project->approval, SRV_N_APPROVALS)
             && (project->trouble_since == 0 || project->trouble_reason);
    case SRV_RECORD_PLAN:
      return IN (plan->state, SRV_N_PLAN_STATES) && IN (plan->decision, SRV_N_DECISIONS);
    case SRV_RECORD_TASK:
      return IN (task->state, SRV_N_TASK_STATES);
    case SRV_RECORD_JOB:
      return IN (job->state, SRV_N_JOB_STATES);
    case SRV_RECORD_MESSAGE:
      return IN (message->state, SRV_N_MESSAGE_STATES) && IN (message->author, SRV_N_AUTHORS);
    case SRV_RECORD_QUESTION:
      return IN (question->state, SRV_N_QUESTION_STATES);
    case SRV_RECORD_LEASE:
      return IN (lease->kind_of, SRV_N_LEASE_KINDS);
    case SRV_RECORD_EVENT:
      return IN (event->what, SRV_N_EVENT_KINDS);
    case SRV_RECORD_BRIEF:
    case SRV_RECORD_REPORT:
    case SRV_RECORD_NOTE:
    case SRV_RECORD_TOKEN:
    case SRV_RECORD_REPLAY:
    case SRV_N_RECORDS:
      break;
    }
  return TRUE;
}

static gboolean
has_texts (const SrvRecord *self)
{
  const SrvProject *project = (const SrvProject *) self;
  const SrvToken *token = (const SrvToken *) self;
  const SrvReplay *replay = (const SrvReplay *) self;

  switch (self->kind)
    {
    case SRV_RECORD_PROJECT:
      return project->name && project->repo_url && project->protected_paths && project->hours;
    case SRV_RECORD_PLAN:
      return ((const SrvPlan *) self)->title != NULL;
    case SRV_RECORD_TASK:
      return ((const SrvTask *) self)->title != NULL;
    case SRV_RECORD_BRIEF:
      return ((const SrvBrief *) self)->text != NULL;
    case SRV_RECORD_JOB:
      return ((const SrvJob *) self)->worker != NULL;
    case SRV_RECORD_MESSAGE:
      return ((const SrvMessage *) self)->text != NULL;
    case SRV_RECORD_QUESTION:
      return ((const SrvQuestion *) self)->text != NULL;
    case SRV_RECORD_REPORT:
      return ((const SrvReport *) self)->text != NULL;
    case SRV_RECORD_NOTE:
      return ((const SrvNote *) self)->text != NULL;
    case SRV_RECORD_LEASE:
      return ((const SrvLease *) self)->holder != NULL;
    case SRV_RECORD_TOKEN:
      return token->hash && token->name;
    case SRV_RECORD_REPLAY:
      return replay->key && replay->request;
    case SRV_RECORD_EVENT:
    case SRV_N_RECORDS:
      break;
    }
  return TRUE;
}

gboolean
srv_record_is_sound (gconstpointer record)
{
  const SrvRecord *self = record;
  gsize any_number = self->kind == SRV_RECORD_MESSAGE ? G_STRUCT_OFFSET (SrvMessage, hash) : 0;

  return has_sound_fields (self, any_number) && has_words (self) && has_texts (self);
}

void
srv_text_set (char **field, const char *text)
{
  char *copy = g_strdup (text); /* @text may be within *field */

  g_free (*field);
  *field = copy;
}
