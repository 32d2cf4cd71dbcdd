#include "proxy/analysis/blame_jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/background.h"
#include "blame/report/report.h"

#define LOW_NICE 10   /* rather late than in the way of a request */
#define RESAMPLED 200 /* as tailorctl blame */

static int
write_answer(const struct blame_view *v, enum tale_format format,
    struct analysis_answer *answer)
{
	struct json j;
	FILE *out;
	int err;

	if (format == TALE_FORMAT_HTML) {
		out = open_memstream(&answer->text, &answer->length);
		err = out == NULL ? -ENOMEM : blame_page(v, true, out);
		if (out != NULL && fclose(out) != 0)
			err = -ENOMEM;
		return err == -ENODATA ? 0 : err;
	}
	json_init(&j, false);
	err = blame_json(v, &j);
	if (err == 0)
		err = json_take(&j, &answer->text, &answer->length);
	json_fini(&j);
	return err;
}

static void
compute(struct blame_job *job)
{
	struct blame_view v = {.resamples = RESAMPLED,
	    .route = job->route[0] != '\0' ? job->route : NULL};
	struct analysis_answer *answer = &job->answer;
	char *copy = NULL;
	int err = 0;

	if (job->format == TALE_FORMAT_HTML) {
		copy = strdup(job->table);
		err = copy == NULL ? -ENOMEM : 0;
	}
	v.table = copy;
	blame_view_percentile(
	    &v, job->percentile[0] != '\0' ? job->percentile : NULL);
	if (err == 0)
		err = blame_rows_read(&v.rows, job->table, 0, 0);
	if (err == 0 && job->latencies != NULL)
		err = blame_exact_read(&v.exact, job->latencies);
	if (err == 0)
		err = write_answer(&v, job->format, answer);
	blame_rows_fini(&v.rows);
	blame_exact_fini(&v.exact);
	free(copy);
	if (err == 0) {
		answer->status = 200;
		return;
	}
	free(answer->text);
	answer->text = NULL;
}

static void *
job_main(void *user)
{
	struct blame_jobs *b = user;

	prctl(PR_SET_NAME, "blame");
	background_become();
	if (getpriority(PRIO_PROCESS, 0) < LOW_NICE)
		setpriority(PRIO_PROCESS, (id_t)gettid(), LOW_NICE);
	compute(&b->job[0]);
	atomic_store(&b->done, true);
	eventfd_write(b->wake_fd, 1);
	return NULL;
}

/* Without a thread the first is done at once, and has no text. */
static void
start(struct blame_jobs *b)
{
	atomic_store(&b->done, false);
	b->started = pthread_create(&b->thread, NULL, job_main, b) == 0;
	if (b->started)
		return;
	atomic_store(&b->done, true);
	eventfd_write(b->wake_fd, 1);
}

bool
blame_jobs_put(struct blame_jobs *b, const struct analysis_question *q,
    char *table, char *latencies)
{
	struct blame_job *job = &b->job[b->jobs];

	if (b->jobs == BLAME_JOBS)
		return false;
	*job = (struct blame_job){.table = table,
	    .latencies = latencies,
	    .format = q->format,
	    .answer = {.cookie = q->cookie, .status = 500}};
	memcpy(job->route, q->route, sizeof(job->route));
	memcpy(job->percentile, q->list.percentile, sizeof(job->percentile));
	if (++b->jobs == 1)
		start(b);
	return true;
}

bool
blame_jobs_take(struct blame_jobs *b, struct analysis_answer *out)
{
	if (b->jobs == 0 || !atomic_load(&b->done))
		return false;
	if (b->started)
		pthread_join(b->thread, NULL);
	*out = b->job[0].answer;
	free(b->job[0].table);
	free(b->job[0].latencies);
	b->jobs--;
	memmove(&b->job[0], &b->job[1], b->jobs * sizeof(b->job[0]));
	if (b->jobs > 0)
		start(b);
	return true;
}

void
blame_jobs_fini(struct blame_jobs *b)
{
	if (b->jobs > 0 && b->started)
		pthread_join(b->thread, NULL);
	for (unsigned i = 0; i < b->jobs; i++) {
		free(b->job[i].table);
		free(b->job[i].latencies);
		free(b->job[i].answer.text);
	}
	b->jobs = 0;
}
