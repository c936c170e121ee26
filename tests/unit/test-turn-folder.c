/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private folders of turns: made, deleted whatever is in them, cleaned up after a run that was killed. And what
 * confinement makes of a command.
 */
#include "config.h"

#include "srv-confine.h"
#include "srv-turn-folder.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char *
make_base (void)
{
  g_autoptr (GError) error = NULL;
  char *base = g_dir_make_tmp ("turn-folder-XXXXXX", &error);
  g_assert_no_error (error);
  return base;
}

static void
write_file (const char *folder, const char *name, const char *text)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

static void
test_prepare (void)
{
  g_autofree char *base = make_base ();
  g_autofree char *inner = g_build_filename (base, "a", "turns", NULL);
  g_autofree char *link = g_build_filename (base, "link", NULL);
  g_autoptr (GError) error = NULL;
  g_assert_true (srv_turn_folder_prepare (inner, &error));
  g_assert_true (srv_turn_folder_prepare (inner, &error));
  g_assert_cmpint (symlink (inner, link), ==, 0);
  g_assert_false (srv_turn_folder_prepare (link, &error));
  g_assert_error (error, G_FILE_ERROR, G_FILE_ERROR_PERM);
  g_clear_error (&error);
  g_assert_cmpint (g_chmod (inner, 0750), ==, 0);
  g_assert_false (srv_turn_folder_prepare (inner, &error));
  g_assert_nonnull (strstr (error->message, "make it ours with mode 0700"));
  g_clear_error (&error);
  g_assert_false (srv_turn_folder_prepare ("/proc/nothing", &error));
  g_assert_nonnull (error);
  g_assert_true (srv_turn_folder_remove (base));
}

static void
test_remove (void)
{
  g_autofree char *base = make_base ();
  g_autofree char *folder = srv_turn_folder_new (base, NULL);
  g_autofree char *outside = g_build_filename (base, "outside", NULL);
  g_autofree char *deep = g_build_filename (folder, "x", "y", "z", NULL);
  g_autofree char *closed = g_build_filename (folder, "x", NULL);
  g_autofree char *link = g_build_filename (folder, "link", NULL);
  struct stat about;
  g_assert_cmpint (g_stat (folder, &about), ==, 0);
  g_assert_cmpint (about.st_mode & 07777, ==, 0700);
  g_assert_cmpint (g_mkdir_with_parents (deep, 0700), ==, 0);
  g_assert_cmpint (g_mkdir_with_parents (outside, 0700), ==, 0);
  write_file (outside, "precious", "stays");
  write_file (deep, "file", "goes");
  g_assert_cmpint (symlink (outside, link), ==, 0);
  g_assert_true (srv_turn_folder_record (folder, getpid (), NULL));
  g_assert_cmpint (g_chmod (closed, 0), ==, 0);
  g_assert_true (srv_turn_folder_remove (folder));
  g_assert_false (g_file_test (folder, G_FILE_TEST_EXISTS));
  g_autofree char *precious = g_build_filename (outside, "precious", NULL);
  g_assert_true (g_file_test (precious, G_FILE_TEST_EXISTS));
  g_assert_true (srv_turn_folder_remove (folder)); /* gone already: nothing is left */
  g_assert_true (srv_turn_folder_remove (base));
}

/* A process of the record is ended; one that got its number since, or a record of nonsense, is left alone. */
static void
test_clean (void)
{
  g_autofree char *base = make_base ();
  g_autofree char *mine = srv_turn_folder_new (base, NULL);
  g_autofree char *other = srv_turn_folder_new (base, NULL);
  g_autofree char *other_record = g_strconcat (other, ".pid", NULL);
  pid_t children[2];
  for (gsize i = 0; i < 2; i++)
    {
      children[i] = fork ();
      if (children[i] == 0)
        for (;;)
          pause ();
    }
  g_assert_true (srv_turn_folder_record (mine, children[0], NULL));
  g_autofree char *wrong = g_strdup_printf ("%d 1\n", (int) children[1]);
  g_assert_true (g_file_set_contents (other_record, wrong, -1, NULL));
  write_file (base, "junk.pid", "-1 x");
  write_file (base, "more.pid", "1 1");
  g_assert_cmpuint (srv_turn_folder_clean (base, 5000), ==, 2);
  int status;
  g_assert_cmpint (waitpid (children[0], &status, 0), ==, children[0]);
  g_assert_true (WIFSIGNALED (status));
  g_assert_cmpint (waitpid (children[1], &status, WNOHANG), ==, 0);
  kill (children[1], SIGKILL);
  waitpid (children[1], &status, 0);
  g_assert_cmpuint (srv_turn_folder_clean (base, 5000), ==, 0);
  g_assert_cmpint (g_rmdir (base), ==, 0);
  g_assert_cmpuint (srv_turn_folder_clean ("/nonexistent", 0), ==, 0);
}

