"""An application for gunicorn, which forks before it serves.

    gunicorn --workers 2 --bind 127.0.0.1:PORT wsgi:application
"""

import kinds


def application(environ, start_response):
    """One request, in the one thread of a worker."""
    length = int(environ.get("CONTENT_LENGTH") or 0)
    body = environ["wsgi.input"].read(length)
    truth, body = kinds.work(environ["QUERY_STRING"], body)
    start_response("200 OK", [("Truth", truth),
                              ("Content-Length", str(len(body)))])
    return [body]
