#include "loadgen/analyzer.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "http/client/client.h"

#define PATH_MAX_BYTES 4096
#define TIMEOUT_NS (5 * NS_PER_S) /* for each request */
#define TRIES 20 /* while Tailor is busy or the request in flight */
#define TRY_AGAIN_NS (50 * NS_PER_MS)
#define FAILURES_MAX 3 /* then analysis is given up */

/* Read the first line of a file, which must be valid in a header. */
static bool
token_read(struct analyzer *a, const char *path)
{
	size_t n = 0;

	if (!file_read_line(a->token, sizeof(a->token), "%s", path))
		return false;
	while (a->token[n] > ' ' && a->token[n] < 0x7f)
		n++;
	return n >= 1 && n <= TOKEN_MAX && a->token[n] == '\0';
}

int
analyzer_open(struct analyzer *a, const struct load_options *o,
    struct report *r, char *why, size_t why_size)
{
	memset(a, 0, sizeof(*a));
	a->options = o;
	a->ids = &r->texts.ids;
	a->target = &r->target;
	a->findings = &r->findings;
	a->off = o->analyze == ANALYZE_OFF ||
		 o->plan.arrivals == ARRIVALS_CLOSED || o->criteria.slow == 0;
	if (slow_list_init(&a->slow, o->criteria.slow) < 0)
		return -ENOMEM;
	if (o->analyze == ANALYZE_URL) {
		int err =
		    target_open(&a->own, o->analyze_url, NULL, why, why_size);
		if (err < 0)
			return err;
		a->target = &a->own;
	}
	if (o->token_path != NULL && !token_read(a, o->token_path)) {
		snprintf(why, why_size,
		    "--token-file: %s has no readable line of 1 to %d visible "
		    "characters",
		    o->token_path, TOKEN_MAX);
		return -EINVAL;
	}
	file_read_line(
	    a->boot_id, sizeof(a->boot_id), "/proc/sys/kernel/random/boot_id");
	return 0;
}

void
analyzer_close(struct analyzer *a)
{
	target_close(&a->own);
	slow_list_fini(&a->slow);
}

void
analyzer_begin(struct analyzer *a)
{
	a->looked = 0;
	a->slow.count = 0;
}

/* True if there is a Tailor to analyze requests. */
static bool
is_there(const struct analyzer *a, const struct iteration *it)
{
	return !a->off &&
	       (a->options->analyze == ANALYZE_URL ||
		   atomic_load_explicit(&it->tailor, memory_order_relaxed));
}

/* Count a failed exchange; after FAILURES_MAX, or a 403, give up analysis. */
static void
count_failure(struct analyzer *a, int err, unsigned status)
{
	a->findings->failed++;
	if (a->findings->failed < FAILURES_MAX && status != 403)
		return;
	a->off = true;
	if (err < 0)
		snprintf(a->findings->why, sizeof(a->findings->why), "%s",
		    strerror(-err));
	else if (status == 403)
		snprintf(a->findings->why, sizeof(a->findings->why),
		    a->token[0] == '\0'
			? "its talechain.allow does not name this address, "
			  "and there is no --token-file"
			: "it refuses the token and this address");
	else
		snprintf(a->findings->why, sizeof(a->findings->why),
		    "it responds with status %u", status);
}

/* Send a request to the Tailor; the caller releases *out if it returns 0. */
static int
post(const struct analyzer *a, const char *path, const char *json,
    struct http_response *out)
{
	const struct target *t = a->target;
	const struct http_request q = {.method = "POST",
	    .target = path,
	    .host = t->server.authority,
	    .json = json,
	    .token = a->token};
	struct instant deadline = instant_plus(instant_now(), TIMEOUT_NS);
	const char *why;
	int fd = http_client_connect(
	    (const struct sockaddr *)&t->address, t->address_length, deadline);

	*out = (struct http_response){0};
	return fd < 0 ? fd : http_client_exchange(fd, &q, deadline, out, &why);
}

/* The same, repeated while the Tailor is not ready.  True if the response is
 * good; then the caller releases it. */
static bool
post_patiently(struct analyzer *a, const char *path, const char *json,
    struct http_response *out)
{
	const struct timespec nap = {.tv_nsec = TRY_AGAIN_NS};
	unsigned status = 0;
	int err = 0;

	for (int i = 0; i < TRIES; i++) {
		err = post(a, path, json, out);
		status = out->status;
		if (err < 0 || (status != 409 && status != 429))
			break;
		http_response_fini(out);
		nanosleep(&nap, NULL);
	}
	if (err == 0 && status == 200)
		return true;
	if (err == 0 && (status == 404 || status == 410))
		a->findings->missing++;
	else
		count_failure(a, err, status);
	http_response_fini(out);
	return false;
}

static void
pin_one(struct analyzer *a, const struct request_name *name)
{
	char id[REQUEST_ID_MAX], path[REQUEST_ID_MAX + 32];
	struct http_response response;

	(void)request_id_format(a->ids, name, id);
	snprintf(path, sizeof(path), "/.talechain/pin?id=%s", id);
	/* If pinning fails, analyze_one() finds the tale missing. */
	int err = post(a, path, NULL, &response);
	if (err == 0 && response.status == 200)
		a->findings->pinned++;
	else if (err < 0 || response.status == 403)
		count_failure(a, err, response.status);
	http_response_fini(&response);
}

