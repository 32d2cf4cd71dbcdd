"""A server that does one thing at a time, for tests of tailor-load."""

import threading

from .origin import Origin

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Stub(Origin):
    """One request after the other, as a server with one CPU.

    handler(request) returns the bytes to send, or None for no response.  While
    it runs nothing else is served, so sleeping in it is a stall.
    """

    def __init__(self, handler=lambda request: OK, path=None):
        self.handler, self.pipelined = handler, 0
        self._turn = threading.Lock()
        self._end = threading.Lock()
        super().__init__("stub", path and str(path), 4096,
                         handler=self._served)
        self.url = f"http://{self.address}/"

    def _arrived(self, request):
        """A request counts when it is its turn."""

    def _served(self, request):
        with self._turn:
            self.pipelined += bool(request.connection.pending())
            self.requests.append(request)
            return self.handler(request) or b""

    def kill(self):
        """Close everything at once, as the end of a process does; clients
        that left inside a request were no mistake."""
        with self._end:  # a test may kill it while its fixture does
            self.errors = [e for e in self.errors if " ended " not in e]
            if self._listener is None or self._listener.fileno() < 0:
                return  # it was killed before
            self.refuse()
            for connection in self.connections:
                connection.close()
            self.close()

    def measured(self):
        """The requests that were no warm-up."""
        return [r for r in self.requests if "-w" not in r.get("x-request-id")]
