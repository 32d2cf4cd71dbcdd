#include "proxy/analysis/blame_jobs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/array.h"
#include "base/background.h"

#define LOW_NICE 10   /* less important than requests */
#define RESAMPLED 200 /* like tailorctl blame */

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

/* Add an account to r: its causes, and its values in the columns of r. */
static int
row_add(struct blame_rows *r, const struct account_named *named)
{
	const struct account *one = &named->account;
	struct blame_row row = {.id = one->external_id,
	    .route = named->route,
	    .server = named->server,
	    .end_ns = one->end_wall_ns,
	    .total_ns = one->total_ns,
	    .weight = one->weight,
	    .in_flight = one->in_flight,
	    .attempts = one->attempts,
	    .new_connection = one->cold,
	    .kernel = one->kernel};

	for (unsigned k = 0; k < one->parts; k++)
		row.cause_ns[one->cause[k]] += one->part_ns[k];
	for (unsigned i = 0; i < r->values; i++)
		row.value[i] = (double)NAN;
	for (unsigned k = 0; k < one->counted; k++)
		row.value[r->place[one->counter[k]]] =
		    (double)one->milli[k] / 1000;
	return blame_rows_add(r, &row);
}

static int
rows_fill(struct blame_rows *r, const struct blame_job *job)
{
	int err = blame_rows_begin(r, job->counters);

	for (size_t i = 0; i < job->accounts; i++)
		blame_rows_offer(r, job->account[i].route,
		    strlen(job->account[i].route),
		    job->account[i].account.weight);
	for (size_t i = 0; err == 0 && i < job->accounts; i++)
		err = row_add(r, &job->account[i]);
	blame_rows_end(r);
	return err;
}

static void
compute(struct blame_job *job)
{
	struct blame_view v = {.resamples = RESAMPLED,
	    .route = job->route[0] != '\0' ? job->route : NULL,
	    .exact = job->exact};
	struct analysis_answer *answer = &job->answer;
	int err = job->failed ? -ENOMEM : 0;

	blame_view_percentile(
	    &v, job->percentile[0] != '\0' ? job->percentile : NULL);
	if (err == 0)
		err = rows_fill(&v.rows, job);
	if (err == 0)
		err = write_answer(&v, job->format, answer);
	blame_rows_fini(&v.rows);
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

/* Start the thread for the first job.  If that fails, the job is done at once,
 * without a text. */
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

struct blame_job *
blame_jobs_new(struct blame_jobs *b, const struct analysis_question *q)
{
	struct blame_job *job = &b->job[b->jobs];

	if (b->jobs == BLAME_JOBS)
		return NULL;
	*job = (struct blame_job){.format = q->format,
	    .answer = {.cookie = q->cookie, .status = 500}};
	memcpy(job->route, q->route, sizeof(job->route));
	memcpy(job->percentile, q->list.percentile, sizeof(job->percentile));
	return job;
}

void
blame_job_begin(void *user, uint32_t counters)
{
	struct blame_job *job = user;

	job->counters = counters;
}

void
blame_job_take(void *user, const struct account_named *one, double weight)
{
	struct blame_job *job = user;

	void *grown = array_reserve(
	    job->account, &job->room, job->accounts + 1, sizeof(*job->account));

	job->failed |= grown == NULL;
	if (grown == NULL)
		return;
	job->account = grown;
	job->account[job->accounts] = *one;
	job->account[job->accounts++].account.weight = weight;
}

void
blame_job_latency(void *user, const struct latency_block *sum)
{
	struct blame_job *job = user;
	struct blame_latency *l = blame_exact_route(&job->exact, sum->route);

	if (l == NULL)
		return;
	l->from_ns = sum->from_wall_ns;
	l->to_ns = sum->to_wall_ns;
	l->unnamed = sum->unnamed;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		histogram_add(
		    &l->latency, histogram_bucket_edge(i), sum->bucket[i]);
}

void
blame_jobs_start(struct blame_jobs *b)
{
	if (++b->jobs == 1)
		start(b);
}

static void
job_fini(struct blame_job *job)
{
	free(job->account);
	blame_exact_fini(&job->exact);
}

bool
blame_jobs_take(struct blame_jobs *b, struct analysis_answer *out)
{
	if (b->jobs == 0 || !atomic_load(&b->done))
		return false;
	if (b->started)
		pthread_join(b->thread, NULL);
	*out = b->job[0].answer;
	job_fini(&b->job[0]);
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
		free(b->job[i].answer.text);
		job_fini(&b->job[i]);
	}
	b->jobs = 0;
}
