/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Presets: what each renders to, byte for byte (DBR_UPDATE=1 rewrites the golden files), and what is refused.
 */
#include "config.h"

#include "srv-preset.h"
#include "srv-turn-folder.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

static const SrvPresetValues values = {
  .project = 7,
  .name = "shop",
  .repo = "https://git.example/owner/shop",
  .checkout = "/srv/shop \"one\"",
  .socket = "/run/user/1000/drawbridge/engine.sock",
  .bridge = "/usr/bin/drawbridge",
  .folder = "/state/turns/turn-abc",
  .token = "TOKEN-of-the-turn",
  .home = "/srv/ann",
};

static SrvPreset *
render (const char *foreman, GError **error)
{
  json_auto_t *value = json_loads (foreman, 0, NULL);
  g_assert_nonnull (value);
  return srv_preset_render (value, &values, error);
}

static void
add_list (GString *out, const char *title, char **list)
{
  g_string_append_printf (out, "-- %s\n", title);
  for (gsize i = 0; list[i] != NULL; i++)
    g_string_append_printf (out, "%s\n", list[i]);
}

/* Everything that a preset says, as one text. */
static char *
describe (const SrvPreset *preset)
{
  GString *out = g_string_new (NULL);
  add_list (out, "command", preset->command);
  add_list (out, "environment", preset->environment);
  add_list (out, "links", preset->links);
  add_list (out, "writable", preset->writable);
  g_string_append_printf (out, "-- %s\n%s", preset->file, preset->config);
  return g_string_free (out, FALSE);
}

static void
test_golden (gconstpointer data)
{
  const char *name = data;
  g_autofree char *foreman
      = strcmp (name, "command") == 0
            ? g_strdup ("{\"command\": [\"./plan.sh\", \"--mcp\", \"{config}\", \"{project}\", "
                        "\"{socket}\", \"{checkout}\", \"{\\\"a\\\": 1}\"], "
                        "\"environment\": [\"MY_KEY\"]}")
            : g_strdup_printf ("{\"preset\": \"%s\", \"model\": \"big-1\"}", name);
  g_autoptr (GError) error = NULL;
  g_autoptr (SrvPreset) preset = render (foreman, &error);
  g_assert_no_error (error);
  g_autofree char *text = describe (preset);
  g_autofree char *file = g_strconcat (name, ".golden", NULL);
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "tests", "data", "run", file, NULL);
  if (g_strcmp0 (g_getenv ("DBR_UPDATE"), "1") == 0)
    g_file_set_contents (path, text, -1, NULL);
  g_autofree char *golden = NULL;
  g_assert_true (g_file_get_contents (path, &golden, NULL, NULL));
  g_assert_cmpstr (text, ==, golden);
  for (gsize i = 0; preset->command[i] != NULL; i++)
    g_assert_null (strstr (preset->command[i], "TOKEN-of-the-turn"));
  if (g_str_has_suffix (preset->file, ".json"))
    {
      json_auto_t *config = json_loads (preset->config, 0, NULL);
      g_assert_nonnull (config);
    }
}

static void
test_environment (void)
{
  g_autoptr (GError) error = NULL;
  g_setenv ("BRIGADA_ADMIN", "not for you", TRUE);
  g_autoptr (SrvPreset) preset = render ("{\"preset\": \"claude\"}", &error);
  g_assert_no_error (error);
  for (gsize i = 0; preset->environment[i] != NULL; i++)
    {
      g_assert_null (strstr (preset->environment[i], "not for you"));
      g_assert_null (strstr (preset->environment[i], "TOKEN-of-the-turn"));
    }
  g_unsetenv ("BRIGADA_ADMIN");
}

