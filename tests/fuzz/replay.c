/*
 * replay.c: main() of a fuzz target that is built without libFuzzer: tries
 * each file named, once, and prints how many there were.  A file that cannot
 * be read ends it with status 1.  What the target finds ends it by abort() or
 * a sanitizer's report, after a line that names the input.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);

/* For targets without one, as in libFuzzer. */
__attribute__((weak)) int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

static void
try(const char *path)
{
	/* Exactly as large as the input, so that ASan sees its end. */
	uint8_t *data;
	FILE *file = fopen(path, "rb");
	long size;

	if (file == NULL || fseek(file, 0, SEEK_END) != 0 ||
	    (size = ftell(file)) < 0 || fseek(file, 0, SEEK_SET) != 0) {
		perror(path);
		exit(1);
	}
	data = malloc((size_t)size);
	if (fread(data, 1, (size_t)size, file) != (size_t)size) {
		perror(path);
		exit(1);
	}
	fclose(file);
	fprintf(stderr, "input %s\n", path);
	LLVMFuzzerTestOneInput(data, (size_t)size);
	free(data);
}

int
main(int argc, char **argv)
{
	int i;

	LLVMFuzzerInitialize(&argc, &argv);
	for (i = 1; i < argc; i++)
		try(argv[i]);
	printf("tried %d inputs\n", argc - 1);
	return 0;
}