void
analyzer_pin(struct analyzer *a, const struct iteration *it)
{
	const struct progress *p = &it->progress;
	size_t n = atomic_load_explicit(&p->ok, memory_order_acquire);

	if (!is_there(a, it))
		return;
	/* Collect first, then pin those still slow, as pinning takes time. */
	for (; a->looked < n; a->looked++) {
		const struct slow candidate = {.iteration = it->index,
		    .number = p->number[a->looked],
		    .latency_ns = p->latency_ns[a->looked],
		    .unpinned = true};
		(void)slow_list_offer(&a->slow, &candidate);
	}
	for (size_t i = 0; i < a->slow.count && !a->off; i++) {
		struct slow *slow = &a->slow.slowest[i];
		const struct request_name name = {
		    .iteration = slow->iteration, .number = slow->number};
		if (slow->unpinned)
			pin_one(a, &name);
		slow->unpinned = false;
	}
}

static void
put_stamp(struct json *j, const char *key, struct instant at)
{
	char text[24];

	/* As text, because some JSON readers round numbers beyond 2^53. */
	if (!instant_is_set(at))
		return;
	snprintf(text, sizeof(text), "%" PRIu64, at.ns);
	json_key_string(j, key, text);
}

/* The body of an analyze request; the caller frees it.  NULL: no memory. */
static char *
make_body(
    const struct analyzer *a, const char *id, const struct request_sample *s)
{
	struct json j;
	char *text;
	size_t length;

	json_init(&j, false);
	json_object_begin(&j);
	json_key_string(&j, "schema", "tailor.analyze/1");
	json_key_string(&j, "id", id);
	json_key_object(&j, "client");
	put_stamp(&j, "sched_ns", s->scheduled);
	put_stamp(&j, "send_ns", s->send_begin);
	put_stamp(&j, "ktx_ns", s->kernel_sent);
	put_stamp(&j, "kack_ns", s->kernel_acked);
	put_stamp(&j, "krx_ns", s->kernel_first);
	put_stamp(&j, "last_ns", s->last);
	json_key_string(&j, "clock", "monotonic");
	json_key_string(&j, "boot_id", a->boot_id);
	json_object_end(&j);
	json_object_end(&j);
	return json_take(&j, &text, &length) < 0 ? NULL : text;
}

static void
copy_string(const cJSON *object, const char *key, char *out, size_t size)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);

	if (cJSON_IsString(value))
		snprintf(out, size, "%s", value->valuestring);
}

/* Read the verdict in a timeline; false if there is none. */
static bool
read_verdict(const struct http_response *response, struct finding *out)
{
	cJSON *j = cJSON_ParseWithLength(response->body, response->length);
	const cJSON *verdict = cJSON_GetObjectItemCaseSensitive(j, "verdict");
	const cJSON *share = cJSON_GetObjectItemCaseSensitive(verdict, "share");

	out->share_ns = -1;
	copy_string(verdict, "code", out->code, sizeof(out->code));
	copy_string(verdict, "text", out->text, sizeof(out->text));
	if (cJSON_IsNumber(share) && share->valuedouble >= 0 &&
	    share->valuedouble < 9e15)
		out->share_ns = (int64_t)share->valuedouble;
	cJSON_Delete(j);
	return out->code[0] != '\0';
}

/* Save a timeline where the report links to: DIR/slow/01-0412.html, the id
 * without its part for the run. */
static bool
save(struct analyzer *a, const char *id, const char *ending,
    const struct http_response *response)
{
	char path[PATH_MAX_BYTES];
	int n = snprintf(path, sizeof(path), "%s/slow/%s.%s",
	    a->options->output.out_dir, id + 9, ending);

	if (n > 0 && (size_t)n < sizeof(path) &&
	    file_write(path, response->body, response->length) == 0)
		return true;
	a->findings->failed++;
	return false;
}

/* Send the same analyze request for a page, and save it. */
static void
fetch_page(
    struct analyzer *a, const char *id, const char *body, struct finding *f)
{
	struct http_response response;

	if (!post_patiently(
		a, "/.talechain/analyze?format=html", body, &response))
		return;
	if (save(a, id, "html", &response))
		snprintf(f->page, sizeof(f->page), "slow/%s.html", id + 9);
	http_response_fini(&response);
}

static int
analyze_one(
    struct analyzer *a, const struct iteration *it, const struct slow *slow)
{
	const struct request_name name = {
	    .iteration = slow->iteration, .number = slow->number};
	const struct request_sample *sample =
	    &iteration_measured(it)[slow->number - 1];
	struct finding f = {.iteration = name.iteration, .number = name.number};
	char id[REQUEST_ID_MAX];
	struct http_response response;
	char *body;
	int err = 0;

	(void)request_id_format(a->ids, &name, id);
	body = make_body(a, id, sample);
	if (body == NULL)
		return -ENOMEM;
	if (!post_patiently(
		a, "/.talechain/analyze?format=json", body, &response))
		goto done;
	if (read_verdict(&response, &f)) {
		if (a->options->output.out_dir != NULL) {
			(void)save(a, id, "json", &response);
			fetch_page(a, id, body, &f);
		}
		err = findings_add(a->findings, &f);
	} else {
		count_failure(a, -EPROTO, 0);
	}
	http_response_fini(&response);
done:
	free(body);
	return err;
}

int
analyzer_explain(struct analyzer *a, const struct iteration *it,
    const struct slow_list *slow)
{
	char path[PATH_MAX_BYTES];
	int err = 0;

	if (!is_there(a, it) || slow->count == 0)
		return 0;
	if (a->options->output.out_dir != NULL) {
		snprintf(
		    path, sizeof(path), "%s/slow", a->options->output.out_dir);
		/* If it cannot be made, saving will fail and be counted. */
		mkdir(path, 0777);
	}
	for (size_t i = 0; i < slow->count && err == 0 && !a->off; i++)
		err = analyze_one(a, it, &slow->slowest[i]);
	return err;
}