static void
test_refused (void)
{
  static const struct
  {
    const char *foreman;
    int code;
    const char *says;
  } rows[] = {
    { "{\"preset\": \"cursor\"}", SRV_PRESET_ERROR_UNKNOWN, "there is no preset cursor" },
    { "{\"preset\": \"\"}", SRV_PRESET_ERROR_UNKNOWN, "there is no preset" },
    { "{}", SRV_PRESET_ERROR_INVALID, "a foreman is" },
    { "{\"command\": []}", SRV_PRESET_ERROR_INVALID, "the foreman's command is empty" },
    { "{\"command\": [\"\"]}", SRV_PRESET_ERROR_INVALID, "the foreman's command is empty" },
    { "{\"command\": [\"x\", 3]}", SRV_PRESET_ERROR_INVALID, "a list of at most 256 words" },
    { "{\"command\": [\"x\", \"{promt}\"]}", SRV_PRESET_ERROR_INVALID,
      "{promt} is no placeholder" },
    { "{\"command\": [\"x\", \"{token}\"]}", SRV_PRESET_ERROR_INVALID, "everybody sees those" },
    { "{\"command\": [\"x\", \"{model}\"]}", SRV_PRESET_ERROR_INVALID, "has no value here" },
    { "{\"command\": [\"x\"], \"environment\": [\"BRIGADA_TOKEN\"]}", SRV_PRESET_ERROR_INVALID,
      "BRIGADA_TOKEN can't be passed on" },
    { "{\"command\": [\"x\"], \"environment\": [\"LD_PRELOAD\"]}", SRV_PRESET_ERROR_INVALID,
      "LD_PRELOAD can't be passed on" },
    { "{\"command\": [\"x\"], \"environment\": [\"A=B\"]}", SRV_PRESET_ERROR_INVALID,
      "A=B can't be passed on" },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (SrvPreset) preset = render (rows[i].foreman, &error);
      g_assert_null (preset);
      g_assert_error (error, SRV_PRESET_ERROR, rows[i].code);
      g_assert_nonnull (strstr (error->message, rows[i].says));
    }
}

static void
test_many_words (void)
{
  for (guint count = SRV_PRESET_MAX_WORDS; count <= SRV_PRESET_MAX_WORDS + 1; count++)
    {
      json_auto_t *words = json_array ();
      for (guint i = 0; i < count; i++)
        json_array_append_new (words, json_string ("x"));
      json_auto_t *foreman = json_pack ("{s:O}", "command", words);
      g_autoptr (SrvPreset) preset = srv_preset_render (foreman, &values, NULL);
      g_assert_true ((preset != NULL) == (count == SRV_PRESET_MAX_WORDS));
    }
}

static void
test_write (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *base = g_dir_make_tmp ("preset-XXXXXX", &error);
  g_assert_no_error (error);
  g_autofree char *folder = srv_turn_folder_new (base, &error);
  g_assert_no_error (error);
  SrvPresetValues here = values;
  here.folder = folder;
  here.home = base; /* ~/.codex/auth.json */
  g_autofree char *home = g_build_filename (base, ".codex", NULL);
  g_autofree char *auth = g_build_filename (home, "auth.json", NULL);
  g_assert_cmpint (g_mkdir (home, 0700), ==, 0);
  g_assert_true (g_file_set_contents (auth, "{}", -1, NULL));
  json_auto_t *foreman = json_loads ("{\"preset\": \"codex\"}", 0, NULL);
  g_autoptr (SrvPreset) preset = srv_preset_render (foreman, &here, &error);
  g_assert_no_error (error);
  g_assert_true (srv_preset_write (preset, folder, &error));
  g_autofree char *path = g_build_filename (folder, "codex", "config.toml", NULL);
  g_autofree char *link = g_build_filename (folder, "codex", "auth.json", NULL);
  struct stat about;
  g_assert_cmpint (g_stat (path, &about), ==, 0);
  g_assert_cmpint (about.st_mode & 07777, ==, 0600);
  g_assert_cmpint (g_lstat (link, &about), ==, 0);
  g_assert_true (S_ISLNK (about.st_mode));
  /* Never over something that is there. */
  g_assert_false (srv_preset_write (preset, folder, &error));
  g_assert_error (error, SRV_PRESET_ERROR, SRV_PRESET_ERROR_FOLDER);
  g_assert_true (srv_turn_folder_remove (folder));
  g_assert_true (
      g_file_test (auth, G_FILE_TEST_EXISTS)); /* the link was deleted, not what it names */
  g_assert_true (srv_turn_folder_remove (base));
}

/* Every fault, in order, as "field: problem" lines. */
static char *
problems_of (const char *foreman)
{
  json_auto_t *value = json_loads (foreman, 0, NULL);
  g_autoptr (GPtrArray) problems = srv_preset_problems (value);
  GString *out = g_string_new (NULL);
  for (guint i = 0; i < problems->len; i += 2)
    g_string_append_printf (out, "%s: %s\n", (const char *) problems->pdata[i],
                            (const char *) problems->pdata[i + 1]);
  return g_string_free (out, FALSE);
}