/* The place of a word, -1: it is not there. */
static int
find (char **words, const char *word)
{
  for (int i = 0; words[i] != NULL; i++)
    if (strcmp (words[i], word) == 0)
      return i;
  return -1;
}

static void
test_confine (void)
{
  g_autofree char *base = make_base ();
  g_autofree char *real = srv_checkout_resolve (base);
  g_autoptr (GError) error = NULL;
  g_autoptr (SrvCheckout) checkout = srv_checkout_open ("/usr", NULL, &error);
  g_assert_no_error (error);
  const char *const command[] = { "/bin/echo", "a word", NULL };
  const char *const states[] = { real, NULL };
  const SrvConfineView view = { .checkout = checkout, .socket = "/run/e.sock" };
  g_autoptr (SrvConfine) free_one = srv_confine_new_unconfined ("/keeper");
  g_auto (GStrv) plain = srv_confine_wrap (free_one, &view, command);
  g_autofree char *inode = g_strdup_printf ("--inode=%" G_GUINT64_FORMAT, checkout->inode);
  g_assert_false (srv_confine_is_real (free_one));
  g_assert_null (srv_confine_gap (free_one));
  g_assert_cmpstr (plain[0], ==, "/keeper");
  g_assert_cmpstr (plain[1], ==, "exec");
  g_assert_cmpint (find (plain, inode), >, 1);
  g_assert_cmpint (find (plain, "--scope"), ==, -1);
  g_assert_cmpstr (plain[find (plain, "--") + 2], ==, "a word");
  g_autoptr (SrvConfine) confine = srv_confine_new ("/keeper", states, &error);
  if (confine == NULL)
    {
      g_assert_true (g_error_matches (error, SRV_CONFINE_ERROR, SRV_CONFINE_ERROR_MISSING)
                     || g_error_matches (error, SRV_CONFINE_ERROR, SRV_CONFINE_ERROR_BROKEN));
      g_assert_nonnull (strstr (error->message, "--unconfined"));
      g_rmdir (base);
      g_test_skip ("bubblewrap doesn't work here");
      return;
    }
  g_auto (GStrv) words = srv_confine_wrap (confine, &view, command);
  int end = find (words, "--");
  g_assert_cmpint (end, >, 0);
  g_assert_cmpstr (words[end + 1], ==, "/keeper");
  g_assert_cmpint (find (words, "--unshare-pid"), <, end);
  g_assert_cmpstr (words[find (words, "--cap-drop") + 1], ==, "ALL");
  g_assert_cmpint (find (words, "/run/e.sock"), >, find (words, "/run"));
  g_assert_cmpint (find (words, "--scope") > 0, ==, srv_confine_gap (confine) == NULL);
  int at = find (words, real);
  g_assert_cmpint (at, >, find (words, "/usr"));
  g_assert_cmpstr (words[at - 1], ==, "--tmpfs");
  g_rmdir (base);
}

static void
test_missing (void)
{
  g_autofree char *before = g_strdup (g_getenv ("PATH"));
  g_autoptr (GError) error = NULL;
  g_setenv ("PATH", "/nonexistent", TRUE);
  g_autoptr (SrvConfine) confine = srv_confine_new ("/keeper", NULL, &error);
  g_setenv ("PATH", before != NULL ? before : "/usr/bin:/bin", TRUE);
  g_assert_null (confine);
  g_assert_error (error, SRV_CONFINE_ERROR, SRV_CONFINE_ERROR_MISSING);
  g_assert_nonnull (strstr (error->message, "bwrap is not installed"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/turn-folder/prepare", test_prepare);
  g_test_add_func ("/turn-folder/remove", test_remove);
  g_test_add_func ("/turn-folder/clean", test_clean);
  g_test_add_func ("/confine/wrap", test_confine);
  g_test_add_func ("/confine/missing", test_missing);
  return g_test_run ();
}
