/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For ThreadSanitizer: what GLib's locks promise. To be preloaded.
 *
 * GLib isn't built with the sanitizer, and its mutexes are futexes of its own: without this every access under one
 * would look like a race. With it no suppression is needed; what GLib, SQLite and jansson do themselves stays unseen.
 */
#include "config.h"

#include <dlfcn.h>
#include <glib.h>

void
__tsan_acquire (void *address);
void
__tsan_release (void *address);

#define REAL(type, name) ((type) find (#name))

static gpointer
find (const char *name)
{
  gpointer found = dlsym (RTLD_NEXT, name);
  if (!found)
    __builtin_trap ();
  return found;
}

typedef void (*OnMutex) (GMutex *);
typedef gboolean (*TryMutex) (GMutex *);
typedef void (*OnBoth) (GCond *, GMutex *);
typedef gboolean (*OnBothUntil) (GCond *, GMutex *, gint64);

void
g_mutex_lock (GMutex *mutex)
{
  REAL (OnMutex, g_mutex_lock) (mutex);
  __tsan_acquire (mutex);
}

gboolean
g_mutex_trylock (GMutex *mutex)
{
  gboolean is_ours = REAL (TryMutex, g_mutex_trylock) (mutex);
  if (is_ours)
    __tsan_acquire (mutex);
  return is_ours;
}

void
g_mutex_unlock (GMutex *mutex)
{
  __tsan_release (mutex);
  REAL (OnMutex, g_mutex_unlock) (mutex);
}

void
g_cond_wait (GCond *cond, GMutex *mutex)
{
  __tsan_release (mutex);
  REAL (OnBoth, g_cond_wait) (cond, mutex);
  __tsan_acquire (mutex);
}

gboolean
g_cond_wait_until (GCond *cond, GMutex *mutex, gint64 end)
{
  __tsan_release (mutex);
  gboolean was_signalled = REAL (OnBothUntil, g_cond_wait_until) (cond, mutex, end);
  __tsan_acquire (mutex);
  return was_signalled;
}
