"""Goal: what new users get wrong is answered by what is wrong, where, and what
to do: on one line where it fits, with the exit status of its kind."""

import json
import os
import pathlib
import socket

import pytest

from rig.ports import free_port
from rig.process import ran
from rig.tailor import merged

needs_root = pytest.mark.skipif(os.geteuid() != 0,
                                reason="only root can be another user")
NOBODY = 65534
QUICK = {"kernel": "off"}  # the start is quicker without

# --- command lines ----------------------------------------------------------------
COMMANDS = [
    ("tailorctl serverz", "did you mean servers?"),
    ("tailorctl why --s", "ambiguous: --since or --svg?"),
    ("tailorctl servers --cause x", "servers does not take --cause"),
    ("tailorctl slow -n 0", '"0" is not a whole number from 1 to 1000000'),
    ("tailorctl servers -t 0", "a number of seconds from 0.001 to 3600"),
    ("tailorctl top -i 1x", "a number of seconds from 0.001 to 3600"),
    ("tailorctl slow --since yesterday", "a time from 1s to 3650d: 90s, 10m, 2h"),
    ("tailorctl top --by memory", "cause, path, latency, cpu or waker"),
    ("tailorctl pin x", "did you mean why ID --pin?"),
    ("tailorctl servers a", '"a" is one word too many'),
    ("tailorctl completion csh", "bash, zsh or fish"),
    ("tailor --completion csh", "bash, zsh or fish"),
    ("tailor-load completion csh", "bash, zsh or fish"),
    ("tailorctl servers -t -1", "a number of seconds from 0.001 to 3600"),
    ("tailorctl --frob servers", "unknown option --frob"),
    ("tailorctl frob", "frob"),
    ("tailor --no-such", "Try 'tailor --help'"),
    ("tailorctl log -q status=500", "column 7"),
    ("tailor --confg x", "did you mean --config?"),
    ("tailor --standby x", "did you mean --backup?"),
    ("tailor --mode=watch", "did you mean --watch?"),
    ("tailor --hedging.mode=act", "--set hedging.mode=act"),
    ("tailor shimm", "did you mean shim?"),
    ("tailor file.json", "-c FILE"),
    ("tailor --set hedging.mode", "is not KEY=VALUE"),
    ("tailor shim --secnds 3", "did you mean --seconds?"),
    ("tailor-load --ratte 5 http://x/", "did you mean --rate?"),
    ("tailor-load chekc", "did you mean check?"),
    ("tailor-load ftp://localhost/", "another scheme than http://"),
    ("tailor-load https://x/", "measure behind the TLS proxy"),
    ("tailor test", "did you mean --test?"),
    ("tailor shim -p 1", "did you mean --pid?"),
    ("tailor shim nginx", "a process's number"),
    ("tailor :8080 :9001", "with --listen"),
    ("tailor start", "systemd or a signal starts"),
    ("tailor --observe", "did you mean --watch?"),
    ("tailor --target x", "did you mean --active?"),
    ("tailor --daemon", "foreground"),
    ("tailor --active :1 --active :2", "one --backup"),
    ("tailorctl status", "did you mean servers?"),
    ("tailorctl list", "did you mean slow?"),
    ("tailorctl explain x", "did you mean why?"),
    ("tailorctl swap", "did you mean switch?"),
    ("tailorctl stop", "SIGTERM ends Tailor"),
    ("tailorctl config", "tailor -T"),
    ("tailorctl log -f", "log follows without an option"),
    ("tailorctl slow --last 10m", "did you mean --since?"),
    ("tailorctl slow --limit 3", "did you mean --number?"),
    ("tailorctl blame --percentile p99", "a number above 50"),
    ("tailor reload", "\"tailorctl --help\" lists commands"),
    ("tailor --listen :1 --active ::1 9001", "part of an address: HOST:9001"),
    ("tailor -listen :1", "did you mean --listen?"),
    ("tailor -f x", "did you mean -c?"),
    ("tailor -d", "foreground"),
    ("tailor --log-level info", "--set log.level=info"),
    ("tailorctl version", "did you mean --version?"),
    ("tailorctl why -n 3", '"slow" lists several'),
    ("tailorctl log -n 3", "--stop-after ends log"),
    ("tailorctl slow -o x.html", '"why ID -o FILE" writes a page'),
    ("tailorctl slow 10", "a number is --number N"),
    ("tailorctl slow /price", "a path is --path PATH"),
    ("tailorctl blame /price", 'a route is --route "GET /path"'),
    ("tailor-load http://::1:80/", "[brackets] around an IPv6 address"),
    ("tailor-load", "tailor-load -r 100 -d 10s http://"),
    ("tailor-load --http2 http://x/", "only HTTP/1.1"),
    ("tailor-load --insecure https://x/", "measure behind"),
    ("tailor-load ab http://x/", "--a URL and --b URL"),
    ("tailor-load -o out.json http://x/", "a file is --json FILE"),
    # By meaning, and never a command that acts for one that asks.
    ("tailorctl watch", "did you mean log? It follows"),
    ("tailorctl maint a", "did you mean drain?"),
    ("tailorctl stats", "did you mean metrics?"),
    ("tailorctl hist", "top --by latency"),
    ("tailorctl ready", "did you mean servers?"),
    ("tailorctl enable a", "did you mean undrain?"),
    ("tailorctl ledger", "did you mean gain?"),
    ("tailorctl events", "did you mean log?"),
    ("tailorctl health", "did you mean servers?"),
    ("tailorctl swich", "did you mean switch?"),
    ("tailorctl relaod", "did you mean reload?"),
    ("tailorctl why 5 -o why.pdf", "cannot write a .pdf file"),
    ("tailorctl blame -o blame.csv", "--accounts"),
    ("tailorctl log -q total>20", "total is a time and needs a unit: 20ms"),
    ("tailorctl log -q ran_ns>5", "needs a unit: 5ms"),
    ("tailorctl blame -P 99", "unknown option -P"),
    ("tailor --dry-run", "did you mean --watch?"),
    ("tailorctl server", "did you mean servers?"),
    ("tailorctl slow --since 10min", "a time from 1s to 3650d"),
    ("tailorctl slow --sort latency", "time, total, server, cause or status"),
    ("tailorctl log --tail 10", "log --stop-after N"),
    ("tailorctl drain", "SERVER is missing"),
    ("tailorctl drain a b", '"b" is one word too many'),
    ("tailorctl deploy a", '"a" is one word too many'),
    ("tailorctl deploy --with", "--with needs an argument"),
    ("tailorctl deploy --hold 5x", "a number of seconds"),
    ("tailorctl restart a --all", "deploy restarts both"),
    ("tailorctl upgrade", "did you mean deploy?"),
    ("tailorctl metrics -i 0", "a number of seconds"),
    ("tailorctl requests 5", "a number is --number N"),
    ("tailorctl servers --admin", "--admin needs an argument"),
    ("tailor --verson", "did you mean --version?"),
    ("tailor-load -r 0 http://x/", "a rate of 0.001 to 10M per second"),
    ("tailor-load -d 5 -n 5 http://x/", "not both"),
    ("tailor-load find http://x/", "like --p99 10ms"),
    ("tailor-load find --p95 10ms http://x/", "did you mean --p90?"),
    ("tailor-load --p99 10ms http://x/", "find does"),
    ("tailor-load --fail p99 http://x/", "an expression like p99<20ms"),
    ("tailor-load http://x/ http://y/", '"http://y/" is one word too many'),
    ("tailor shim", "nothing to observe; give --pid"),
    ("tailor shim --pid x", "a whole number from 1"),
]


