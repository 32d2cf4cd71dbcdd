/* A write beyond an array. */
int f(void);

int
f(void)
{
	int a[4];

	a[4] = 1;
	return a[4];
}
