/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules as what they are: functions of values.
 */
#include "config.h"

#include "srv-rules.h"

#include <string.h>

/* 2027-01-15, a Friday, 00:00 UTC */
#define FRIDAY (G_GINT64_CONSTANT (1799971200) * G_USEC_PER_SEC)
#define AT(hours, minutes) (FRIDAY + (hours) *G_TIME_SPAN_HOUR + (minutes) *G_TIME_SPAN_MINUTE)

static void
test_urls (void)
{
  static const struct
  {
    const char *text, *want;
  } cases[] = {
    { "https://github.com/Owner/Name", "https://github.com/Owner/Name" },
    { "https://user:secret@GitHub.com:8443/Owner/Name.git/", "https://github.com/Owner/Name" },
    { "http://github.com/o/n", "https://github.com/o/n" },
    { "git@github.com:o/n.git", "https://github.com/o/n" },
    { "github.com:o/n", "https://github.com/o/n" },
    { "github.com/o/n", "https://github.com/o/n" },
    { "ssh://git@github.com:22/o/n.git", "https://github.com/o/n" },
    { "git+ssh://git@github.com/o/n", "https://github.com/o/n" },
    { "git://github.com/o/n", "https://github.com/o/n" },
    { "git@build:o/n", "https://build/o/n" },
    { "https://gitlab.com/a/b/c.git", "https://gitlab.com/a/b/c" },
    { "https://github.com./o/n", "https://github.com/o/n" },
    { "git@GitHub.com.:o/n.git", "https://github.com/o/n" },
    { "https://a%40b:c@github.com:65535/o/n", "https://github.com/o/n" },
    { "https://github.com../o/n", NULL },
    { "https://./o/n", NULL },
    { "https://github.com:65536/o/n", NULL },
    { "https://github.com:99999/o/n", NULL },
    { "https://github.com:0/o/n", NULL },
    { "https://github.com:/o/n", NULL },
    { "https://us%zzer@github.com/o/n", NULL },
    { "https://user%2@github.com/o/n", NULL },
    { "https://us\ner@github.com/o/n", NULL },
    { "https://github.com/o%2/n", NULL },
    { "https://github.com/o/n%zz", NULL },
    { "https://git%68ub.com/o/n", NULL },
    { "https://github.com/o", NULL },
    { "https://github.com/o/../n", NULL },
    { "https://github.com/o//n", NULL },
    { "https://github.com/o/n?x=1", NULL },
    { "https://github.com/o/n#main", NULL },
    { "https:///o/n", NULL },
    { "https://git hub.com/o/n", NULL },
    { "https://github.com:port/o/n", NULL },
    { "file:///srv/o/n", NULL },
    { "/srv/o/n", NULL },
    { "C:/o/n", NULL },
    { "", NULL },
    { "x", NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *got = srv_repo_url_canonical (cases[i].text);
      if (g_strcmp0 (got, cases[i].want) != 0)
        g_error ("%s became %s, not %s", cases[i].text, got, cases[i].want);
      /* Canonical once is canonical. */
      g_autofree char *again = got ? srv_repo_url_canonical (got) : NULL;
      g_assert_cmpstr (again, ==, got);
    }
  g_assert_null (srv_repo_url_canonical (NULL));
}

static void
test_hours (void)
{
  static const struct
  {
    const char *hours;
    int hour, minute;
    gboolean open;
  } cases[] = {
    { "any", 3, 0, TRUE },
    { "Mon-Fri 08:00-18:00", 8, 0, TRUE },
    { "Mon-Fri 08:00-18:00", 7, 59, FALSE },
    { "Mon-Fri 08:00-18:00", 17, 59, TRUE },
    { "Mon-Fri 08:00-18:00", 18, 0, FALSE },
    { "Mon-Fri 08:00-18:00 Europe/Berlin", 7, 0, TRUE },
    { "Mon-Fri 08:00-18:00 Europe/Berlin", 17, 0, FALSE },
    { "Sat,Sun 00:00-24:00", 12, 0, FALSE },
    { "Sat,Sun 00:00-24:00", 36, 0, TRUE },
    { "Fri-Mon 10:00-11:00", 10, 30, TRUE },
    { "Thu 22:00-06:00", 5, 59, TRUE },
    { "Thu 22:00-06:00", 6, 0, FALSE },
    { "Fri 22:00-06:00", 5, 0, FALSE },
    { "Fri 22:00-06:00", 29, 0, TRUE },
    { "08:00-09:00; 20:00-21:00", 20, 15, TRUE },
    { "08:00-09:00; 20:00-21:00", 12, 15, FALSE },
    { "Fri 19:00-20:00 Asia/Tokyo", 10, 30, TRUE },
    /* In summer the same zone is an hour earlier. */
    { "08:00-08:01 Europe/Berlin", 24 * 180 + 6, 0, TRUE },
    { "08:00-08:01 Europe/Berlin", 24 * 180 + 7, 0, FALSE },
    { "nonsense", 12, 0, FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    if (srv_hours_open (cases[i].hours, AT (cases[i].hour, cases[i].minute)) != cases[i].open)
      g_error ("%s at %d:%02d", cases[i].hours, cases[i].hour, cases[i].minute);
  static const char *const wrong[][2] = {
    { "", "is empty" },
    { "Mon-Fri", "has no times" },
    { "Mon-Fri 8-18", "has no times" },
    { "Mon-Fri 08:00-25:00", "has no times" },
    { "Mon-Fri 24:00-25:00", "has no times" },
    { "Moon 08:00-18:00", "\"Moon\" is not days" },
    { "08:00-18:00 Europe/Atlantis", "\"Europe/Atlantis\" is not a time zone" },
    { "08:00-18:00 UTC yes", "something after the time zone" },
    { "08:00-18:00;", "a window is empty" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autofree char *problem = srv_hours_problem (wrong[i][0]);
      if (!problem || !strstr (problem, wrong[i][1]))
        g_error ("%s: %s", wrong[i][0], problem ? problem : "nothing");
    }
  g_assert_null (srv_hours_problem ("any"));
  g_assert_null (srv_hours_problem ("Mon-Fri 08:00-18:00 Europe/Berlin; Sat 10:00-12:00"));
}

/* "*a*a…": the dearest kind. */
static char *
dear_glob (char letter, const char *end)
{
  GString *glob = g_string_new (NULL);

  while (glob->len + 6 < SRV_MAX_GLOB)
    g_string_append_printf (glob, "*%c", letter);
  g_string_append (glob, end);
  return g_string_free (glob, FALSE);
}

/* Whatever a foreman writes, judging its plan must not keep the writer busy: its steps are bounded, and what is not
 * compared any more counts as touched. */
static void
test_dear_globs (void)
{
  g_autofree char *path = dear_glob ('a', "a"), *same = dear_glob ('b', "*a");
  g_autofree char *other = dear_glob ('b', "#");
  char *dear[] = { other, NULL };
  char *cheap[SRV_MAX_GLOBS + 1] = { NULL };

  g_assert_false (srv_globs_overlap (path, other));
  g_assert_true (srv_globs_overlap (path, same));
  g_assert_true (srv_globs_overlap (same, path));
  g_autoptr (SrvGlobSet) set = srv_glob_set_new ((const char *const *) dear);
  srv_glob_set_touch (set, path);
  g_assert_false (srv_glob_set_is_touched (set, 0));
  guint one = srv_glob_set_steps (set), n = 1;
  g_assert_cmpuint (one, <=, SRV_MAX_GLOB + 5);
  for (; !srv_glob_set_is_touched (set, 0); n++)
    srv_glob_set_touch (set, path);
  g_assert_cmpuint (n, ==, (SRV_MAX_GLOB_STEPS + one - 1) / one + 1);
  g_assert_cmpuint (srv_glob_set_steps (set), <, SRV_MAX_GLOB_STEPS + one);
  /* The largest plan and the longest list, told apart at once. */
  for (guint i = 0; i < SRV_MAX_GLOBS; i++)
    cheap[i] = g_strdup_printf ("deploy/%u/**", i);
  g_autoptr (SrvGlobSet) many = srv_glob_set_new ((const char *const *) cheap);
  for (guint i = 0; i < SRV_MAX_PATHS; i++)
    srv_glob_set_touch (many, "src/model/**/*.c");
  g_assert_cmpuint (srv_glob_set_steps (many), ==, SRV_MAX_PATHS * SRV_MAX_GLOBS);
  srv_glob_set_touch (many, "deploy/7/x");
  for (guint i = 0; i < SRV_MAX_GLOBS; i++)
    {
      g_assert_cmpint (srv_glob_set_is_touched (many, i), ==, i == 7);
      g_free (cheap[i]);
    }
  g_autoptr (SrvGlobSet) none = srv_glob_set_new (NULL);
  srv_glob_set_touch (none, NULL);
  g_assert_cmpuint (srv_glob_set_steps (none), ==, 0);
}

static void
test_globs (void)
{
  static const struct
  {
    const char *a, *b;
    gboolean overlap;
  } cases[] = {
    { "src/a.c", "src/a.c", TRUE },
    { "src/a.c", "src/b.c", FALSE },
    { "src/*.c", "src/a.c", TRUE },
    { "src/*.c", "src/x/a.c", FALSE },
    { "src/**", "src/x/a.c", TRUE },
    { "src/**/a.c", "src/a.c", TRUE },
    { "src/**/a.c", "src/x/y/a.c", TRUE },
    { "**/*.sql", "db/x.sql", TRUE },
    { "**/*.sql", "x.sql", TRUE },
    { "*.sql", "x.sqlx", FALSE },
    { "src", "src/x/y.c", TRUE },
    { "src/", "src/x.c", TRUE },
    { "src", "srcs/x.c", FALSE },
    { "./src/a", "/src/a", TRUE },
    { "a?c", "abc", TRUE },
    { "a?c", "a/c", FALSE },
    { "*a*b*", "xaybz", TRUE },
    { "*a", "*b", FALSE },
    { "a*", "*b", TRUE },
    { "**", "anything/at/all", TRUE },
    { "deploy/**", "src/**", FALSE },
    { "src/model/*.sql", "src/**", TRUE },
    { "x/**", "x", TRUE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    if (srv_globs_overlap (cases[i].a, cases[i].b) != cases[i].overlap
        || srv_globs_overlap (cases[i].b, cases[i].a) != cases[i].overlap)
      g_error ("%s and %s", cases[i].a, cases[i].b);
  g_autofree char *longest = g_strnfill (SRV_MAX_GLOB, '*');
  g_autofree char *longer = g_strnfill (SRV_MAX_GLOB + 1, 'a');
  g_assert_true (srv_globs_overlap (longest, longest));
  g_assert_true (srv_glob_is_valid (longest));
  g_assert_false (srv_glob_is_valid (longer));
  g_assert_false (srv_glob_is_valid (""));
  g_assert_false (srv_glob_is_valid ("a/../b"));
  g_assert_false (srv_glob_is_valid ("a\\b"));
  g_assert_false (srv_glob_is_valid ("a\nb"));
  g_assert_false (srv_glob_is_valid ("a\xff"));
}

/* ------------------------------------------------------------------------ plans */
/* 1 <- 2 <- 4, 1 <- 3 */
static gint64 on_1[] = { 1 }, on_2[] = { 2 }, on_4[] = { 4 };
static char *under_src[] = { (char[]){ "src/**" }, NULL };

static void
fill (SrvTaskValue *tasks)
{
  memset (tasks, 0, 4 * sizeof (*tasks));
  for (guint i = 0; i < 4; i++)
    tasks[i] = (SrvTaskValue){ .id = i + 1, .state = SRV_TASK_PLANNED, .paths = under_src };
  tasks[1].depends_on = tasks[2].depends_on = on_1;
  tasks[3].depends_on = on_2;
  tasks[1].n_depends_on = tasks[2].n_depends_on = tasks[3].n_depends_on = 1;
}

static void
test_waves (void)
{
  SrvTaskValue tasks[4];
  gint64 cycle = 0;

  fill (tasks);
  g_assert_true (srv_rules_waves (tasks, 4, &cycle));
  g_assert_cmpuint (tasks[0].wave, ==, 1);
  g_assert_cmpuint (tasks[1].wave, ==, 2);
  g_assert_cmpuint (tasks[2].wave, ==, 2);
  g_assert_cmpuint (tasks[3].wave, ==, 3);
  tasks[1].depends_on = on_4;
  g_assert_false (srv_rules_waves (tasks, 4, &cycle));
  g_assert_true (cycle == 2 || cycle == 4);
  tasks[1].depends_on = on_2;
  g_assert_false (srv_rules_waves (tasks, 4, &cycle));
  g_assert_cmpint (cycle, ==, 2);
  g_assert_true (srv_rules_waves (tasks, 0, NULL));
}

static void
test_readiness (void)
{
  SrvTaskValue tasks[4];
  g_autoptr (GArray) ids = g_array_new (FALSE, FALSE, sizeof (gint64));

  fill (tasks);
  g_assert_cmpint (srv_rules_readiness (tasks, 4, 0, TRUE), ==, SRV_TASK_READY);
  g_assert_cmpint (srv_rules_readiness (tasks, 4, 0, FALSE), ==, SRV_TASK_PLANNED);
  g_assert_cmpint (srv_rules_readiness (tasks, 4, 1, TRUE), ==, SRV_TASK_PLANNED);
  tasks[0].state = SRV_TASK_DONE;
  g_assert_cmpint (srv_rules_readiness (tasks, 4, 1, TRUE), ==, SRV_TASK_READY);
  tasks[1].awaiting = TRUE;
  g_assert_cmpint (srv_rules_readiness (tasks, 4, 1, TRUE), ==, SRV_TASK_PLANNED);
  tasks[0].state = SRV_TASK_FAILED;
  g_autoptr (GPtrArray) blocked = srv_rules_blocked (tasks, 4);
  for (guint i = 0; i < 4; i++)
    g_assert_cmpuint (((GArray *) g_ptr_array_index (blocked, i))->len, ==, i > 0);
  g_assert_cmpint (g_array_index ((GArray *) g_ptr_array_index (blocked, 3), gint64, 0), ==, 1);
  srv_rules_dependents (tasks, 4, 1, ids);
  g_assert_cmpuint (ids->len, ==, 3);
  g_array_set_size (ids, 0);
  srv_rules_dependents (tasks, 4, 2, ids);
  g_assert_cmpuint (ids->len, ==, 1);
  g_assert_cmpint (g_array_index (ids, gint64, 0), ==, 4);
  for (guint s = 0; s < SRV_N_TASK_STATES; s++)
    g_assert_cmpint (srv_rules_may_rewrite (s), ==,
                     s == SRV_TASK_PLANNED || s == SRV_TASK_READY || s == SRV_TASK_FAILED);
}

/* Random graphs, in any order of the ids, against what follows dependencies one by one. */
#define GRAPH 70u

static gboolean
reaches (guint64 (*needs)[2], guint from, guint to)
{
  guint64 seen[2] = { needs[from][0], needs[from][1] };

  for (guint round = 0; round < GRAPH; round++)
    for (guint i = 0; i < GRAPH; i++)
      if (seen[i / 64] >> (i % 64) & 1)
        {
          seen[0] |= needs[i][0];
          seen[1] |= needs[i][1];
        }
  return seen[to / 64] >> (to % 64) & 1;
}

static void
test_graphs (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);

  for (guint round = 0; round < 20; round++)
    {
      SrvTaskValue tasks[GRAPH] = { { 0 } };
      gint64 on[GRAPH][GRAPH];
      guint64 needs[GRAPH][2] = { { 0 } };
      guint rank[GRAPH];
      gint64 cycle = 0;

      for (guint i = 0; i < GRAPH; i++)
        rank[i] = (guint) g_rand_int (rand);
      for (guint i = 0; i < GRAPH; i++)
        {
          tasks[i].id = 10 + 3 * i;
          tasks[i].state = g_rand_int_range (rand, 0, 9) ? SRV_TASK_PLANNED : SRV_TASK_FAILED;
          tasks[i].depends_on = on[i];
          for (guint k = 0; k < GRAPH; k++)
            if (rank[k] < rank[i] && g_rand_int_range (rand, 0, 20) == 0)
              {
                on[i][tasks[i].n_depends_on++] = 10 + 3 * k;
                needs[i][k / 64] |= G_GUINT64_CONSTANT (1) << (k % 64);
              }
        }
      g_assert_true (srv_rules_waves (tasks, GRAPH, &cycle));
      g_autoptr (GPtrArray) blocked = srv_rules_blocked (tasks, GRAPH);
      for (guint i = 0; i < GRAPH; i++)
        {
          g_autoptr (GArray) dependents = g_array_new (FALSE, FALSE, sizeof (gint64));
          const GArray *by = g_ptr_array_index (blocked, i);
          guint wave = 1, n_by = 0, n_dependents = 0;
          for (guint k = 0; k < GRAPH; k++)
            {
              if (needs[i][k / 64] >> (k % 64) & 1)
                wave = MAX (wave, tasks[k].wave + 1);
              n_by += tasks[k].state == SRV_TASK_FAILED && reaches (needs, i, k);
              n_dependents += reaches (needs, k, i);
            }
          g_assert_cmpuint (tasks[i].wave, ==, wave);
          g_assert_cmpuint (by->len, ==, n_by);
          srv_rules_dependents (tasks, GRAPH, tasks[i].id, dependents);
          g_assert_cmpuint (dependents->len, ==, n_dependents);
        }
      /* One more makes a circle. */
      guint last = 0, first = 0;
      for (guint i = 0; i < GRAPH; i++)
        if (tasks[i].wave > tasks[last].wave)
          last = i;
      for (guint i = 0; i < GRAPH; i++)
        if (reaches (needs, last, i))
          first = i;
      on[first][tasks[first].n_depends_on++] = tasks[last].id;
      g_assert_false (srv_rules_waves (tasks, GRAPH, &cycle));
      g_assert_cmpint (cycle, !=, 0);
    }
}

static void
test_plan_state (void)
{
  SrvTaskValue tasks[4];

  fill (tasks);
  g_assert_cmpint (srv_rules_plan_state (tasks, 4), ==, SRV_PLAN_ACTIVE);
  tasks[0].state = SRV_TASK_FAILED;
  g_assert_cmpint (srv_rules_plan_state (tasks, 4), ==, SRV_PLAN_FAILED);
  tasks[2].state = SRV_TASK_RUNNING;
  g_assert_cmpint (srv_rules_plan_state (tasks, 4), ==, SRV_PLAN_ACTIVE);
  tasks[2].state = SRV_TASK_REVIEW;
  g_assert_cmpint (srv_rules_plan_state (tasks, 4), ==, SRV_PLAN_ACTIVE);
  tasks[2].state = SRV_TASK_PLANNED;
  tasks[2].awaiting = TRUE;
  g_assert_cmpint (srv_rules_plan_state (tasks, 4), ==, SRV_PLAN_ACTIVE);
  for (guint i = 0; i < 4; i++)
    tasks[i].state = SRV_TASK_CANCELLED;
  g_assert_cmpint (srv_rules_plan_state (tasks, 4), ==, SRV_PLAN_CANCELLED);
  tasks[3].state = SRV_TASK_DONE;
  g_assert_cmpint (srv_rules_plan_state (tasks, 4), ==, SRV_PLAN_DONE);
}

static guint
reasons_of (const SrvSettings *settings,
            const SrvTaskValue *tasks,
            gboolean only_awaiting,
            gint64 now)
{
  g_autofree char **touched = NULL;

  return srv_rules_reasons (settings, tasks, 4, only_awaiting, now, &touched);
}

/* Each reason comes, goes by what stop_asking makes of its one setting, and touches no other. */
static void
test_reasons (void)
{
  SrvTaskValue tasks[4];
  const char *globs[] = { "deploy/**", "src/secret/*", NULL };
  const char *found[] = { "src/secret/*", NULL };

  fill (tasks);
  tasks[3].state = SRV_TASK_CANCELLED;
  for (SrvReason reason = 0; reason < SRV_N_REASONS; reason++)
    {
      g_auto (SrvSettings) settings = { .approval = SRV_APPROVAL_ALWAYS, .max_tasks = 2 };
      settings.protected_paths = g_strdupv ((char **) (gpointer) globs);
      settings.hours = g_strdup ("Mon-Thu 08:00-18:00");
      g_assert_cmpuint (reasons_of (&settings, tasks, FALSE, FRIDAY), ==,
                        (1u << SRV_N_REASONS) - 1);
      srv_rules_stop_asking (&settings, reason, 3, found);
      g_assert_cmpuint (reasons_of (&settings, tasks, FALSE, FRIDAY), ==,
                        ((1u << SRV_N_REASONS) - 1) & ~(1u << reason));
      g_assert_cmpint (settings.max_tasks, ==, reason == SRV_REASON_TOO_MANY_TASKS ? 3 : 2);
      g_assert_cmpuint (g_strv_length (settings.protected_paths), ==,
                        reason == SRV_REASON_PROTECTED_PATH ? 1 : 2);
    }
  g_auto (SrvSettings) settings
      = { .approval = SRV_APPROVAL_NEVER, .max_tasks = 3, .hours = g_strdup ("any") };
  g_assert_cmpuint (reasons_of (&settings, tasks, FALSE, FRIDAY), ==, 0);
  /* A task that names no paths may touch every one; what is done touches none any more. */
  settings.protected_paths = g_strdupv ((char **) (gpointer) globs);
  tasks[0].paths = tasks[1].paths = tasks[2].paths = NULL;
  g_autofree char **touched = srv_rules_touched (&settings, tasks, 4, FALSE);
  g_assert_cmpuint (g_strv_length (touched), ==, 2);
  g_assert_cmpuint (reasons_of (&settings, tasks, TRUE, FRIDAY), ==, 0);
  tasks[1].awaiting = TRUE;
  g_assert_cmpuint (reasons_of (&settings, tasks, TRUE, FRIDAY), ==,
                    1u << SRV_REASON_PROTECTED_PATH);
}

static void
test_holds_leases_jobs (void)
{
  g_assert_true (srv_rules_may_release (SRV_ROLE_FOREMAN, SRV_ROLE_FOREMAN));
  g_assert_false (srv_rules_may_release (SRV_ROLE_CLIENT, SRV_ROLE_FOREMAN));
  g_assert_false (srv_rules_may_release (SRV_ROLE_ADMIN, SRV_ROLE_FOREMAN));
  g_assert_false (srv_rules_may_release (0, SRV_ROLE_FOREMAN));
  g_assert_true (srv_rules_may_release (SRV_ROLE_FOREMAN, SRV_ROLE_CLIENT));
  g_assert_false (srv_rules_hold_replaces (SRV_ROLE_CLIENT, SRV_ROLE_FOREMAN));
  g_assert_true (srv_rules_lease_is_over (100, 0, 100));
  g_assert_false (srv_rules_lease_is_over (101, 0, 100));
  g_assert_true (srv_rules_lease_is_over (101, 5, 100));
  g_assert_cmpint (srv_rules_lost_at (0, SRV_HEARTBEAT_SECONDS), ==, 90 * G_USEC_PER_SEC);
  g_assert_cmpint (srv_rules_lost_at (7, 1), ==, 7 + 3 * G_USEC_PER_SEC);
  g_assert_false (srv_rules_lost_too_often (2));
  g_assert_true (srv_rules_lost_too_often (3));
  g_assert_cmpint (srv_rules_foreman_state (FALSE, FALSE, 0), ==, SRV_FOREMAN_NONE);
  g_assert_cmpint (srv_rules_foreman_state (TRUE, FALSE, 0), ==, SRV_FOREMAN_ASLEEP);
  g_assert_cmpint (srv_rules_foreman_state (FALSE, TRUE, SRV_LEASE_TURN), ==, SRV_FOREMAN_AWAKE);
  g_assert_cmpint (srv_rules_foreman_state (TRUE, TRUE, SRV_LEASE_CHAT), ==, SRV_FOREMAN_ATTACHED);
  g_assert_cmpint (srv_rules_foreman_state (TRUE, TRUE, SRV_LEASE_HAND), ==, SRV_FOREMAN_ATTACHED);
  g_assert_cmpint (srv_rules_outcome (TRUE, TRUE, TRUE, TRUE, SRV_LEASE_CHAT), ==,
                   SRV_OUTCOME_ATTACHED);
  g_assert_cmpint (srv_rules_outcome (TRUE, FALSE, TRUE, TRUE, SRV_LEASE_TURN), ==,
                   SRV_OUTCOME_TURN_RUNNING);
  g_assert_cmpint (srv_rules_outcome (TRUE, FALSE, TRUE, TRUE, SRV_LEASE_HAND), ==,
                   SRV_OUTCOME_LEASED);
  g_assert_cmpint (srv_rules_outcome (TRUE, TRUE, TRUE, FALSE, 0), ==, SRV_OUTCOME_HOLD);
  g_assert_cmpint (srv_rules_outcome (FALSE, FALSE, TRUE, FALSE, 0), ==, SRV_OUTCOME_NO_COMMAND);
  g_assert_cmpint (srv_rules_outcome (FALSE, TRUE, TRUE, FALSE, 0), ==, SRV_OUTCOME_NO_COMMAND);
  g_assert_cmpint (srv_rules_outcome (TRUE, FALSE, FALSE, FALSE, 0), ==, SRV_OUTCOME_WOKE);
  g_assert_cmpint (srv_rules_outcome (TRUE, FALSE, TRUE, FALSE, 0), ==, SRV_OUTCOME_TROUBLE);
  for (guint i = 0; i <= SRV_N_OUTCOMES; i++)
    g_assert_cmpuint (strlen (srv_rules_outcome_text (i)), >, 5);
}

static void
test_words (void)
{
  g_assert_cmpint (srv_word_find (srv_task_state_words, "review"), ==, SRV_TASK_REVIEW);
  g_assert_cmpint (srv_word_find (srv_task_state_words, "asleep"), ==, -1);
  g_assert_cmpint (srv_word_find (srv_task_state_words, NULL), ==, -1);
  g_assert_cmpstr (srv_role_word (0), ==, "engine");
  g_assert_cmpstr (srv_role_word (SRV_ROLE_CLIENT), ==, "user");
  g_assert_null (srv_event_kind_words[SRV_N_EVENT_KINDS]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/srv-rules/urls", test_urls);
  g_test_add_func ("/srv-rules/hours", test_hours);
  g_test_add_func ("/srv-rules/globs", test_globs);
  g_test_add_func ("/srv-rules/dear-globs", test_dear_globs);
  g_test_add_func ("/srv-rules/waves", test_waves);
  g_test_add_func ("/srv-rules/readiness", test_readiness);
  g_test_add_func ("/srv-rules/graphs", test_graphs);
  g_test_add_func ("/srv-rules/plan-state", test_plan_state);
  g_test_add_func ("/srv-rules/reasons", test_reasons);
  g_test_add_func ("/srv-rules/holds-leases-jobs", test_holds_leases_jobs);
  g_test_add_func ("/srv-rules/words", test_words);
  return g_test_run ();
}
