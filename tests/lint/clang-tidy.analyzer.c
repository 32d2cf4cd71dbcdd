/* Memory that nobody frees on one of two ways out. */
#include <stdlib.h>

int f(int n);

int
f(int n)
{
	char *p = malloc(16);

	if (p == NULL || n > 3)
		return -1;
	p[0] = 1;
	free(p);
	return 0;
}
