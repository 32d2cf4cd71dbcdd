"""Services, each as a set of processes: ours, and those that Tailor's authors
did not write.

Every one responds to /work?kind=..., as services/kinds.py has it, except nginx,
which passes that on to a Python service that Tailor does not watch.
"""

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

from rig.cgroup import Group
from rig.client import Client
from rig.other_proxies import find, nginx
from rig.ports import free_port
from rig.process import Process, children
from rig.safepoints import Safepoints
from rig.stage import (NICER, PROXY_CPU, SERVER_CPU, SERVER_PRIORITY,
                       may_schedule)

HERE = pathlib.Path(__file__).resolve().parent / "services"
JARS = pathlib.Path("/usr/share/java")
COLD_BYTES = 32 << 20
PART_BYTES = 4 << 20  # of it, for nginx to serve
NICE = -18           # of ordinary threads, before most
CONNECTIONS = 8      # of Tailor to a service: more wait in its queue


class World:
    """What the services use, and Tailor does not watch: a folder with a cold
    file, another service, a port without responses, a database."""

    def __init__(self, build):
        self.build = pathlib.Path(build)
        self.folder = tempfile.mkdtemp(prefix="tailor-foreign-",
                                       dir="/var/tmp")
        os.chmod(self.folder, 0o711)  # Apache's workers are another user
        anyone = pathlib.Path(self.folder, "any")
        anyone.mkdir()
        anyone.chmod(0o777)
        self.cold = [pathlib.Path(self.folder, name)
                     for name in ("cold", "part")]
        for path, size in zip(self.cold, (COLD_BYTES, PART_BYTES)):
            path.write_bytes(os.urandom(1 << 20) * (size >> 20))
        self._text()
        self.silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.silent.bind(("127.0.0.1", 0))
        self.full = socket.create_server(("127.0.0.1", 0), backlog=0)
        self.waiting = [self.connecting() for _ in range(2)]
        self.environment = {
            "FOREIGN_DATA": self.folder,
            "FOREIGN_SILENT": str(self.silent.getsockname()[1]),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self.database = self.upstream = None
        self.channels = None  # the socket of the Tailor before a service

    def _text(self):
        """Files that take some 10 and 40 ms to compress."""
        words = os.urandom(4096).hex()
        for name, size in (("text", 1 << 19), ("long", 1 << 21)):
            pathlib.Path(self.folder, name).write_text(
                "".join(words[i % 4096:i % 4096 + 80] + "\n"
                        for i in range(0, size, 37)), encoding="ascii")

    def connecting(self):
        """One more in the queue of a server that accepts nothing: once it is
        full, the kernel answers no more of them."""
        client = socket.socket()
        client.setblocking(False)
        client.connect_ex(self.full.getsockname())
        return client

    def start(self, database=True):
        """Start what the services use."""
        self.no_database = Database.unable()
        if database and self.no_database is None:
            self.database = Database(self)
            self.environment["FOREIGN_DATABASE"] = self.database.where
        self.upstream = Python(self)
        self.upstream.before_most()
        self.environment["FOREIGN_UPSTREAM"] = str(self.upstream.port)

    def forget(self):
        """Have the page cache lose the cold files."""
        for path in self.cold:
            with open(path, "rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def stop(self):
        for one in (self.upstream, self.database):
            if one:
                one.end()
        for one in (self.silent, self.full, *self.waiting):
            one.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Service(Process):
    """A service that listens on a port, in a control group of its own."""
    name = ""
    workers = 0    # processes that serve, if not the first one
    cpus = (SERVER_CPU,)
    threads = True  # it serves several requests at one time
    keys = {}       # of the server in Tailor's configuration
    program = None  # what it needs, and the package that has it
    package = None

    def __init__(self, world):
        self.world = world
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.keys = {"connections_max": CONNECTIONS, **self.keys}
        self.group = Group(f"tailor-{self.name}-{os.getpid()}-{self.port}")
        self.launch()

    def launch(self):
        """Start it, again after kill(); it listens on return."""
        argv = [str(a) for a in self.command()]
        super().__init__([*NICER * may_schedule(), *self.group.command(argv)],
                         env=self.world.environment, group=True,
                         cwd=self.world.folder, stdout=subprocess.DEVNULL)
        try:
            self.wait_listens(self.address, 60)
        except BaseException:
            self.end()
            raise

    def command(self):
        raise NotImplementedError

    @classmethod
    def unable(cls):
        """Why it cannot run here; None if it can."""
        if cls.program is None or find(cls.program):
            return None
        return f"{cls.package or cls.program} is not installed"

    def calm(self, random):
        """A request that nothing is done to."""
        return "/work?kind=none"

    def client(self):
        """A connection past Tailor."""
        return Client(("127.0.0.1", self.port))

    def processes(self):
        return self.group.processes()

    def serving(self):
        """The processes that serve requests."""
        return ([pid for pid in self.processes() if pid != self.pid]
                if self.workers else [self.pid])

    def _threads(self):
        for pid in self.processes():
            try:
                yield from map(int, os.listdir(f"/proc/{pid}/task"))
            except FileNotFoundError:
                continue  # it has just ended

    def before_most(self):
        """What the rest of the machine does shall not disturb it."""
        self._schedule(os.SCHED_RR, SERVER_PRIORITY)

    def ordinary(self):
        """Its threads share the CPU with others, with the larger share."""
        self._schedule(os.SCHED_OTHER, 0)

    def _schedule(self, policy, priority):
        if not may_schedule():
            return
        for thread in self._threads():
            try:
                os.setpriority(os.PRIO_PROCESS, thread, NICE)
                os.sched_setscheduler(thread, policy,
                                      os.sched_param(priority))
            except ProcessLookupError:
                continue  # it has just ended
            except PermissionError:
                return  # control groups forbid it: they stay ordinary

    def pin(self, *cpus):
        """Have all its threads on these CPUs, now that it knows how many the
        machine has."""
        for thread in self._threads():
            try:
                os.sched_setaffinity(thread, cpus)
            except ProcessLookupError:
                continue

    def end(self):
        """End it and its group."""
        self.kill()
        self.group.remove()


class C(Service):
    """server.c, a thread for each connection."""
    name = "c"

    def command(self):
        return [self.world.build / "hazards" / "server", self.port]

    def calm(self, random):
        return f"/work?kind=compute&us={random.randint(100, 1500)}"


class Single(C):
    """One thread serves all its connections."""
    name = "single"
    threads = False

    def command(self):
        return [*super().command(), "single"]


CPYTHON = {"jvm": "usdt"}  # its probes, which are not used unasked


class Python(Service):
    name = "python"
    keys = CPYTHON

    def command(self):
        return [sys.executable, HERE / "threads.py", self.port]


class Gunicorn(Service):
    name = "gunicorn"
    program = "gunicorn"
    keys = CPYTHON
    workers = 2
    threads = False

    def command(self):
        return [find("gunicorn"), "--workers", self.workers, "--bind",
                self.address, "--chdir", HERE, "--log-level", "warning",
                "--timeout", 600, "wsgi:application"]


class Waitress(Service):
    """One thread receives all requests, and two work on them later."""
    name = "waitress"
    program = "waitress-serve"
    package = "python3-waitress"
    keys = CPYTHON

    def command(self):
        return ["env", f"PYTHONPATH={HERE}", find("waitress-serve"),
                f"--listen={self.address}", "--threads=2", "wsgi:application"]


class Puma(Service):
    """Threads of Ruby; one more waits for requests on idle connections."""
    name = "puma"
    program = "puma"

    def command(self):
        return [find("puma"), "--bind", f"tcp://{self.address}", "--threads",
                "8:8", "--environment", "production", HERE / "puma.ru"]


APACHE = """
ServerRoot {folder}
ServerName localhost
PidFile {folder}/apache.pid
ErrorLog /dev/stderr
LogLevel warn
Listen {address}
{modules}
User www-data
Group www-data
# Each connection has a process of its own until it ends.
StartServers {workers}
MinSpareServers 1
MaxSpareServers {workers}
MaxRequestWorkers {workers}
KeepAlive On
KeepAliveTimeout 600
MaxKeepAliveRequests 0
Alias /work {here}/work.php
<Directory {here}>
	Require all granted
	SetHandler application/x-httpd-php
</Directory>
"""


class Apache(Service):
    """Apache's processes, each with PHP in it."""
    name = "apache"
    WORKERS = 10  # and 8 connections of Tailor's
    MODULES = pathlib.Path("/usr/lib/apache2/modules")
    last_signal = "TERM"

    @classmethod
    def php(cls):
        return next(iter(sorted(cls.MODULES.glob("libphp*.so"))), None)

    @classmethod
    def unable(cls):
        if not find("apache2"):
            return "apache2-bin is not installed"
        return None if cls.php() else "libapache2-mod-php is not installed"

    def command(self):
        modules = "\n".join(
            f"LoadModule {name}_module {self.MODULES}/mod_{name}.so"
            for name in ("mpm_prefork", "authz_core", "alias"))
        path = pathlib.Path(self.world.folder, "apache.conf")
        path.write_text(APACHE.format(
            folder=self.world.folder, address=self.address, here=HERE,
            workers=self.WORKERS, modules=f"{modules}\nLoadModule php_module "
            f"{self.php()}"), encoding="utf-8")
        return [find("apache2"), "-DFOREGROUND", "-f", path]


class Node(Service):
    name = "node"
    program = "node"
    package = "nodejs"
    threads = False

    def command(self):
        return [find("node"), "--expose-gc", HERE / "node.js", self.port,
                *([self.workers] if self.workers else [])]


class Cluster(Node):
    name = "cluster"
    workers = 2


class Go(Service):
    name = "go"
    program = "go"
    package = "golang-go"

    def command(self):
        return [self.world.build / "hazards" / "service-go", self.port]


class Jetty(Service, Safepoints):
    name = "jetty"
    main = "JettyService"
    cpus = (PROXY_CPU, SERVER_CPU)  # collectors have threads of their own
    jars = ("jetty9-server", "jetty9-util", "jetty9-http", "jetty9-io",
            "servlet-api")
    package = "libjetty9-java"
    collector = "Parallel"

    def options(self):
        """More of the JVM's."""
        return ()

    @classmethod
    def unable(cls):
        if not find("java") or not find("javac"):
            return "no JDK"
        if not all((JARS / f"{jar}.jar").exists() for jar in cls.jars):
            return f"{cls.package} is not installed"
        return None

    def command(self):
        path = [self.world.build / "hazards" / "classes",
                *(JARS / f"{jar}.jar" for jar in self.jars)]
        return [find("java"), "-Xms256m", "-Xmx256m", "-Xmn64m",
                f"-XX:+Use{self.collector}GC", self.SAFEPOINT_LOG,
                *self.options(), "-cp", ":".join(map(str, path)), self.main,
                self.port, self.world.folder]


class Jdk(Jetty):
    """The JDK's HTTP server with Tailor's agent in it."""
    name = "jdk-serial"
    main = "JdkService"
    jars = ()
    collector = "Serial"

    def options(self):
        agent = self.world.build / "libtailor-jvm.so"
        return ["-Dsun.net.httpserver.nodelay=true",
                f"-agentpath:{agent}=socket={self.world.channels}"]

    def calm(self, random):
        return "/work?kind=compute&ms=1"


class JdkG1(Jdk):
    name = "jdk-g1"
    collector = "G1"


class JdkParallel(Jdk):
    name = "jdk-parallel"
    collector = "Parallel"


class Tomcat(Jetty):
    name = "tomcat"
    main = "TomcatService"
    collector = "G1"
    jars = ("tomcat10-embed-core", "tomcat10-annotations-api")
    package = "libtomcat10-embed-java or libtomcat10-java"


NGINX = """
	access_log off;
	gzip_types application/octet-stream;
	gzip_comp_level 9;
	default_type application/octet-stream;
	client_max_body_size 64m;
	upstream service {{ server 127.0.0.1:{upstream}; keepalive 16; }}
	upstream dead {{
		server 127.0.0.1:{full} max_fails=0;
		server 127.0.0.1:{upstream} backup;
	}}
	proxy_cache_path {folder}/cache keys_zone=responses:1m;
	server {{
		listen {address};
		add_header Pid $pid;
		location /work {{
			proxy_pass http://service;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
		}}
		location / {{ root {folder}; }}
		# Without reading ahead: it waits for each block.
		location = /part {{
			root {folder};
			directio 512;
			output_buffers 1 32k;
		}}
		location ~ ^/(text|long)$ {{ root {folder}; gzip on; }}
		location = /dead {{
			proxy_pass http://dead/work?kind=none;
			proxy_connect_timeout 30ms;
		}}
		location = /auth {{
			internal;
			proxy_pass http://service/work?kind=sleep&ms=20;
		}}
		location = /guarded {{
			auth_request /auth;
			proxy_pass http://service/work?kind=none;
		}}
		location /cached {{
			proxy_cache responses;
			proxy_cache_valid 200 1m;
			proxy_cache_lock on;
			proxy_pass http://service/work;
		}}
	}}
"""


class Nginx(Service):
    name = "nginx"
    program = "nginx"
    workers = 2
    last_signal = "TERM"

    def command(self):
        return nginx(self.world.folder, NGINX.format(
            upstream=self.world.upstream.port, address=self.address,
            full=self.world.full.getsockname()[1],
            folder=self.world.folder), main="worker_processes 2;")


FPM_NGINX = """
	access_log off;
	server {{
		listen {address};
		add_header Pid $pid;
		location /work {{
			fastcgi_pass unix:{folder}/fpm.sock;
			fastcgi_param SCRIPT_FILENAME {here}/work.php;
			fastcgi_param REQUEST_METHOD $request_method;
			fastcgi_param QUERY_STRING $query_string;
			fastcgi_param CONTENT_TYPE $content_type;
			fastcgi_param CONTENT_LENGTH $content_length;
		}}
	}}
"""
FPM = """
[global]
daemonize = no
error_log = /dev/stderr
[www]
listen = {folder}/fpm.sock
listen.mode = 0666
user = www-data
group = www-data
clear_env = no
pm = static
pm.max_children = 2
"""


class Fpm(Nginx):
    """nginx, and PHP-FPM, which Tailor does not watch as its server."""
    name = "fpm"

    @classmethod
    def binary(cls):
        return next(iter(sorted(pathlib.Path("/usr/sbin").glob("php-fpm*"))),
                    None)

    @classmethod
    def unable(cls):
        return super().unable() or (
            None if cls.binary() else "php-fpm is not installed")

    def launch(self):
        path = pathlib.Path(self.world.folder, "fpm.conf")
        path.write_text(FPM.format(folder=self.world.folder),
                        encoding="utf-8")
        self.php = Process(
            [*NICER * may_schedule(), self.binary(), "--fpm-config", path],
            env=self.world.environment, group=True, cwd=self.world.folder)
        self.php.wait_log("ready to handle connections")
        super().launch()

    def command(self):
        return nginx(self.world.folder, FPM_NGINX.format(
            address=self.address, here=HERE, folder=self.world.folder),
            main="worker_processes 2;")

    def processes(self):
        return super().processes() + [self.php.pid, *children(self.php.pid)]

    def end(self):
        super().end()
        self.php.kill()


class Database(Process):
    """PostgreSQL, on a socket in a folder of its own."""
    BINARIES = "/usr/lib/postgresql"

    @classmethod
    def program(cls, name):
        found = sorted(pathlib.Path(cls.BINARIES).glob(f"*/bin/{name}"))
        return str(found[-1]) if found else None

    @classmethod
    def unable(cls):
        """Why it cannot run here; None if it can."""
        if not cls.program("initdb"):
            return "postgresql is not installed"
        if os.geteuid() != 0 or not find("setpriv"):
            return "root is needed to run PostgreSQL as its own user"
        done = subprocess.run(["/usr/bin/python3", "-c", "import psycopg2"],
                              capture_output=True, check=False)
        return "python3-psycopg2 is not installed" if done.returncode else None

    def __init__(self, world):
        self._folder = tempfile.mkdtemp(prefix="tailor-pg-", dir="/var/tmp")
        shutil.chown(self._folder, "postgres", "postgres")
        user = ["setpriv", "--reuid", "postgres", "--regid", "postgres",
                "--clear-groups", "--pdeathsig", "KILL", "--"]
        data = f"{self._folder}/data"
        subprocess.run([*user, self.program("initdb"), "-D", data, "-A",
                        "trust", "-N"], check=True, cwd=self._folder,
                       capture_output=True)
        ordinary = ["chrt", "-o", "0"] * may_schedule()
        super().__init__([*ordinary, *user, self.program("postgres"), "-D",
                          data, "-k", self._folder, "-h", ""],
                         cwd=self._folder)
        self.where = f"host={self._folder} user=postgres dbname=postgres"
        self.wait_log("ready to accept connections")
        subprocess.run([*user, self.program("psql"), "-q", "-h", self._folder,
                        "-c", "CREATE TABLE one AS SELECT 0 AS n", "postgres"],
                       check=True, cwd=self._folder)

    def end(self):
        self.terminate()
        shutil.rmtree(self._folder, ignore_errors=True)


OURS = ("c", "single", "jdk-serial", "jdk-g1", "jdk-parallel")
SERVICES = {kind.name: kind for kind in (
    C, Single, Jdk, JdkG1, JdkParallel, Tomcat, Jetty, Nginx, Fpm, Apache,
    Gunicorn, Python, Waitress, Puma, Node, Cluster, Go)}
