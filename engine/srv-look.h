/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srv-look: is there an engine's folder, one with an admin's token, below a folder?
 *
 * Needs libc only: the step before a command (srv-keep.h) looks once more, at what that command will see. One level after the
 * other, so that a bound leaves out the deepest; no link is followed, and a folder that we can't read holds nothing for us.
 */
#pragma once

#include <stddef.h>

#define SRV_LOOK_MAX_DEPTH 6       /* folders below the first */
#define SRV_LOOK_MAX_ENTRIES 50000 /* names looked at, the upper ones first */
#define SRV_LOOK_TOKEN "admin.token"

typedef enum
{
  SRV_LOOK_NOTHING, /* down to the depth */
  SRV_LOOK_FOUND,
  SRV_LOOK_CUT, /* nothing in the names looked at; there are more */
} SrvLook;

/**
 * srv_look_below:
 * @folder: path; itself not looked for a token
 * @found: (out): with SRV_LOOK_FOUND the path of it from @folder, cut to @size
 * @size: of @found
 */
SrvLook
srv_look_below (const char *folder, char *found, size_t size);
