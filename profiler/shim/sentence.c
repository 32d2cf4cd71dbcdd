#include "profiler/shim/sentence.h"

#include <stdio.h>
#include <string.h>

#define COLUMNS 79 /* of text, and its full stop */

void
sentence_print(const char *lead, const char *text)
{
	size_t column = strlen(lead), n;

	printf("%s", lead);
	for (; *text != '\0'; text += n) {
		text += strspn(text, " ");
		n = strcspn(text, " ");
		if (column + 1 + n > COLUMNS) {
			printf("\n ");
			column = 1;
		}
		column += 1 + n;
		printf(" %.*s", (int)n, text);
	}
	printf(".\n");
}
