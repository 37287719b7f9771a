/* Users and table rows for the programs about permissions. */
#ifndef USERS_H
#define USERS_H
#include "check.h"

enum { OWNER = 1111, CREATOR = 2222, STRANGER = 3333, GROUP = 4444, OTHER_GROUP = 5555, EXTRA_GROUP = 6666 };

/* With or without the extra group. */
static void become(uid_t uid, gid_t gid, int extra)
{
    gid_t groups[1] = { EXTRA_GROUP };
    MUST(setgroups(extra ? 1 : 0, groups));
    MUST(setegid(gid));
    MUST(seteuid(uid));
}

/* One row of a table: `who` and `row` are the function's. */
#define TRY(what, call)                                  \
    do {                                                 \
        snprintf(row, sizeof row, "%s: %s", who, what);  \
        ROW(row, call);                                  \
    } while (0)

/* Whether a test of permissions can be made here: by root, in a namespace without objects of other programs. */
static int can_try(void)
{
    if (geteuid() == 0 && alone())
        return 1;
    line("permissions", "skipped, not root");
    return 0;
}

#endif
