/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dbr-token: the first wrong byte decides what is said; the bytes themselves are never shown.
 */
#include "config.h"

#include "dbr-token.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

G_DEFINE_QUARK (dbr_token_error, dbr_token_error)

static const char *
problem_of (const char *text, gsize length)
{
  if (length == 0)
    return _ ("it is empty");
  if (length > DBR_TOKEN_MAX_BYTES)
    return _ ("it is longer than any token");
  for (gsize i = 0; i < length; i++)
    {
      guchar c = (guchar) text[i];
      if (g_ascii_isalnum (c) || (c != '\0' && strchr ("-._~+/=", c) != NULL))
        continue;
      if (c == '\n')
        return _ ("it has more than one line");
      if (c == '\r')
        return _ ("it has a carriage return: a line end of another system");
      if (c == ' ' || c == '\t')
        return _ ("it has a blank");
      if (c == '\0')
        return _ ("it has a zero byte");
      return c >= 0x80 ? _ ("it has a letter outside ASCII")
                       : _ ("it has a character that no token has");
    }
  return NULL;
}

gboolean
dbr_token_check (const char *text, gsize length, const char *where, GError **error)
{
  const char *problem = problem_of (text, length);

  if (problem)
    g_set_error (error, DBR_TOKEN_ERROR, DBR_TOKEN_ERROR_NO_TOKEN, _ ("%s holds no token: %s"),
                 where, problem);
  return problem == NULL;
}

/* -1: *error says why. */
static int
open_closed_file (const char *file, GError **error)
{
  /* A pipe of that name must not hold us up, and no link lead elsewhere. */
  int fd = open (file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK);
  struct stat about;

  if (fd < 0 && errno == ELOOP)
    g_set_error (error, DBR_TOKEN_ERROR, DBR_TOKEN_ERROR_READ,
                 _ ("the token's file %s is a link: name the file itself"), file);
  else if (fd < 0 || fstat (fd, &about) != 0)
    g_set_error (error, DBR_TOKEN_ERROR, DBR_TOKEN_ERROR_READ,
                 _ ("the token's file %s can't be read: %s"), file, g_strerror (errno));
  else if (!S_ISREG (about.st_mode) || about.st_uid != geteuid ())
    g_set_error (error, DBR_TOKEN_ERROR, DBR_TOKEN_ERROR_READ,
                 _ ("the token's file %s is not a file of yours"), file);
  else if (about.st_mode & 077)
    g_set_error (
        error, DBR_TOKEN_ERROR, DBR_TOKEN_ERROR_OPEN,
        _ ("others can open the token's file %s: its mode must be 0600, and the token a new one if "
           "somebody read it"),
        file);
  else
    return fd;
  if (fd >= 0)
    close (fd);
  return -1;
}

char *
dbr_token_read (const char *file, GError **error)
{
  char text[DBR_TOKEN_MAX_BYTES + 2]; /* a line feed, and one to see that there is more */
  gsize length = 0;
  ssize_t got;
  char *token = NULL;
  int fd = open_closed_file (file, error);

  if (fd < 0)
    return NULL;
  do
    {
      got = read (fd, text + length, sizeof text - length);
      length += got > 0 ? (gsize) got : 0;
    }
  while ((got > 0 && length < sizeof text) || (got < 0 && errno == EINTR));
  if (got < 0)
    g_set_error (error, DBR_TOKEN_ERROR, DBR_TOKEN_ERROR_READ,
                 _ ("the token's file %s can't be read: %s"), file, g_strerror (errno));
  close (fd);
  if (got < 0)
    return NULL;
  if (length > 0 && text[length - 1] == '\n')
    length--;
  if (dbr_token_check (text, length, file, error))
    token = g_strndup (text, length);
  explicit_bzero (text, sizeof text);
  return token;
}
