"""A scripted server: it does what the test says, when the test says it.

Each connection has a thread that reads requests.  A request goes to the
handler set by serve(), if any; what the handler returns is sent.  Without a
handler, or when it returns None, the request waits for expect() and the test
sends its response by hand, in pieces if it likes.
"""

import ctypes
import errno
import queue
import select
import socket
import struct
import threading

from .message import Closed, Malformed, Stream, response
from .wait import PATIENCE_S, Late, wait_until

libc = ctypes.CDLL(None)


def backlog_of(listener):
    """How many connections wait to be accepted, and at most."""
    info = listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 32)
    return struct.unpack("=24x2I", info)  # tcpi_unacked, tcpi_sacked


class Request:
    """One request as it arrived, and the means to respond to it."""

    def __init__(self, connection, message):
        self.connection = connection
        self.message = message
        self._whole = threading.Event()

    def __getattr__(self, name):  # method, target, get(), all(), raw, ...
        return getattr(self.message, name)

    def wait_body(self):
        """Wait for the whole body and return it."""
        if not self._whole.wait(PATIENCE_S):
            raise Late(f"body of {self.message}")
        return self.message.body

    def send(self, data):
        """Send raw bytes; any part of a response, right or wrong."""
        self.connection.send(data)

    def reply(self, status=200, body=b"", fields=()):
        """Send a whole response."""
        self.send(response(status, body, fields))

    def close(self):
        self.connection.close()

    def reset(self):
        self.connection.reset()

    def __repr__(self):
        return f"<request {self.message!r} at {self.connection!r}>"


