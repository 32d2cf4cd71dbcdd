/* admin_request.c: requests to Tailor.  Its messages are printed without
 * control characters. */
#include "tailorctl/admin_request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/terminal.h"

int
admin_request(const struct ctl_options *options, const char *method,
    const char *target, struct http_response *out)
{
	const struct http_request q = {
	    .method = method, .target = target, .host = "localhost"};
	const char *why = NULL;
	int fd = find_tailor(options);
	int err;

	if (fd < 0)
		return -1;
	err = http_client_exchange(fd, &q,
	    instant_plus(instant_now(), options->timeout_ns), out, &why);
	if (err == 0)
		return 0;
	if (err == -ETIMEDOUT)
		fprintf(stderr, "tailorctl: no response within %g s\n",
		    (double)options->timeout_ns / (double)NS_PER_S);
	else if (err == -EFBIG)
		fprintf(stderr,
		    "tailorctl: the response is larger than %u MiB\n",
		    HTTP_CLIENT_RESPONSE_MAX >> 20);
	else if (err == -EPROTO)
		fprintf(stderr, "tailorctl: %s\n", why);
	else
		fprintf(stderr, "tailorctl: the request failed: %s\n",
		    strerror(-err));
	return -1;
}

/* Print Tailor's message and advice, wrapped for a terminal. */
static void
complain_of(const cJSON *tree, const char *error)
{
	static const char program[] = "tailorctl: ";
	const char *advice = field_text(tree, "advice");
	char text[1024];

	snprintf(text, sizeof(text), "%.500s%s%.400s%s", error,
	    advice != NULL ? ": " : "", advice != NULL ? advice : "",
	    field_true(tree, "forceable") ? "; use --force to do it anyway"
					  : "");
	fputs(program, stderr);
	plain_wrap(stderr, text, sizeof(program) - 1);
}

void
admin_response_complain(const struct http_response *a)
{
	cJSON *tree = cJSON_ParseWithLength(a->body, a->length);
	const char *error = field_text(tree, "error");

	if (error != NULL) {
		complain_of(tree, error);
	} else if (a->length > 0 && a->length < 400) {
		fprintf(stderr, "tailorctl: ");
		plain_write(stderr, a->body, a->length);
		if (a->body[a->length - 1] != '\n')
			fputc('\n', stderr);
	} else {
		fprintf(stderr, "tailorctl: Tailor responded with status %u\n",
		    a->status);
	}
	cJSON_Delete(tree);
}

/* Complain that the response is no JSON, and explain -a: a tailor's name comes
 * from its listener, "8080" for 127.0.0.1:8080. */
static void
complain_not_json(const struct ctl_options *options)
{
	const char *given = options->admin;
	const char *port = given != NULL ? strrchr(given, ':') : NULL;

	fprintf(stderr, "tailorctl: not Tailor's JSON: -a expects a tailor's "
			"name or admin socket");
	if (port != NULL && port[1] != '\0' && strchr(port, '/') == NULL)
		fprintf(stderr, ";\ntry -a %s", plain_cell(port + 1, 12));
	fputc('\n', stderr);
}

int
admin_request_ok(const struct ctl_options *options, const char *method,
    const char *target, struct http_response *out)
{
	if (admin_request(options, method, target, out) < 0)
		return -1;
	if (out->status == 200)
		return 0;
	admin_response_complain(out);
	http_response_fini(out);
	return -1;
}

void
admin_response_print(const struct http_response *a)
{
	plain_write(stdout, a->body, a->length);
	if (a->length == 0 || a->body[a->length - 1] != '\n')
		putchar('\n');
}

/* Request JSON; *out is released by the caller if the result is not NULL. */
static cJSON *
request_tree(const struct ctl_options *options, const char *method,
    const char *target, struct http_response *out)
{
	cJSON *tree;

	if (admin_request_ok(options, method, target, out) < 0)
		return NULL;
	tree = cJSON_ParseWithLength(out->body, out->length);
	if (tree == NULL) {
		complain_not_json(options);
		http_response_fini(out);
	}
	return tree;
}

cJSON *
admin_json(const struct ctl_options *options, const char *target)
{
	struct http_response a;
	cJSON *tree = request_tree(options, "GET", target, &a);

	if (tree != NULL)
		http_response_fini(&a);
	return tree;
}

/* True if the service behind Tailor responded, as -a names the port of
 * clients. */
static bool
is_of_clients(
    const struct ctl_options *options, const char *method, const cJSON *tree)
{
	return options->admin != NULL && strchr(options->admin, ':') != NULL &&
	       strchr(options->admin, '/') == NULL &&
	       strcmp(method, "GET") == 0 && field_text(tree, "schema") == NULL;
}

int
admin_report(const struct ctl_options *options, const char *method,
    const char *target, void (*show)(const cJSON *tree))
{
	struct http_response a;
	cJSON *tree = request_tree(options, method, target, &a);

	if (tree == NULL)
		return STATUS_NO;
	if (is_of_clients(options, method, tree)) {
		complain_not_json(options);
		cJSON_Delete(tree);
		http_response_fini(&a);
		return STATUS_NO;
	}
	if (options->json)
		admin_response_print(&a);
	else
		show(tree);
	cJSON_Delete(tree);
	http_response_fini(&a);
	return STATUS_OK;
}

char *
admin_escape(const char *text, char *out, size_t size)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t n = 0;

	for (; *text != '\0' && n + 4 <= size; text++) {
		unsigned char c = (unsigned char)*text;

		if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
		    (c >= 'A' && c <= 'Z') || c == '-' || c == '.' ||
		    c == '_' || c == '~') {
			out[n++] = (char)c;
		} else {
			out[n++] = '%';
			out[n++] = hex[c >> 4];
			out[n++] = hex[c & 15];
		}
	}
	out[n] = '\0';
	return out;
}