@pytest.mark.parametrize("command, sentence", COMMANDS)
def test_on_the_command_line(build, command, sentence):
    # Goal: status 2 and the nearest word, or the range, in 80 columns.
    program, *words = command.split()
    status, out, err = ran(build / program, *words)
    assert (status, out) == (2, "")
    assert sentence in err
    assert max(map(len, err.splitlines())) <= 80


@pytest.mark.parametrize("word", ["batch", "strain", "watch", "road", "unload"])
def test_no_acting_command_is_guessed(build, word):
    # Goal: a command that changes something is no guess for a word that is
    # two letters away from it.
    _, _, err = ran(build / "tailorctl", word)
    assert not any(f"did you mean {name}" in err for name in (
        "switch", "drain", "undrain", "restart", "reload")), err


def test_help_of_one_command(build):
    # Goal: with a command's name the help is of that command.
    for words in ("why --help", "--help why", "help why"):
        status, out, err = ran(build / "tailorctl", *words.split())
        assert (status, err) == (0, "")
        assert out.startswith("usage: tailorctl why [ID] [OPTION]...\n")
        assert "--output FILE" in out and "--cause" not in out


def test_options_of_another_command(build):
    # Goal: no option is suggested that the command does not take.
    for command in ("servers --watch", "live --port 9"):
        _, _, err = ran(build / "tailorctl", *command.split())
        assert "did you mean" not in err, err


