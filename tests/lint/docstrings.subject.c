/* Whether the file may be used at all. */
static int usable;
