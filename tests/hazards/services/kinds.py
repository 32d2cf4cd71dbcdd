"""What a Python service does to a request; threads.py and wsgi.py serve it.

work(query, body) does what /work?kind=... asks for and returns (truth, body).
truth is "BEGIN END CPU PID TID": from when to when the thing lasted by
CLOCK_MONOTONIC, what this thread computed meanwhile, ns, process and thread.
Of touch and mapped CPU is what the same takes when all is in memory.
The same kinds, in other languages, are in node.js, service.go, Kinds.java.
"""

import contextlib
import gc
import mmap
import os
import random
import socket
import threading
import time
import urllib.parse

PAGE = mmap.PAGESIZE
BLOCK = 1 << 18
PIECE = bytes(1 << 16)
DATA = os.environ.get("FOREIGN_DATA", "")        # a folder with a file "cold"
UPSTREAM = int(os.environ.get("FOREIGN_UPSTREAM", "0"))  # another service
SILENT = int(os.environ.get("FOREIGN_SILENT", "0"))      # UDP, no response
DATABASE = os.environ.get("FOREIGN_DATABASE", "")        # of PostgreSQL

lock = threading.Lock()
local = threading.local()
heap = []


def burn(ms):
    """Spend that much of this thread's CPU time."""
    end = time.thread_time_ns() + int(ms * 1e6)
    while time.thread_time_ns() < end:
        pass


def twice(action):
    """Do what faults, and once more when nothing does: begin and end of the
    former, the latter's time."""
    begin = time.monotonic_ns()
    action()
    end = time.monotonic_ns()
    action()
    return begin, end, time.monotonic_ns() - end


def none(_):
    pass


def sleep(q):
    time.sleep(q["ms"] / 1e3)


def backoff(_):
    for ms in (1, 8):
        time.sleep(ms / 1e3)


def compute(q):
    burn(q["ms"])


@contextlib.contextmanager
def row():
    """A transaction that has changed a row of PostgreSQL's."""
    with connection("row") as transaction, transaction.cursor() as cursor:
        cursor.execute("UPDATE one SET n = n + 1")
        yield


def held(q):
    """What the request names, to be taken."""
    return row() if q["of"] == "row" else lock


def hold(q):
    """A thread takes the lock and sleeps or computes; it has it on return."""
    taken = threading.Event()

    def holder():
        with held(q):
            taken.set()
            (compute if q["how"] == "compute" else sleep)(q)
    threading.Thread(target=holder, name="holder", daemon=True).start()
    taken.wait()


def take(q):
    with held(q):
        pass


def spin(q):
    """n threads compute from now on, for so long on the clock."""
    go = threading.Event()
    end = time.monotonic() + q["ms"] / 1e3

    def spinner():
        go.wait()
        while time.monotonic() < end:
            sum(range(500))
    for _ in range(q["n"]):
        threading.Thread(target=spinner, name="spinner", daemon=True).start()
    go.set()


def cold(q):
    """n reads at random places of a file that the page cache has lost."""
    fd = os.open(os.path.join(DATA, "cold"), os.O_RDONLY)
    blocks = os.fstat(fd).st_size // BLOCK
    try:
        for _ in range(q["n"]):
            os.pread(fd, BLOCK, random.randrange(blocks) * BLOCK)
    finally:
        os.close(fd)


def mapped(q):
    """The same through a mapping: each read is a page fault."""
    with open(os.path.join(DATA, "cold"), "rb") as file:
        with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as m:
            m.madvise(mmap.MADV_RANDOM)
            places = [random.randrange(len(m) // PAGE) * PAGE
                      for _ in range(q["n"])]

            def read():
                for place in places:
                    m[place]
            return twice(read)


def fsync(q):
    fd = os.open(os.path.join(DATA, f"sync-{os.getpid()}"),
                 os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        for _ in range(q["n"]):
            os.write(fd, PIECE)
            os.fsync(fd)
    finally:
        os.close(fd)


def upstream(q):
    with socket.create_connection(("127.0.0.1", UPSTREAM)) as sock:
        sock.sendall(f"GET /work?kind=sleep&ms={q['ms']} HTTP/1.0\r\n\r\n"
                     .encode())
        while sock.recv(65536):
            pass


def connection(name):
    """One to the database that the thread keeps."""
    if not hasattr(local, name):
        import psycopg2  # Debian: python3-psycopg2
        setattr(local, name, psycopg2.connect(DATABASE))
        getattr(local, name).autocommit = True
    return getattr(local, name)


def database(q):
    """A query that sleeps, or waits for another's lock."""
    seconds = q["ms"] / 1e3
    if q["how"] == "hold":
        held = threading.Event()
        threading.Thread(target=hold_there, args=(held, seconds),
                         daemon=True).start()
        held.wait()
        return
    with connection("database").cursor() as cursor:
        if q["how"] == "take":
            cursor.execute("SELECT pg_advisory_lock(1)")
            cursor.execute("SELECT pg_advisory_unlock(1)")
        else:
            cursor.execute("SELECT pg_sleep(%s)", (seconds,))


def hold_there(held, seconds):
    """Have the database's lock for so long; its end gives it back."""
    with connection("holder").cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(1)")
        held.set()
        time.sleep(seconds)
        cursor.execute("SELECT pg_advisory_unlock(1)")


def udp(q):
    """Wait for a response that does not come, as a resolver does."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(q["ms"] / 1e3)
        sock.sendto(b"?", ("127.0.0.1", SILENT))
        try:
            sock.recv(512)
        except TimeoutError:
            pass


def collect(q):
    while len(heap) < q["n"]:
        heap.append([len(heap)])
    gc.collect()


def touch(q):
    """The first touch of n pages."""
    with mmap.mmap(-1, q["n"] * PAGE) as m:
        m.madvise(mmap.MADV_NOHUGEPAGE)

        def write():
            for page in range(q["n"]):
                m[page * PAGE] = 1
        return twice(write)


KINDS = {f.__name__: f for f in (
    none, sleep, backoff, compute, hold, take, spin, cold, mapped, fsync,
    upstream, database, udp, collect, touch)}


def work(query, body):
    """Do what the query asks for; (truth, the response's body)."""
    q = dict(urllib.parse.parse_qsl(query))
    q = {"how": "", "of": "", **q, **{name: int(q.get(name, 1))
                            for name in ("ms", "n", "bytes")}}
    begin, ran, twice_of = time.monotonic_ns(), time.thread_time_ns(), None
    if q["kind"] == "big":
        body = b"x" * q["bytes"]
    elif q["kind"] == "upload":
        body = str(len(body)).encode()
    else:
        twice_of = KINDS[q["kind"]](q)
        body = b"done\n"
    end, ran = time.monotonic_ns(), time.thread_time_ns() - ran
    if twice_of is not None:
        begin, end, ran = twice_of
    return (f"{begin} {end} {ran} {os.getpid()} {threading.get_native_id()}",
            body)
