#include "talechain/telling.h"
void
threads_find(struct telling *tl)
{
	(void)tl;
}
const struct spell *
threads_of(const struct telling *tl, uint32_t tid, size_t *count)
{
	(void)tl;
	(void)tid;
	*count = 0;
	return NULL;
}
void
threads_walk(
    struct telling *tl, const struct claim *like, int64_t from, int64_t to)
{
	(void)tl;
	(void)like;
	(void)from;
	(void)to;
}
void
cause_tcp(struct telling *tl, const struct claim *like, uint64_t cookie)
{
	(void)tl;
	(void)like;
	(void)cookie;
}