# --- the start ----------------------------------------------------------------------
# Keys (%s: the scratch directory, %p: a port that is taken), the event that
# explains it, parts of that line.
NO_START = {
    "port in use": ({"listen": "127.0.0.1:%p"}, "listen_failed",
                    "Address already in use", "ss -ltnp"),
    "no such address": ({"listen": "192.0.2.1:8080"}, "listen_failed",
                        "this machine has no such address"),
    "metrics port in use": ({"metrics.listen": "127.0.0.1:%p"},
                            "listen_failed", "what=metrics", "ss -ltnp"),
    "admin in use": ({"admin": "unix:%s/taken.sock"}, "listen_failed",
                     "what=admin", "another program listens there",
                     "--admin ''"),
    "admin, a path alone": ({"admin": "%s/taken.sock"}, "listen_failed",
                            "another program listens there"),
    "admin's directory": ({"admin": "unix:%s/no/such/a.sock"},
                          "listen_failed", "does not exist", "--admin ''"),
    "admin is a file": ({"admin": "unix:%s/file"}, "listen_failed",
                        "not a socket", "--admin ''"),
    "access log": ({"access_log.path": "%s/no/access.log"},
                   "access_log_unusable", "No such file", "access_log.path"),
    "token": ({"talechain.token_file": "%s/none"}, "token_not_read",
              "No such file", "readable for tailor's user"),
}


def set_keys(keys, scratch, port=0):
    """The words of a command line for them, and for what else it needs."""
    return [word for key, value in {
        "listen": "127.0.0.1:0", "servers[0].address": "127.0.0.1:1",
        "admin": "unix:%s/a.sock", "profiler.stream": "",
        "profiler.channel_socket": "%s/c.sock", "profiler.kernel": "off",
        **keys}.items() for word in
            ("--set", f"{key}={value}".replace("%s", str(scratch))
             .replace("%p", str(port)))]


@pytest.mark.parametrize("what", NO_START)
def test_at_the_start(build, scratch, what):
    # Goal: a tailor that cannot serve ends, and its last line says what to do.
    keys, event, *parts = NO_START[what]
    (scratch / "file").touch()
    with socket.socket(socket.AF_UNIX) as unix, socket.socket() as taken:
        unix.bind(f"{scratch}/taken.sock")
        unix.listen()
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        status, _, err = ran(build / "tailor", *set_keys(
            keys, scratch, taken.getsockname()[1]))
    assert status == 1
    line = err.splitlines()[-1]
    assert f" {event} " in line, err
    for part in parts:
        assert part in line


