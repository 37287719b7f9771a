/* A plugin: its functions call libc as the linker has bound it, which may be past the hooks. */
#include "rwlock_with_plugin.h"

const struct side *plugin_side(void)
{
    return &this_side;
}
