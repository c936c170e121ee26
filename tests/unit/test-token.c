/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is taken for a token and what isn't; and that no refusal shows what was read.
 */
#include "config.h"

#include "dbr-token.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GOOD "abcDEF123-._~+/="

typedef struct
{
  const char *bytes;
  gssize length; /* -1: up to its end */
  const char *says;
} Case;

static const Case bad[] = {
  { "", -1, "it is empty" },
  { "\n", -1, "it is empty" },
  { "secret1\nsecret2", -1, "it has more than one line" },
  { "secret1\n\n", -1, "it has more than one line" },
  { "secret1 \n", -1, "it has a blank" },
  { " secret1", -1, "it has a blank" },
  { "secret1\t", -1, "it has a blank" },
  { "secret1\r\n", -1, "it has a carriage return" },
  { "secret1\xc3\xa9", -1, "it has a letter outside ASCII" },
  { "secret1\0secret2", 15, "it has a zero byte" },
  { "secret1\x01", -1, "it has a character that no token has" },
  { "secret1\"", -1, "it has a character that no token has" },
};

typedef struct
{
  char *folder;
  char *file;
} Place;

static void
set_up (Place *self, gconstpointer data G_GNUC_UNUSED)
{
  self->folder = g_dir_make_tmp ("dbr-token-XXXXXX", NULL);
  self->file = g_build_filename (self->folder, "token", NULL);
}

static void
tear_down (Place *self, gconstpointer data G_GNUC_UNUSED)
{
  g_unlink (self->file);
  g_rmdir (self->folder);
  g_free (self->file);
  g_free (self->folder);
}

static char *
read_back (Place *self, const char *bytes, gssize length, int mode, GError **error)
{
  g_autoptr (GError) problem = NULL;

  g_file_set_contents (self->file, bytes, length, &problem);
  g_assert_no_error (problem);
  g_assert_cmpint (g_chmod (self->file, mode), ==, 0);
  return dbr_token_read (self->file, error);
}

static void
assert_refused (const char *token, GError *error, int code, const char *where, const char *says)
{
  g_assert_null (token);
  g_assert_error (error, DBR_TOKEN_ERROR, code);
  g_assert_nonnull (strstr (error->message, where));
  if (strstr (error->message, says) == NULL)
    g_error ("\"%s\" is not in \"%s\"", says, error->message);
  g_assert_null (strstr (error->message, "secret"));
  g_error_free (error);
}

static void
test_read (Place *self, gconstpointer data G_GNUC_UNUSED)
{
  static const char *const good[] = { GOOD, GOOD "\n" };

  for (guint i = 0; i < G_N_ELEMENTS (good); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *token = read_back (self, good[i], -1, i ? 0600 : 0400, &error);
      g_assert_no_error (error);
      g_assert_cmpstr (token, ==, GOOD);
    }
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      GError *error = NULL;
      g_autofree char *token = read_back (self, bad[i].bytes, bad[i].length, 0600, &error);
      assert_refused (token, error, DBR_TOKEN_ERROR_NO_TOKEN, self->file, bad[i].says);
    }
}

static void
test_length (Place *self, gconstpointer data G_GNUC_UNUSED)
{
  for (gsize length = DBR_TOKEN_MAX_BYTES - 1; length < DBR_TOKEN_MAX_BYTES + 4; length++)
    {
      GError *error = NULL;
      g_autofree char *long_one = g_strnfill (length, 'x');
      g_autofree char *token = read_back (self, long_one, -1, 0600, &error);
      if (length <= DBR_TOKEN_MAX_BYTES)
        g_assert_cmpstr (token, ==, long_one);
      else
        assert_refused (token, error, DBR_TOKEN_ERROR_NO_TOKEN, self->file,
                        "it is longer than any token");
    }
}

static void
test_file (Place *self, gconstpointer data G_GNUC_UNUSED)
{
  static const int modes[] = { 0640, 0604, 0620, 0601 };
  GError *error = NULL;
  char *token = dbr_token_read (self->file, &error);

  assert_refused (token, error, DBR_TOKEN_ERROR_READ, self->file, "No such file");
  for (guint i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      error = NULL;
      token = read_back (self, "secret1", -1, modes[i], &error);
      assert_refused (token, error, DBR_TOKEN_ERROR_OPEN, self->file, "its mode must be 0600");
    }
  error = NULL;
  token = dbr_token_read (self->folder, &error);
  assert_refused (token, error, DBR_TOKEN_ERROR_READ, self->folder, "is not a file of yours");
  g_autofree char *real = g_build_filename (self->folder, "real", NULL);
  g_assert_cmpint (g_rename (self->file, real), ==, 0);
  g_assert_cmpint (symlink (real, self->file), ==, 0);
  error = NULL;
  token = dbr_token_read (self->file, &error);
  assert_refused (token, error, DBR_TOKEN_ERROR_READ, self->file, "is a link");
  g_unlink (real);
  g_unlink (self->file);
  g_assert_cmpint (mkfifo (self->file, 0600), ==, 0);
  error = NULL;
  token = dbr_token_read (self->file, &error);
  assert_refused (token, error, DBR_TOKEN_ERROR_READ, self->file, "is not a file of yours");
}

static void
test_check (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (dbr_token_check (GOOD, strlen (GOOD), "BRIGADA_TOKEN", &error));
  g_assert_no_error (error);
  g_assert_false (dbr_token_check ("secret1\n", 8, "BRIGADA_TOKEN", &error));
  assert_refused (NULL, g_steal_pointer (&error), DBR_TOKEN_ERROR_NO_TOKEN, "BRIGADA_TOKEN",
                  "BRIGADA_TOKEN holds no token: it has more than one line");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/token/read", Place, NULL, set_up, test_read, tear_down);
  g_test_add ("/token/length", Place, NULL, set_up, test_length, tear_down);
  g_test_add ("/token/file", Place, NULL, set_up, test_file, tear_down);
  g_test_add_func ("/token/check", test_check);
  return g_test_run ();
}
