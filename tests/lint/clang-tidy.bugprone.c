/* A size that is the pointer's, not the array's. */
#include <stdlib.h>

int *f(void);

int *
f(void)
{
	return malloc(sizeof(int *) / sizeof(int **) * 4);
}