class Connection:
    """One accepted connection.  `received` holds every byte of it."""

    def __init__(self, origin, sock, number):
        self.origin, self.number = origin, number
        self.socket = sock
        self._received = bytearray()
        self._stream = Stream(self._recv)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def received(self):
        return bytes(self._received)

    @property
    def ended(self):
        return self._ended.is_set()

    def _recv(self):
        try:
            data = self.socket.recv(65536)
        except OSError:
            return b""
        self._received += data
        return data

    def _run(self):
        origin = self.origin
        try:
            while True:
                request = Request(self, self._stream.head())
                origin._arrived(request)
                self._stream.body(request.message)
                request._whole.set()
                handler = origin._handler
                data = handler(request) if handler else None
                if data is None:
                    origin._waiting.put(request)
                else:
                    self.send(data)
        except Closed:
            pass
        except (Malformed, AssertionError) as error:
            origin.errors.append(f"{origin.name}: {error}")
        finally:
            self._ended.set()

    def send(self, data):
        try:
            self.socket.sendall(data)
        except OSError:
            self._ended.set()  # the peer left: tests look at wait_end()

    def pending(self):
        """What has arrived behind the request that is read."""
        return self._stream.pending()

    def nagle(self):
        """Hold small segments back until the last one is acknowledged."""
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)

    def close(self):
        """Close with FIN."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()

    def reset(self):
        """Close with RST."""
        # A close() with SO_LINGER 0 would send the RST only once the reading
        # thread has left recv(); connecting to nowhere sends it now.
        nowhere = struct.pack("=H14x", socket.AF_UNSPEC)
        libc.connect(self.socket.fileno(), nowhere, len(nowhere))
        self.socket.close()

    def wait_end(self, timeout_s=50):
        """Wait until the peer has closed this connection; not as long as it
        keeps one that is idle."""
        if not self._ended.wait(timeout_s):
            raise Late(f"{self!r} still open")

    def __repr__(self):
        return f"<connection {self.number} of {self.origin.name}>"


class Origin:
    """A listening scripted server: on that port, 0 for one of the kernel's
    choice, or on a Unix socket at path.  handler: as for serve()."""

    def __init__(self, name, path=None, backlog=128, port=0, handler=None,
                 host="127.0.0.1"):
        self.name, self.host = name, host
        self.path = path
        self.backlog = backlog
        self.connections = []
        self.requests = []  # all of them, in order of arrival
        self.errors = []    # malformed input; fails the test at its end
        self._handler = handler
        self._waiting = queue.Queue()
        self._lock = threading.Condition()
        self._accepting = threading.Lock()
        self._fillers = []  # fill the backlog while none is accepted
        self._listener = None
        self._kept = None   # has the port while none listens there
        self.port = port
        self.listen()

    @property
    def address(self):
        return f"unix:{self.path}" if self.path else f"127.0.0.1:{self.port}"

    def listen(self):
        """Open the port; again after stop(), the same one."""
        if self.path:
            sock = socket.socket(socket.AF_UNIX)
            sock.bind(self.path)
        else:
            sock = self._kept or self._bound()
            self.port = sock.getsockname()[1]
        self._kept = None
        sock.listen(self.backlog)
        self._listener = sock
        threading.Thread(target=self._accept, args=(sock,),
                         daemon=True).start()

    def _bound(self):
        sock = socket.socket(
            socket.AF_INET6 if ":" in self.host else socket.AF_INET)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((self.host, self.port))
        return sock

    def _accept(self, listener):
        while True:
            try:
                select.select([listener], [], [])
                with self._accepting:
                    sock, _ = listener.accept()
            except (OSError, ValueError) as e:
                if getattr(e, "errno", 0) == errno.EMFILE:
                    self.errors.append(f"{self.name}: {e}")
                return
            if not self.path:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                connection = Connection(self, sock, len(self.connections))
                self.connections.append(connection)
                self._lock.notify_all()

    def _arrived(self, request):
        with self._lock:
            self.requests.append(request)
            self._lock.notify_all()

    def serve(self, handler=None):
        """Respond to every request from now on.

        handler(request) returns the bytes to send, or None to leave the
        request to expect().  Without one: 200 with this server's name.
        It runs on the connection's thread and may wait there (an Event).
        """
        self._handler = handler or (
            lambda request: response(200, self.name.encode()))
        return self

    def script(self):
        """Back to responses by hand, with expect()."""
        self._handler = None
        return self

    def expect(self, timeout_s=PATIENCE_S):
        """The next whole request that no handler responded to."""
        try:
            return self._waiting.get(timeout=timeout_s)
        except queue.Empty:
            raise Late(f"no request at {self.name}") from None

    def expect_head(self, count=1, timeout_s=PATIENCE_S):
        """The count-th request ever, as soon as its head has arrived."""
        with self._lock:
            if not self._lock.wait_for(lambda: len(self.requests) >= count,
                                       timeout_s):
                raise Late(f"only {len(self.requests)} of {count} requests "
                           f"at {self.name}")
            return self.requests[count - 1]

    def expect_nothing(self):
        """Assert that no request waits for expect() now."""
        assert self._waiting.empty(), f"{self.name} got a request"

    def wait_read(self):
        """Wait until each request is whole or its connection read to the end,
        so that all errors are known."""
        wait_until(lambda: all(
            r._whole.is_set() or not r.connection._thread.is_alive()
            for r in self.requests), f"{self.name} has read all")

    def accept(self, count=1, timeout_s=PATIENCE_S):
        """The count-th connection ever."""
        with self._lock:
            if not self._lock.wait_for(
                    lambda: len(self.connections) >= count, timeout_s):
                raise Late(f"only {len(self.connections)} of {count} "
                           f"connections at {self.name}")
            return self.connections[count - 1]

    def fill_backlog(self):
        """Accept no more connections, and leave no room for one to wait."""
        self._accepting.acquire()

        def full():
            waiting, most = backlog_of(self._listener)
            if waiting <= most:
                self._fillers.append(socket.socket())
                self._fillers[-1].setblocking(False)
                self._fillers[-1].connect_ex(("127.0.0.1", self.port))
            return waiting > most
        wait_until(full, f"the backlog of {self.name} is full")

    def accept_again(self):
        """The end of fill_backlog()."""
        for filler in self._fillers:
            filler.close()
        self._fillers.clear()
        self._accepting.release()

    def refuse(self):
        """Refuse new connections; the open ones stay.  The port is kept, or
        another program takes it."""
        try:
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes accept()
        except OSError:
            pass
        if not self.path and self._kept is None:
            self._kept = self._bound()
        self._listener.close()

    def close(self):
        """The end: stop, and give the port away; once."""
        if self._listener is None:
            return
        self.stop()
        self._listener = None
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def stop(self):
        """Die: refuse new connections and reset the open ones."""
        self.refuse()
        if self._fillers:
            self.accept_again()
        with self._lock:
            for connection in self.connections:
                try:
                    connection.reset()
                except OSError:
                    pass
