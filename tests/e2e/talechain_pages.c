/*
 * talechain_pages: write every rendering of every sample story.
 *
 *	talechain_pages FOLDER	makes NAME.svg, NAME.html, NAME.trace.json
 *
 * For the tests that look at renderings with programs that are not ours.
 */
#include <stdio.h>
#include <stdlib.h>

#include "talechain/render/render.h"
#include "tests/unit/talechain/samples.h"

static const struct {
	const char *suffix;
	int (*render)(const struct story *, char **, size_t *);
} renderings[] = {
    {"svg", story_render_svg},
    {"html", story_render_html},
    {"trace.json", story_render_chrome},
};

static void
sample_write(const char *folder, const char *name, const struct story *s)
{
	char path[4096], *text;
	size_t i, length;
	FILE *f;

	for (i = 0; i < sizeof(renderings) / sizeof(renderings[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s.%s", folder, name,
		    renderings[i].suffix);
		f = fopen(path, "w");
		if (f == NULL || renderings[i].render(s, &text, &length) < 0 ||
		    fwrite(text, 1, length, f) != length || fclose(f) != 0) {
			perror(path);
			exit(1);
		}
		free(text);
	}
}

int
main(int argc, char **argv)
{
	struct sample *s;
	char name[32];
	unsigned i;

	if (argc != 2) {
		fprintf(stderr, "usage: talechain_pages FOLDER\n");
		return 2;
	}
	for (i = 0; sample_names[i] != NULL; i++) {
		s = sample_new(sample_names[i]);
		sample_write(argv[1], sample_names[i], &s->story);
		free(s);
	}
	for (i = 0; i < 120; i++) {
		s = sample_random(i);
		snprintf(name, sizeof(name), "random-%u", i);
		sample_write(argv[1], name, &s->story);
		free(s);
	}
	return 0;
}
