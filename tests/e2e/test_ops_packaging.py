"""Goal: what is installed fits together: the unit is as tight as it says, and
the shells take the completion scripts."""

import fnmatch
import json
import os
import pathlib
import pty
import re
import select
import shutil

import pytest

from rig.process import ROOT, output, ran
from rig.wait import PATIENCE_S, wait_until
from support.admin import http


UNITS = ["tailor.service", "tailor@.service"]


def unit(tmp_path, name):
    text = (ROOT / "packaging" / name).read_text()
    path = tmp_path / name
    path.write_text(text.replace("@PREFIX@", "/usr")
                    .replace("@CONFIGURATION@", "/etc/tailor"))
    return path


@pytest.mark.skipif(shutil.which("systemd-analyze") is None,
                    reason="no systemd-analyze (Debian: systemd)")
@pytest.mark.parametrize("name,most", zip(UNITS, (2.0, 1.9)))
def test_exposure_of_the_unit(tmp_path, name, most):
    # Goal: systemd's own score is low; the one that launches nothing needs
    # less.
    run = ran("systemd-analyze", "security", "--offline=yes", "--no-pager",
              unit(tmp_path, name))
    found = re.search(r"exposure level for \S+: ([\d.]+)", run.out)
    assert found, run
    assert float(found.group(1)) <= most


@pytest.mark.skipif(shutil.which("systemd-analyze") is None,
                    reason="no systemd-analyze (Debian: systemd)")