MACHINE = {
    "user": ({"process.user": "no-such-user"}, "process.user: there is no user "
             "no-such-user; create it"),
    "group": ({"process.user": "daemon:no-such"}, "process.user: there is no "
              "group no-such; create it"),
    "root": ({"process.user": "root"}, "process.user: cannot be root"),
    "token": ({"talechain.token_file": "%s/none"}, "talechain.token_file: No "),
    "cpu": ({"proxy.cpu": "1023"}, "proxy.cpu: this machine, or Tailor's "
            "cgroup, has no CPU 1023; it runs on "),
    "cpus": ({"servers[0].launch.command": "true",
              "servers[0].launch.cpus": "1023"}, "servers[0].launch.cpus: "),
    "program": ({"servers[0].launch.command": "no-such-program"},
                "servers[0].launch.command: no program no-such-program in "
                "PATH ("),
    "its path": ({"servers[0].launch.command": "./file",
                  "servers[0].launch.directory": "%s"},
                 "servers[0].launch.command: %s/./file cannot be run: Permis"),
    "a directory": ({"servers[0].launch.command": "%s"},
                    "servers[0].launch.command: %s cannot be run: not a file"),
    "another PATH": ({"servers[0].launch.command": "true",
                      "servers[0].launch.environment": '{"PATH": "%s"}'},
                     "servers[0].launch.command: no program true in PATH (%s)"),
    "its directory": ({"servers[0].launch.command": "true",
                       "servers[0].launch.directory": "%s/file"},
                      "servers[0].launch.directory: %s/file: Not a directory"),
    "its output": ({"servers[0].launch.command": "true",
                    "servers[0].launch.output": "%s/no/such"},
                   "servers[0].launch.output: %s/no/such: No such file or "
                   "directory; make its directory"),
    "access log": ({"access_log.path": "%s/no/access.log"},
                   "access_log.path: %s/no/access.log: No such file"),
    "libjvm": ({"servers[0].jvm": "usdt:%s/none.so"},
               "servers[0].jvm: usdt:%s/none.so: No such file"),
}


@pytest.mark.parametrize("what", MACHINE)
def test_what_the_machine_lacks(build, scratch, what):
    # Goal: -t finds what a configuration names and this machine has not; with
    # it there is nothing to find.
    keys, sentence = MACHINE[what]
    (scratch / "file").touch()
    status, out, err = ran(build / "tailor", "-t", *set_keys(keys, scratch))
    assert (status, out) == (1, "")
    assert err.startswith("tailor: " + sentence.replace("%s", str(scratch)))
    assert err.count("\n") == 1
    (scratch / "file").chmod(0o755)
    status, _, err = ran(build / "tailor", "-t", *set_keys({
        "servers[0].launch.command": "./file", "proxy.cpu": "0",
        "servers[0].launch.directory": "%s", "servers[0].launch.cpus": "0",
        "access_log.path": "%s/access.log"}, scratch))
    assert (status, err) == (0, "")


@needs_root
@pytest.mark.parametrize("keys, user, event, parts", [
    ({"process.user": "no-such-user"}, 0, "not_dropped",
     ["there is no such user", "create it, or correct process.user"]),
    ({"process.user": "root"}, 0, "not_dropped", ["cannot be root"]),
    ({"process.user": "daemon"}, NOBODY, "not_dropped",
     ["start as root", "process.user"]),
    ({"admin": "unix:/run/a.sock"}, NOBODY, "listen_failed",
     ["Permission denied", "to which Tailor's user may write"]),
    ({"admin": "unix:%s/theirs/a.sock"}, 0, "listen_failed",
     ["what=admin", "another user"]),  # who could replace it
])
def test_as_the_wrong_user(public, scratch, keys, user, event, parts):
    # Goal: what the user may not do, and which key it comes from; rather no
    # tailor than one with privileges that were to go.
    scratch.chmod(0o777 | 0o1000)
    (scratch / "theirs").mkdir()
    os.chown(scratch / "theirs", 12345, 12345)
    status, _, err = ran(public / "tailor", *set_keys(keys, scratch),
                         user=user, group=user, extra_groups=[])
    assert status == 1
    line = err.splitlines()[-1]
    assert f" {event} " in line, err
    for part in parts:
        assert part in line


