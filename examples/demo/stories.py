"""The slowest request of a set-up: its cause in a sentence, then a few lines.

Behind Tailor the cause is that of the request's timeline.  Directly there is
no timeline: what is known is when the JVM collected, by its own log, and when
it was killed and had started again.  A cause that neither shows is not named.
"""

LINES = 10
# How long after its end a JVM that has started again is called cold.  Only as
# likely, and only where nothing else was seen than that it worked.
COLD_NS = 15_000_000_000
COLD = ("work", "low_ipc", "backend_queue", "class_loading", "unknown")
NS_PER_MS = 1e6
CAUSES = {"gc": "a garbage collection",
          "safepoint": "a safepoint: all threads of the JVM were stopped",
          "class_loading": "class loading and JIT"}


def _at(ns, text):
    return f"{ns / NS_PER_MS:+9.2f} ms  {text}"


def _sentences(text):
    """Split where a sentence ends and the next begins."""
    return [part if part.endswith(".") else part + "."
            for part in text.split(". ")] if text else []


def _cold(due_ns, killed_ns):
    """What a server that was killed shortly before is, or ""."""
    since_ns = due_ns - killed_ns if killed_ns else -1
    if not 0 <= since_ns <= COLD_NS:
        return ""
    return (f"likely a cold JVM: killed {since_ns / 1e9:.1f} s before and "
            "started again")


def _moments(tale, names):
    """[(ns since t0, what happened)] of the request, in order."""
    found = []
    for i, attempt in enumerate(tale["attempts"]):
        name = attempt["name"]
        if "written" in attempt:
            found.append((attempt["written"],
                          f"sent {'again ' if i else ''}to {name}"
                          + (f": {attempt['trigger']}"
                             if i and attempt["trigger"] else "")))
        if "complete" in attempt and attempt["outcome"] == "won":
            found.append((attempt["complete"], f"{name} has responded"))
    for pause in tale["pauses"]:
        name = names[pause["server"]]
        if pause["begin_seen"]:
            found.append((pause["b"], f"{name}: {pause['kind']} begins"))
        if pause["end_seen"]:
            found.append((pause["e"], f"{name}: {pause['kind']} ends"))
    return [_at(*moment) for moment in sorted(found)]


def _cause(tale, killed):
    """In a few words; "" if the verdict's first sentence has to do."""
    code = tale["verdict"]["code"]
    t0 = int(tale["t0"])
    won = [a["name"] for a in tale["attempts"] if a["outcome"] == "won"]
    if code == "exit" and any(at <= t0 + tale["total"]
                              for at in killed.values()):
        return "the kill -9"
    since_ns = t0 - killed[won[0]] if won and won[0] in killed else -1
    if code == "proxy_queue" and 0 <= since_ns <= COLD_NS:
        ago = f"{since_ns / 1e9:.1f} s" if since_ns >= 1e8 else "just"
        return (f"the request waited for server {won[0]}, killed {ago} before "
                f"and started again")
    cause = CAUSES.get(code, "")
    if cause and tale["verdict"]["confidence"] == "likely":
        cause = f"likely {cause}"
    cold = _cold(t0, killed.get(won[0])) if won and code in COLD else ""
    return "; ".join(filter(None, (cause, cold)))


def of_timeline(ms, tale, names, killed):
    """{ms, cause, lines, moments} from a timeline.  names: of the servers, in
    order; killed: {name: when it was killed}, ns of CLOCK_MONOTONIC."""
    verdict = tale["verdict"]
    sentences = _sentences(verdict["text"])
    cause = _cause(tale, killed) or (sentences.pop(0) if sentences else "")
    moments = _moments(tale, names)[:LINES - 4]
    lines = [*sentences, *verdict["evidence"]][:LINES - len(moments)]
    return {"ms": ms, "cause": cause, "lines": lines, "moments": moments}


def of_facts(ms, span_ns, pauses, killed_ns, restarted_ns):
    """The same without a timeline.  span_ns: when it was due and done;
    pauses: [(end in ns, length in ms)] of the server that it was sent to."""
    due, done = span_ns
    moments, longest = [(0, "due"), (done - due, "the response is complete")], 0
    for end, length_ms in pauses:
        begin = end - int(length_ms * NS_PER_MS)
        if begin < done and due < end:
            longest = max(longest, min(end, done) - max(begin, due))
            moments += [
                (begin - due, "a collection begins, by the JVM's own log"),
                (end - due, f"it ends, after {length_ms:.1f} ms")]
    if killed_ns and restarted_ns and due - COLD_NS <= killed_ns <= done:
        moments += [(killed_ns - due, "the JVM is killed (kill -9)"),
                    (restarted_ns - due, "its successor first responds")]
    if 2 * longest > done - due:
        cause = "a garbage collection"
    elif killed_ns and killed_ns <= due <= (restarted_ns or 0):
        cause = "the kill -9: no JVM was ready when it was due"
    else:
        cause = _cold(due, killed_ns) or (
            "not observed, as nothing looks into the server here")
    return {"ms": ms, "cause": cause, "lines": [],
            "moments": [_at(*moment) for moment in sorted(moments)][:LINES]}