@pytest.mark.parametrize("name", UNITS)
def test_systemd_reads_the_unit(build, tmp_path, name):
    # Goal: systemd finds nothing wrong, with the drop-in for the kernel's
    # events, and takes what that adds.
    path = unit(tmp_path, name)
    path.write_text(re.sub("/usr/s?bin", str(build), path.read_text()))
    if "@" in name:  # one of the template
        path = path.rename(tmp_path / "tailor@root.service")
    folder = tmp_path / f"{path.name}.d"
    folder.mkdir()
    shutil.copy(ROOT / "packaging/kernel.conf", folder)
    run = ran("systemd-analyze", "verify", "--man=no", path,
              env={**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:"})
    assert str(tmp_path) not in run.err and run.returncode == 0, run.err


def test_example_for_attaching(build):
    # Goal: the configuration that is to be copied is good, and launches
    # nothing.
    config = json.loads(output(build / "tailor", "-T", "-c",
                               ROOT / "examples/attach.json"))
    assert [s["launch"]["command"] for s in config["servers"]] == [[], []]
    assert config["hedging"]["mode"] == "watch"


@pytest.mark.parametrize("name", UNITS)
def test_unit_says_what_the_program_does(tmp_path, name):
    # Goal: notify, watchdog and a reload that waits for the result.
    text = unit(tmp_path, name).read_text()
    assert "\nType=notify\n" in text and "\nWatchdogSec=" in text
    assert re.findall(r"^ExecReload=(.*)", text, re.M) == [
        "/usr/bin/tailorctl reload"]


@pytest.fixture(name="built", scope="module")
def built_pages(tmp_path_factory):
    """This build with its manual pages, which are made here, for a test does
    not write into the build."""
    build = pathlib.Path(os.environ["TAILOR_BUILD"]).resolve()
    copy = tmp_path_factory.mktemp("build")
    pages = {p.stem: p.read_text() for p in (ROOT / "docs").glob("*.scd")}
    for name in ("tailor", "tailorctl", "tailor-load", "libtailor-jvm.so",
                 "timeline.schema.json"):
        if (build / name).exists():
            (copy / name).symlink_to(build / name)
    causes = [line.replace("_", "\\_").partition(":") for line in
              (build / "causes.txt").read_text().splitlines()]
    assert len(causes) > 30
    pages["tailor-timeline.5"] = pages["tailor-timeline.5"].replace(
        "@causes@", "\n".join(f"- *{code}*:{is_}" for code, _, is_ in causes))
    pages["tailor.conf.5"] = output(build / "tailor", "--manual")
    for name, *command in (("tailor.8", "tailor"), ("tailorctl.1", "tailorctl"),
                           ("tailor-load.1", "tailor-load"),
                           ("tailor-shim.1", "tailor", "shim"),
                           ("tailor-borrow.1", "tailor", "borrow")):
        options = output("tools/help-options", cwd=ROOT, stdin=None,
                         input=output(build / command[0], *command[1:],
                                      "--help"))
        assert "\n@options@\n" in pages[name]
        pages[name] = pages[name].replace("@options@", options)
    pages["tailor.8"] = pages["tailor.8"].replace("@requests@", (
        ROOT / "proxy/admin/page/index.txt").read_text().rstrip("\n"))
    pages["tailor-ring.7"] += \
        f"```\n{output(build / 'tailorctl', 'log', '--list')}```\n"
    (copy / "man").mkdir()
    for name, text in pages.items():
        (copy / "man" / name).write_text(
            output("scdoc", input=text, stdin=None))
    return copy


def install(root, prefix, built, *remove):
    """make install, or make uninstall; what it prints."""
    return output("tools/install-files", *remove, cwd=ROOT, env={
        **os.environ, "DESTDIR": str(root), "PREFIX": prefix,
        "BUILD": str(built)})


@pytest.fixture(name="installed", scope="module")
def installed_files(built, tmp_path_factory):
    """DESTDIR after an installation of this build under /usr."""
    root = tmp_path_factory.mktemp("root")
    install(root, "/usr", built)
    return root


def files_in(root):
    return {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()}


needs_scdoc = pytest.mark.skipif(shutil.which("scdoc") is None,
                                 reason="no scdoc")


@needs_scdoc
def test_installation(installed):
    # Goal: nothing lies outside of where it belongs, the unit names what was
    # installed, and a second installation keeps the configuration.
    files = files_in(installed)
    assert {f for f in files if not f.startswith("usr/")} == {
        "etc/tailor/tailor.json", "etc/logrotate.d/tailor"}
    units = installed / "usr/lib/systemd/system"
    for text in ((units / name).read_text() for name in UNITS):
        assert not re.search("@(PREFIX|CONFIG)", text)
        for path in re.findall(r"/(?:usr|etc)/[\w/.-]+", text):
            # What the administrator copies, and a template's configuration.
            assert path[1:] in files or path in (
                "/etc/tailor/", "/etc/tailor/tomcat.json"), path
    for program in ("usr/sbin/tailor", "usr/bin/tailorctl",
                    "usr/bin/tailor-load"):
        assert (installed / program).stat().st_mode & 0o777 == 0o755


@needs_scdoc
@pytest.mark.parametrize("prefix", ["/usr", "/usr/local", "/opt/x"])
def test_what_is_installed_is_removed(built, tmp_path, prefix):
    # Goal: uninstall removes every file, also without a build, and keeps what
    # the administrator has changed, and says so; directories of others stay.
    root = tmp_path / "root"
    other = root / prefix[1:] / "share/zsh/site-functions"
    other.mkdir(parents=True)
    assert install(root, prefix, built) == ""
    assert len(files_in(root)) > 60
    assert install(root, prefix, built) == ""  # again, over it
    assert install(root, prefix, tmp_path / "none", "remove") == ""
    assert not files_in(root) and other.is_dir()
    assert not [*root.rglob("tailor")]
    install(root, prefix, built)
    for changed in files_in(root):
        if changed.endswith(("tailor.json", "logrotate.d/tailor")):
            with open(root / changed, "a", encoding="utf-8") as file:
                file.write("\n")
    install(root, prefix, built)
    kept = install(root, prefix, built, "remove")
    assert {line.partition(f": {root}/")[2] for line in kept.splitlines()} == (
        files_in(root))
    assert len(files_in(root)) == 2


@needs_scdoc
def test_what_shells_and_logrotate_read(built, tmp_path):
    # Goal: under /usr/local, the default, too, completions and the rotation of
    # logs are where they are looked for.
    install(tmp_path, "/usr/local", built)
    files = files_in(tmp_path)
    assert "etc/logrotate.d/tailor" in files
    # bash-completion reads XDG_DATA_DIRS, which begins with /usr/local/share.
    assert "usr/local/share/bash-completion/completions/tailorctl" in files
    if shutil.which("zsh"):
        assert any(f"{path[1:]}/_tailorctl" in files for path in output(
            "zsh", "-fc", "print -l $fpath").splitlines())
    if shutil.which("fish"):
        found = output("fish", "-c", "printf '%s\\n' $fish_complete_path",
                       env={**os.environ, "XDG_DATA_DIRS": "",
                            "HOME": str(tmp_path)}).splitlines()
        assert any(f"{path[1:]}/tailorctl.fish" in files for path in found)


@needs_scdoc
def test_the_documents_are_whole(installed):
    # Goal: what the installed documents link to or show is installed too.
    doc = installed / "usr/share/doc/tailor"
    pages = list(doc.rglob("*.md"))
    assert len(pages) > 8
    missing = [(page.name, link) for page in pages
               for link in re.findall(r"\]\(\s*([^\s)#:]+)(?:#[^\s)]*)?\s*\)",
                                      page.read_text())
               if not (page.parent / link).is_file()]
    assert not missing


@needs_scdoc
def test_every_program_and_file_has_its_page(installed):
    # Goal: a page for each program and file, and in it every option.
    man = installed / "usr/share/man"
    for page, *command in (
            ("man8/tailor.8", "usr/sbin/tailor", "--help"),
            ("man1/tailorctl.1", "usr/bin/tailorctl", "--help"),
            ("man1/tailor-load.1", "usr/bin/tailor-load", "--help"),
            ("man1/tailor-shim.1", "usr/sbin/tailor", "shim", "--help"),
            ("man1/tailor-borrow.1", "usr/sbin/tailor", "borrow", "--help")):
        text = (man / page).read_text().replace("\\-", "-").replace(
            "\\fB", "").replace("\\fR", "").replace("\\fI", "")
        options = set(re.findall(r"(?<![\w-])(--[a-z][a-z0-9-]+)", output(
            installed / command[0], *command[1:])))
        assert len(options) > 4
        missing = [o for o in options if o not in text]
        assert not missing, (page, missing)
    for page in ("man5/tailor.conf.5", "man5/tailor-timeline.5",
                 "man7/tailor-ring.7"):
        assert (man / page).stat().st_size > 2000


@needs_scdoc
@pytest.mark.skipif(shutil.which("mandoc") is None, reason="no mandoc")
def test_pages_are_clean(installed):
    # Goal: mandoc finds nothing in a page but the empty paragraphs that scdoc
    # puts before and after each block; a tab that a page shows is found.
    pages = sorted((installed / "usr/share/man").rglob("tailor*.?"))
    assert len(pages) >= 7
    run = ran("mandoc", "-T", "lint", "-W", "warning", *pages)
    found = [line for line in (run.out + run.err).splitlines()
             if "skipping paragraph macro: PP" not in line]
    assert not found


@needs_scdoc
def test_the_packages_take_what_is_installed(installed):
    # Goal: each installed file is in a Debian package or left out on purpose,
    # and no package wants a file that there is not.
    files = files_in(installed)
    wanted = [line.split()[0] for path in (ROOT / "debian").glob("*.install")
              for line in path.read_text().splitlines()]
    wanted += (ROOT / "debian/not-installed").read_text().split()
    for pattern in wanted:
        taken = {f for f in files if fnmatch.fnmatch(f, pattern)
                 or f.startswith(pattern + "/")}
        assert taken, f"debian/*.install: {pattern}"
        files -= taken
    assert not files


def maintained(tmp_path, script, *arguments, refused=False):
    """What a maintainer script has systemd do, where there is a systemd, and
    what it prints; units that are refused do not restart."""
    (tmp_path / "systemd").mkdir(exist_ok=True)
    text = (ROOT / "debian" / f"tailor.{script}").read_text()
    assert "/run/systemd/system" in text
    copy = tmp_path / script
    copy.write_text(text.replace("/run/systemd/system",
                                 str(tmp_path / "systemd")))
    calls = tmp_path / f"{script}.calls"
    calls.write_text("")
    for name in ("deb-systemd-invoke", "systemctl"):
        fake = tmp_path / name
        fake.write_text(f'#!/bin/sh\necho "$@" >>{calls}\nexit '
                        f"{int(refused and name != 'systemctl')}\n")
        fake.chmod(0o755)
    run = ran("sh", copy, *arguments, cwd=tmp_path,
              env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert run.returncode == 0, run.err
    return [line.split() for line in calls.read_text().splitlines()], run.err


def test_services_stop_before_their_program_goes(tmp_path):
    # Goal: removing the package stops every unit in it; an upgrade stops none
    # and restarts what runs, instances too, or says that it could not.
    kinds = [p.name.replace("@", "@*") for p in
             (ROOT / "packaging").glob("*.s[eo][rc]*")]
    assert len(kinds) == 2
    (stopped, forgotten), _ = maintained(tmp_path, "prerm", "remove")
    assert forgotten == ["reset-failed", *stopped[1:]]
    assert stopped[0] == "stop" and sorted(stopped[1:]) == sorted(kinds)
    assert maintained(tmp_path, "prerm", "upgrade", "0.2")[0] == []
    calls, said = maintained(tmp_path, "postinst", "configure", "0.1")
    assert calls[0] == ["--system", "daemon-reload"] and said == ""
    assert sorted(calls[1:]) == sorted(["try-restart", k] for k in kinds)
    assert maintained(tmp_path, "postinst", "configure", "")[0] == []
    _, said = maintained(tmp_path, "postinst", "configure", "0.1", refused=True)
    assert all(f"{kind}: not restarted; the journal" in said for kind in kinds)


def test_purge_leaves_nothing(tmp_path):
    # Goal: neither state, logs nor sockets, of instances whose configuration
    # was removed before, too, nor the user if it is ours; nothing of others,
    # and what the administrator wrote is named.
    text = (ROOT / "debian/tailor.postrm").read_text()
    script = tmp_path / "postrm"
    script.write_text(re.sub(r"(?<=[\s!])/(?=var/|etc/|run/|dev/shm)",
                             f"{tmp_path}/", text))
    ours = [f"{kind}/tailor{name}" for kind in ("var/lib", "var/log", "run")
            for name in ("", "-tomcat", "-gone")]
    for path in [*ours, "var/log/other", "etc/tailor", "dev/shm"]:
        (tmp_path / path).mkdir(parents=True)
        (tmp_path / path / "file").touch()
    (tmp_path / "dev/shm/tailor-8080.stream").touch()
    fake = tmp_path / "bin"
    fake.mkdir()
    for name, body in (("getent", "cat passwd"), ("userdel", "echo $1 >>gone")):
        (fake / name).write_text(f"#!/bin/sh\n{body}\n")
        (fake / name).chmod(0o755)

    def run(word):
        result = ran("sh", script, word, cwd=tmp_path,
                     env={"PATH": f"{fake}:{os.environ['PATH']}"})
        assert result.returncode == 0
        return result.err

    user = "tailor:x:999:999:{}:/:/usr/sbin/nologin\n"
    (tmp_path / "passwd").write_text(user.format("A person"))
    for word in ("remove", "purge"):
        assert all((tmp_path / path).exists() for path in ours)
        said = run(word)
    assert not [path for path in ours if (tmp_path / path).exists()]
    assert (tmp_path / "var/log/other/file").exists()
    assert [p.name for p in (tmp_path / "dev/shm").iterdir()] == ["file"]
    assert said == f"tailor: {tmp_path}/etc/tailor/file was not removed\n"
    assert not (tmp_path / "gone").exists()
    name = re.search('"(.*)"', (ROOT / "packaging/tailor.sysusers").read_text())
    (tmp_path / "passwd").write_text(user.format(name[1]))
    run("purge")
    assert (tmp_path / "gone").read_text() == "tailor\n"


@pytest.mark.skipif(shutil.which("systemctl") is None,
                    reason="no systemctl (Debian: systemd)")
def test_logrotate_signals_by_any_systemd():
    # Goal: the option is --kill-who before systemd 252, and that word still
    # does as the beginning of --kill-whom.
    commands = re.findall(r"systemctl kill (.*) 2>", (
        ROOT / "packaging/tailor.logrotate").read_text())
    assert len(commands) == 2
    for command in commands:
        assert "--kill-who=main" in command.split()
        output("sh", "-c", f"systemctl kill --help {command}")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize("command", [["tailor", "--completion"],
                                     ["tailorctl", "completion"],
                                     ["tailor-load", "completion"]])
def test_completion(build, tmp_path, shell, command):
    # Goal: a script for each shell, which it can parse, and every option of
    # --help is offered, but no alias.
    text = output(build / command[0], command[1], shell)
    offered = output(build / command[0], "__complete", "--")
    for line in re.findall(r"^  (?:-.,|   ) (--[a-z0-9-]+.*)",
                           output(build / command[0], "--help"), re.M):
        if not re.search(r"\)$|for ab:|for find:", line):  # of some commands
            assert f"\n{line.split()[0]}\t" in "\n" + offered, line
    assert "--qps" not in offered
    script = tmp_path / "script"
    script.write_text(text)
    if shutil.which(shell):
        output(shell, "--no-execute" if shell == "fish" else "-n", script)


COMPLETED = [("tailor --compl", "tailor --completion"),
             ("tailorctl dra", "tailorctl drain"),
             ("tailor-load compl", "tailor-load completion"),
             ("tailor-load --expect-st", "tailor-load --expect-status"),
             ("tailorctl slow --cau", "tailorctl slow --cause")]


def served(admin):
    """What the running tailor lists; none of it is run by a shell."""
    admin.answers["GET /servers"] = http(200, json.dumps(
        {"servers": [{"name": "north"}, {"name": "south"}]}))
    admin.answers["GET /slow?n=20"] = http(200, json.dumps({"slow": [
        {"id": "req-1", "cause": "gc", "target": "/search?q=1"},
        {"id": "$(touch req-2)", "cause": "lock", "target": "/`id`"}]}))
    admin.answers["GET /metrics"] = http(200, "tailor_x_total{a=\"1\"} 1\n")


def values(admin):
    """Lines as typed and as completed, with values of options and commands."""
    ctl = f"tailorctl -a {admin.path}"
    return [(f"{ctl} {typed}", f"{ctl} {whole}") for typed, whole in [
        ("drain so", "drain south"), ("why ", "why req-1"),
        ("metrics tailor_x", "metrics tailor_x_total"),
        ("slow --cause l", "slow --cause lock"),
        ("slow --path ", "slow --path /search"),
        ("slow --sort ser", "slow --sort server"),
        ("top --by w", "top --by waker"), ("completion z", "completion zsh")]
    ] + [("tailor --set hedging.mo", "tailor --set hedging.mode=")]


def scripts(build, directory, shell, suffix=""):
    """All scripts, named as the shell wants them."""
    for command in (["tailor", "--completion"], ["tailorctl", "completion"],
                    ["tailor-load", "completion"]):
        name = f"{command[0]}{suffix}" if suffix else f"_{command[0]}"
        (directory / name).write_text(
            output(build / command[0], command[1], shell))


class Zsh:
    """An interactive zsh on a terminal of its own."""

    def __init__(self, directory, build):
        pid, self._fd = pty.fork()
        if pid == 0:
            os.execvpe("zsh", ["zsh", "-f", "-i"], {
                **os.environ, "TERM": "dumb", "HOME": str(directory),
                "PATH": f"{build}:{os.environ['PATH']}"})
        self._seen = b""
        # The words are put together by the shell, so that their echo is
        # not taken for their output.
        self.write(f"fpath=({directory} $fpath); autoload -U compinit; "
                   "compinit -u -D; print re''ady\n")
        self.until(b"ready")

    def write(self, text):
        os.write(self._fd, text.encode())

    def until(self, pattern):
        """The first match of what it writes from now on."""
        while not (found := re.search(pattern, self._seen)):
            ready, _, _ = select.select([self._fd], [], [], PATIENCE_S)
            assert ready, self._seen
            self._seen += os.read(self._fd, 4096)
        self._seen = self._seen[found.end():]
        return found

    def complete(self, line):
        """The line after a press of TAB."""
        self.write(f"{line}\t")
        self.write("\x01print -r 'b''eg'in '\x05' e''nd\n")
        return self.until(rb"begin (.*?) ?end\r")[1].decode().strip()

    def close(self):
        os.close(self._fd)


def fish(build, directory):
    """It prints what it would complete, with a description."""
    return lambda typed: [line.split("\t")[0] for line in output(
        "fish", "--no-config", "-c",
        f"source {directory / typed.split()[0]}.fish; complete -C '{typed}'",
        env={**os.environ, "PATH": f"{build}:{os.environ['PATH']}"}
    ).splitlines()]


def bash(build, directory):
    """Its function leaves what it would complete in COMPREPLY."""
    def complete(typed):
        program = typed.split()[0]
        return output(
            "bash", "-c", f". '{directory}/_{program}'; COMP_WORDS=(\"$@\"); "
            f"COMP_CWORD=$(($# - 1)); _{program}; echo \"${{COMPREPLY[*]}}\"",
            "bash", *typed.split(" "), cwd=directory,
            env={**os.environ, "PATH": f"{build}:{os.environ['PATH']}"}).split()
    return complete


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes(build, tmp_path, admin, shell):
    # Goal: in a real shell TAB completes commands and options, also those
    # behind a command, and values, some from the running tailor: it waits for
    # that no longer than a second, which is not long for a busy machine.  What
    # a client wrote into its path is never run.
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")
    scripts(build, tmp_path, shell, ".fish" if shell == "fish" else "")
    served(admin)
    if shell == "zsh":
        zsh = Zsh(tmp_path, build)

        def complete(typed):
            return [zsh.complete(typed).split()[-1]]
    else:
        complete = {"bash": bash, "fish": fish}[shell](build, tmp_path)
    for typed, whole in COMPLETED:
        assert complete(typed) == [whole.split()[-1]]
    for typed, whole in values(admin):
        wait_until(lambda typed=typed, whole=whole:
                   whole.split()[-1] in complete(typed), f"{typed} is {whole}")
    if shell == "zsh":
        zsh.close()
    if shell == "bash":
        for typed in ("servers --nu", "why $", "slow --path /`"):
            assert complete(f"tailorctl -a {admin.path} {typed}") == []
    assert not (tmp_path / "req-2").exists()