LAUNCH = {"name": "a", "address": "127.0.0.1:1"}
STARTS = {
    "no such program": (
        {"launch": {"command": ["/no/such/program"]}}, {}, "launch_failed",
        "/no/such/program", "there is no such program", "servers[0].launch"),
    "not a program": (
        {"launch": {"command": ["/etc/passwd"]}}, {}, "launch_failed",
        "may not run it"),
    "its directory": (
        {"launch": {"command": ["/bin/true"], "directory": "/no/such"}}, {},
        "launch_failed", "cannot enter its directory"),
    "its output": (
        {"launch": {"command": ["/bin/true"], "output": "/no/such/log"}}, {},
        "launch_output", "No such file", "make the directory"),
    "its CPUs": (
        {"launch": {"command": ["/bin/true"], "cpus": "1023"}}, {},
        "not_pinned", "Invalid argument", "servers[0].launch.cpus"),
    "it ends": (
        {"launch": {"command": ["/bin/false"]}}, {}, "launch_failed",
        "soon after its start", "its output says why"),
    "store": ({}, {"slow": {"store": "/proc/tales"}}, "store_in_memory",
              "/proc/tales", "will not survive a restart", "slow.store"),
    "spool": ({}, {"proxy": {"spool_directory": "/proc/spool"}},
              "spool_unusable", "/proc/spool", "proxy.spool_directory"),
    "stream": ({}, {"profiler": {"stream": "/no/such/stream"}},
               "stream_private", "tailorctl log cannot follow",
               "profiler.stream"),
    "channels": ({}, {"profiler": {"channel_socket": "/no/such/c.sock"}},
                 "channels_off", "profiler.channel_socket"),
}


@pytest.mark.parametrize("what", STARTS)
def test_what_is_missing_later(tailor, what):
    # Goal: what can be done without is done without; the log says what to do.
    server, sections, event, *parts = STARTS[what]
    t = tailor({**LAUNCH, **server}, ready=False,
               **merged({"profiler": QUICK}, sections))
    line = t.wait_log(f" {event} ")
    for part in parts:
        assert part in line
    assert t.running()


# --- a running tailor ----------------------------------------------------------------
def test_with_a_running_tailor(ctl, upstream, tailor, scratch):
    # Goal: what cannot be done is explained in 80 columns, with what to do.
    t = tailor(upstream("a").serve(), slow={"history": 16, "target": "600s"},
               profiler={**QUICK, "stream": ""})
    with t.client() as client:
        evicted = client.get("/first").get("x-request-id")
        for _ in range(20):
            client.get("/more")
        assert client.get("/.talechain/timeline/x").status == 404
    for words, *parts in [
            ("why nonsense", "no request had this x-request-id",
             '"tailorctl slow"', "proxy.trusted_proxies or talechain.allow"),
            (f"why {evicted}", "expired", "raise slow.history"),
            ("why nonsense --pin", "no request had this x-request-id"),
            ("drain nobody", 'no server is named "nobody"', "there is a"),
            ("drain a", "no other server is ready", "--force"),
            ("restart a", "did not launch"),
            ("undrain a", "already done"),
            ("switch", "there is no backup", "only one server"),
            ("slow --cause GC", "the codes: unknown client_send", " gc "),
            ("why slowest", "without an id, why takes the slowest"),
            ("log", "stream is private", "profiler.stream"),
            ("top --by cpu", "stream is private", "profiler.stream"),
            ("log -s /no/such", "No such file"),
            (f"why {evicted} -o /no/such/x", "expired")]:
        result = ctl("-a", t.admin, *words.split())
        assert (result.returncode, result.out) == (1, ""), words
        for part in parts:
            assert part in " ".join(result.err.split()), (words, result.err)
        assert "=" not in result.err  # the admin socket's own syntax
    states = ctl("-a", t.admin, "--json", "drain", "--force", "a").out
    assert json.loads(states.splitlines()[-1]) == {"server": "a",
                                                   "state": "drained"}


def test_another_listener(ctl, upstream, tailor, scratch):
    # Goal: the listener of clients, a socket that is gone, and another
    # program's are distinguished.
    t = tailor(upstream("a").serve(), profiler=QUICK)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(f"{scratch}/silent.sock")
        silent.listen()
        for admin, *parts in [
                (f"http://127.0.0.1:{t.port}", "is a URL"),
                (f"127.0.0.1:{t.port}", "not Tailor's JSON", f"try -a {t.port}"),
                (f"{scratch}/none.sock", "No such file", "Is it running?"),
                (f"127.0.0.1:{free_port()}", "refused", "Is it running?"),
                (f"{scratch}/silent.sock", "no response within 2 s")]:
            timeout = "2" if "silent" in admin else "20"
            result = ctl("-a", admin, "-t", timeout, "servers", wide=True)
            assert (result.returncode, result.out) == (1, "")
            for part in parts:
                assert part in result.err, result.err


