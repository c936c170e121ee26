/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-look: one list of folders yet to be read, its head and tail; what can't be had for memory counts as cut.
 */
#include "config.h"

#include "srv-look.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct Folder
{
  struct Folder *next;
  unsigned depth;
  char path[]; /* from the first one */
} Folder;

typedef struct
{
  int top;
  Folder *head;
  Folder **tail;
  unsigned n_entries;
  int cut;
} Walk;

static void
push (Walk *self, const char *above, const char *name, unsigned depth)
{
  size_t length = strlen (above) + strlen (name) + 2;
  Folder *folder = malloc (sizeof *folder + length);
  if (folder == NULL)
    {
      self->cut = 1;
      return;
    }
  folder->next = NULL;
  folder->depth = depth;
  snprintf (folder->path, length, "%s%s%s", above, *above != '\0' ? "/" : "", name);
  *self->tail = folder;
  self->tail = &folder->next;
}

static int
is_folder (int parent, const struct dirent *entry)
{
  struct stat about;
  if (entry->d_type != DT_UNKNOWN)
    return entry->d_type == DT_DIR;
  return fstatat (parent, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0
         && S_ISDIR (about.st_mode);
}

/* Its folders are put on the list. Returns whether it is an engine's itself. */
static int
read_folder (Walk *self, const Folder *folder)
{
  struct stat about;
  int fd = openat (self->top, *folder->path != '\0' ? folder->path : ".",
                   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *dir = fd >= 0 ? fdopendir (fd) : NULL;
  const struct dirent *entry;
  if (dir == NULL)
    {
      if (fd >= 0)
        close (fd);
      return 0;
    }
  int is_engine
      = folder->depth > 0 && fstatat (fd, SRV_LOOK_TOKEN, &about, AT_SYMLINK_NOFOLLOW) == 0;
  while (!is_engine && (entry = readdir (dir)) != NULL)
    {
      if (strcmp (entry->d_name, ".") == 0 || strcmp (entry->d_name, "..") == 0)
        continue;
      if (++self->n_entries > SRV_LOOK_MAX_ENTRIES)
        {
          self->cut = 1;
          break;
        }
      if (folder->depth < SRV_LOOK_MAX_DEPTH && is_folder (fd, entry))
        push (self, folder->path, entry->d_name, folder->depth + 1);
    }
  closedir (dir);
  return is_engine;
}

SrvLook
srv_look_below (const char *folder, char *found, size_t size)
{
  Walk self = { .top = open (folder, O_PATH | O_DIRECTORY | O_CLOEXEC) };
  int is_found = 0;
  self.tail = &self.head;
  push (&self, "", "", 0);
  while (self.head != NULL)
    {
      Folder *next = self.head;
      self.head = next->next;
      if (self.head == NULL)
        self.tail = &self.head;
      if (!is_found && read_folder (&self, next))
        {
          is_found = 1;
          snprintf (found, size, "%s", next->path);
        }
      free (next);
    }
  if (self.top >= 0)
    close (self.top);
  if (is_found)
    return SRV_LOOK_FOUND;
  return self.cut ? SRV_LOOK_CUT : SRV_LOOK_NOTHING;
}
