#include "loadgen/send/sender.h"

#include <errno.h>
#include <sys/epoll.h>

/* Record a request's outcome; does nothing to its connection. */
static void
conclude(struct sender *s, size_t request, enum outcome outcome)
{
	struct iteration *it = s->it;
	struct progress *p = &it->progress;
	struct request_sample *sample = &it->samples[request];

	sample->outcome = (uint8_t)outcome;
	s->finished++;
	if (request < it->warmup)
		return;
	if (outcome == OUTCOME_OK) {
		size_t n = atomic_load_explicit(&p->ok, memory_order_relaxed);
		p->latency_ns[n] = sample_latency_ns(sample);
		p->number[n] = (uint32_t)(request - it->warmup + 1);
		atomic_store_explicit(&p->ok, n + 1, memory_order_release);
	}
	atomic_fetch_add_explicit(&p->finished, 1, memory_order_relaxed);
}

void
receiver_fail(struct sender *s, struct load_connection *c, size_t request,
    enum outcome outcome)
{
	struct request_sample *sample = &s->it->samples[request];

	sample->last = instant_now();
	if (c != NULL) {
		sample->status = c->response.status;
		sample->body_bytes = c->response.body_bytes;
		connection_close(&s->pool, c);
	}
	conclude(s, request, outcome);
}

/* Fail the request of a connection: a system call for it returned error. */
static void
fail_by(struct sender *s, struct load_connection *c, int error)
{
	s->it->samples[c->request].error = (uint16_t)error;
	receiver_fail(
	    s, c, c->request, c->connecting ? OUTCOME_CONNECT : OUTCOME_RESET);
}

static struct request_name
name_of(const struct iteration *it, size_t request)
{
	struct request_name name = {
	    .iteration = it->index, .warmup = request < it->warmup};

	if (!name.warmup)
		request -= it->warmup;
	name.number = (uint32_t)(request + 1);
	return name;
}

void
receiver_write(struct sender *s, struct load_connection *c)
{
	struct request_sample *sample = &s->it->samples[c->request];
	const struct request_name name = name_of(s->it, c->request);
	const struct request_text *text = request_fill(s->texts, &name);

	if (c->stamps == STAMPS_LATER && c->sent_bytes == 0)
		c->stamps = stamps_enable(c->fd, true);
	while (c->written < text->length) {
		ssize_t n = send(c->fd, text->bytes + c->written,
		    text->length - c->written, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			connection_want_write(&s->pool, c, true);
			return;
		}
		if (n < 0) {
			fail_by(s, c, errno);
			return;
		}
		c->connecting = false;
		c->written += (size_t)n;
		c->sent_bytes += (uint32_t)n;
	}
	sample->send_end = instant_now();
	connection_want_write(&s->pool, c, false);
}

/* Take the kernel's stamps of a connection's present request.  Stamps of
 * earlier requests may still come, as an acknowledgement may be later than the
 * response; the number of the last byte identifies the request. */
static void
take_stamps(struct sender *s, struct load_connection *c)
{
	struct request_sample *sample = &s->it->samples[c->request];
	struct stamp stamp;

	while (c->stamps != STAMPS_OFF &&
	       stamps_read_sent(c->fd, s->clock_offset_ns, &stamp)) {
		if (c->state != CONNECTION_BUSY ||
		    stamp.last_byte != c->sent_bytes - 1)
			continue;
		if (stamp.acked)
			sample->kernel_acked = stamp.at;
		else
			sample->kernel_sent = stamp.at;
	}
}

static void
complete(struct sender *s, struct load_connection *c)
{
	const struct load_response *r = &c->response;
	size_t request = c->request;
	struct request_sample *sample = &s->it->samples[request];

	sample->status = r->status;
	sample->body_bytes = r->body_bytes;
	sample->server_ns = r->timing.duration_ns;
	sample->tailor = r->timing.tailor;
	if (sample->tailor)
		atomic_store_explicit(
		    &s->it->tailor, true, memory_order_relaxed);
	take_stamps(s, c);
	/* After a response to an incomplete request, close the connection. */
	if (r->keep_alive && instant_is_set(sample->send_end))
		connection_release(&s->pool, c);
	else
		connection_close(&s->pool, c);
	conclude(s, request,
	    s->plan->expected_status[r->status] ? OUTCOME_OK : OUTCOME_STATUS);
}

/* Handle n bytes read from a busy connection; 0: the server closed. */
static void
read_response(struct sender *s, struct load_connection *c, size_t n)
{
	struct request_sample *sample = &s->it->samples[c->request];
	struct load_response *r = &c->response;
	size_t used = 0;

	sample->last = instant_now();
	if (n > 0 && !instant_is_set(sample->first))
		sample->first = sample->last;
	if (n > 0) {
		used = response_feed(r, s->buffer, n);
	} else {
		/* When the end arrived is not known, and that of the last byte
		 * says nothing: the server may have closed much later. */
		sample->kernel_read = INSTANT_NONE;
		response_end(r);
	}
	if (r->state == RESPONSE_MALFORMED ||
	    (r->state == RESPONSE_COMPLETE && used < n))
		receiver_fail(s, c, c->request, OUTCOME_MALFORMED);
	else if (r->state == RESPONSE_COMPLETE)
		complete(s, c);
	else if (n == 0)
		receiver_fail(s, c, c->request, OUTCOME_SHORT);
}

static void
on_readable(struct sender *s, struct load_connection *c)
{
	struct instant arrived;
	ssize_t n = stamps_receive(c->fd, s->buffer, RECEIVER_BUFFER_BYTES,
	    s->clock_offset_ns, &arrived);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (c->state == CONNECTION_IDLE) {
		/* The server may close an idle connection, not send bytes. */
		if (n > 0)
			s->it->unsolicited++;
		connection_close(&s->pool, c);
		return;
	}
	if (n < 0) {
		fail_by(s, c, errno);
		return;
	}
	if (n > 0) {
		struct request_sample *sample = &s->it->samples[c->request];
		sample->kernel_read = arrived;
		if (c->stamps != STAMPS_OFF && !instant_is_set(sample->first))
			sample->kernel_first = arrived;
	}
	read_response(s, c, (size_t)n);
}

void
receiver_event(struct sender *s, struct load_connection *c, uint32_t events)
{
	/* An earlier event of this batch may have closed the connection. */
	if (c->state == CONNECTION_CLOSED)
		return;
	if ((events & EPOLLOUT) != 0 && c->wants_write)
		receiver_write(s, c);
	/* EPOLLERR means stamps or an error: reading shows which. */
	if ((events & EPOLLERR) != 0)
		take_stamps(s, c);
	if (c->state != CONNECTION_CLOSED &&
	    (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
		on_readable(s, c);
}
