/*
 * samples.h: stories made by hand, for tests of renderings.
 *
 * Each is whole: lanes, bars, arrows, segments that tile its time, a verdict,
 * and a tale with some events behind it.
 */
#pragma once

#include "talechain/render/render.h"
#include "talechain/tale/tale_struct.h"

#define SAMPLE_MAX 600 /* lanes, bars, arrows, segments, events */

#define SAMPLE_CURVES 3
#define SAMPLE_POINTS 8

struct sample {
	struct tale tale;
	struct story story;
	struct tale_entry entry[SAMPLE_MAX];
	struct story_lane lane[SAMPLE_MAX];
	struct story_bar bar[SAMPLE_MAX];
	struct story_arrow arrow[SAMPLE_MAX];
	struct story_segment segment[SAMPLE_MAX];
	unsigned event_lane[SAMPLE_MAX];
	struct story_series series[SAMPLE_CURVES];
	struct story_point point[SAMPLE_CURVES][SAMPLE_POINTS];
	struct story_thread thread[4];
	char version[32];
};

/* The names of all samples, the files in samples/, ended by NULL. */
extern const char *const sample_names[];

/* A sample by its name; abort without memory.  Free with free(). */
struct sample *sample_new(const char *name);

/* Lanes, bars and arrows by chance; the same for the same seed. */
struct sample *sample_random(unsigned seed);

/* Have every sample checked, and so many made by chance. */
void samples_each(void (*check)(const struct story *s), unsigned seeds);

/* A rendering of a story; free with free(). */
char *sample_rendered(int (*render)(const struct story *, char **, size_t *),
    const struct story *s);