@needs_root
def test_socket_of_another_user(public, upstream, tailor, scratch):
    # Goal: permission denied is answered with who may.
    t = tailor(upstream("a").serve(), profiler=QUICK)
    for place in (scratch, pathlib.Path(t.admin).parent):
        place.chmod(0o755)
    status, out, err = ran(public / "tailorctl", "-a", t.admin, "servers",
                           user=NOBODY, group=NOBODY, extra_groups=[])
    assert (status, out) == (1, "")
    assert "Permission denied" in err and "Run it as root" in err


def test_reload_of_an_error(ctl, upstream, tailor):
    # Goal: all errors, with their places; the old configuration stays.  What
    # changes is named.
    t = tailor(upstream("a").serve(), profiler=QUICK)
    path = pathlib.Path(t.directory, "tailor.json")
    wrong = {**t.config, "hedging": {"mode": "sometimes"},
             "slow": {"history": 77}, "proxi": {}}
    path.write_text(json.dumps(wrong, indent=1))
    result = ctl("-a", t.admin, "reload")
    assert (result.returncode, result.out) == (1, "")
    err = " ".join(result.err.split())
    assert 'hedging.mode: "sometimes" is not one of "act", "watch"' in err
    assert "proxi: unknown key; did you mean proxy?" in err
    path.write_text(json.dumps({**t.config, "slow": {"history": 77}}))
    result = ctl("-a", t.admin, "reload")
    assert result.returncode == 1
    assert "slow.history: a reload cannot change it; restart tailor" in " ".join(
        result.err.split())
    path.write_text(json.dumps({**t.config, "slow": {
        **t.config["slow"], "target": "3ms"}}))
    for said in "slow.target\n", "nothing has changed\n":
        result = ctl("-a", t.admin, "reload")
        assert (result.returncode, result.out, result.err) == (0, said, "")
    with t.client() as c:
        assert c.get().status == 200


def test_beside_a_running_tailor(build, upstream, tailor):
    # Goal: -t names what a reload would change, and what needs a restart, also
    # if the file is known by another path and names the tailor otherwise; of a
    # file that is not the running one's it says nothing.
    t = tailor(upstream("a").serve(), profiler=QUICK)
    path = pathlib.Path(t.directory, "tailor.json")
    link = path.with_name("link.json")
    link.symlink_to(path)

    def tested(file=path):
        status, out, err = ran(build / "tailor", "-t", "-c", file)
        assert (status, err) == (0, "")
        first, *more = out.splitlines()
        assert " is ok: 1 server" in first
        return more

    name = t.ask_json("/config")["instance"]
    assert tested() == [f"the running tailor {name} has it in force"]
    t.rewrite(slow={"target": "3ms"}, listen=[f"127.0.0.1:{free_port()}"])
    would = [f"a reload of the running tailor {name} would change:",
             "    listen", "    slow.target"]
    assert tested() == tested(link) == would
    t.rewrite(slow={"history": 77})
    first, error = tested()
    assert first == f"the running tailor {name} would refuse to reload it:"
    assert error.startswith("    slow.history: a reload cannot change it; rest")
    copy = path.with_name("copy.json")
    copy.write_bytes(path.read_bytes())
    assert tested(copy) == []


# --- systemd ----------------------------------------------------------------------------
def test_socket_unit_for_datagrams(build, scratch):
    # Goal: a socket that cannot be listened on is named; ListenDatagram= and
    # Accept=yes pass such ones.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wrong:
        wrong.bind(("127.0.0.1", 0))
        os.set_inheritable(wrong.fileno(), True)
        status, _, err = ran(
            "bash", "-c", f"exec 3<&{wrong.fileno()}; LISTEN_PID=$$ "
            'LISTEN_FDS=1 exec "$@"', "bash", build / "tailor",
            *set_keys({"listen": ""}, scratch), pass_fds=[wrong.fileno()])
    assert status == 1 and "ListenStream=" in err