static void
test_problems (void)
{
  static const struct
  {
    const char *foreman;
    const char *wanted;
  } cases[] = {
    { "{\"preset\": \"codex\", \"model\": \"m\", \"environment\": [\"_A1\", \"b\"]}", "" },
    { "{\"command\": [\"do\", \"{prompt} {config}\", \"{\\\"a\\\": {}}\", \"{}\"]}", "" },
    { "{\"preset\": \"gemin\"}",
      "preset: \"gemin\" is not known: there are claude, codex, gemini and "
      "opencode; did you mean gemini?\n" },
    { "{\"preset\": \"x\"}",
      "preset: \"x\" is not known: there are claude, codex, gemini and opencode\n" },
    { "{\"command\": [\"{checkuot}\"]}",
      "command[0]: has {checkuot}, which is no placeholder: there are {prompt}, {config}, "
      "{folder}, "
      "{project}, {name}, {repo}, {checkout}, {socket}, {bridge}, {model} and {home}; did you mean "
      "{checkout}?\n" },
    { "{\"command\": [\"do\", \"a {token} {model}\"]}",
      "command[1]: has {token}, which can't stand in a command: everybody sees its words\n"
      "command[1]: has {model}, but no model is set\n" },
    { "{\"command\": [\"do\", \"{model}\"], \"model\": \"m\"}", "" },
    { "{\"command\": [\"do\"], \"environment\": [\"A=1\", \"1A\", \"BRIGADA_TOKEN\", "
      "\"LD_PRELOAD\"]}",
      "environment[0]: is not the name of a variable: letters, digits and _; its value comes from "
      "the engine's environment\n"
      "environment[1]: is not the name of a variable: letters, digits and _; its value comes from "
      "the engine's environment\n"
      "environment[2]: is the engine's own, or changes how programs are loaded: it is never handed "
      "on\n"
      "environment[3]: is the engine's own, or changes how programs are loaded: it is never handed "
      "on\n" },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *got = problems_of (cases[i].foreman);
      g_assert_cmpstr (got, ==, cases[i].wanted);
    }
}

/* Whatever is accepted can be rendered. */
static void
test_problems_agree (void)
{
  static const char *const words[]
      = { "prompt", "config", "folder", "project", "name",  "repo", "checkout",
          "socket", "bridge", "model",  "home",    "token", "word" };
  for (gsize i = 0; i < G_N_ELEMENTS (words); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *foreman
          = g_strdup_printf ("{\"command\": [\"do\", \"{%s}\"], \"model\": \"m\"}", words[i]);
      g_autofree char *problems = problems_of (foreman);
      g_autoptr (SrvPreset) preset = render (foreman, &error);
      g_assert_cmpint (preset != NULL, ==, *problems == '\0');
    }
}

static void
test_program (void)
{
  json_auto_t *preset = json_pack ("{s:s}", "preset", "opencode");
  json_auto_t *command = json_pack ("{s:[s,s]}", "command", "/bin/do", "it");
  json_auto_t *unknown = json_pack ("{s:s}", "preset", "x");
  g_autofree char *of_preset = srv_preset_program (preset);
  g_autofree char *of_command = srv_preset_program (command);
  g_assert_cmpstr (of_preset, ==, "opencode");
  g_assert_cmpstr (of_command, ==, "/bin/do");
  g_assert_null (srv_preset_program (unknown));
}

int
main (int argc, char **argv)
{
  /* The golden files hold no variable of whoever runs the test. */
  g_auto (GStrv) names = g_listenv ();
  for (gsize i = 0; names[i] != NULL; i++)
    if (!g_str_has_prefix (names[i], "G_") && !g_str_has_prefix (names[i], "DBR_")
        && strcmp (names[i], "TMPDIR") != 0 && strstr (names[i], "SAN_") == NULL)
      g_unsetenv (names[i]);
  g_setenv ("PATH", "/usr/bin:/bin", TRUE);
  g_setenv ("MY_KEY", "k1", TRUE);
  g_setenv ("OTHER_KEY", "k2", TRUE);
  g_test_init (&argc, &argv, NULL);
  for (const char *const *name = srv_preset_names (); *name != NULL; name++)
    {
      g_autofree char *path = g_strconcat ("/preset/golden/", *name, NULL);
      g_test_add_data_func (path, *name, test_golden);
    }
  g_test_add_data_func ("/preset/golden/command", "command", test_golden);
  g_test_add_func ("/preset/environment", test_environment);
  g_test_add_func ("/preset/refused", test_refused);
  g_test_add_func ("/preset/many-words", test_many_words);
  g_test_add_func ("/preset/write", test_write);
  g_test_add_func ("/preset/problems", test_problems);
  g_test_add_func ("/preset/problems-agree", test_problems_agree);
  g_test_add_func ("/preset/program", test_program);
  return g_test_run ();
}
