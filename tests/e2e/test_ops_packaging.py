"""Goal: what is installed fits together: the unit is as tight as it says, and
the shells take the completion scripts."""

import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def unit(tmp_path):
    text = (ROOT / "packaging/tailor.service").read_text()
    path = tmp_path / "tailor.service"
    path.write_text(text.replace("@PREFIX@", "/usr")
                    .replace("@CONFIGURATION@", "/etc/tailor"))
    return path


@pytest.mark.skipif(shutil.which("systemd-analyze") is None,
                    reason="no systemd-analyze (Debian: systemd)")
def test_exposure_of_the_unit(tmp_path):
    # Goal: systemd's own score is 2.0 at most.
    run = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", "--no-pager",
         str(unit(tmp_path))], text=True, capture_output=True, check=False)
    found = re.search(r"exposure level for \S+: ([\d.]+)", run.stdout)
    assert found, run.stdout + run.stderr
    assert float(found.group(1)) <= 2.0


def test_unit_says_what_the_program_does(tmp_path):
    # Goal: notify, watchdog and a reload that is checked first.
    text = unit(tmp_path).read_text()
    assert "\nType=notify\n" in text and "\nWatchdogSec=" in text
    reloads = re.findall(r"^ExecReload=(.*)", text, re.M)
    assert reloads[0].startswith("/usr/sbin/tailor -t")
    assert reloads[1].endswith("-HUP $MAINPID")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize("command", [["tailor", "--completion"],
                                     ["tailorctl", "completion"]])
def test_completion(build, tmp_path, shell, command):
    # Goal: a script for each shell that names every option, and that the
    # shell itself can parse.
    run = subprocess.run([build / command[0], command[1], shell], text=True,
                         capture_output=True, check=True)
    listed = subprocess.run([build / command[0], "--help"], text=True,
                            capture_output=True, check=True).stdout
    for option in re.findall(r"^ .*?--([a-z-]+)", listed, re.M):
        assert re.search(rf"(--|-l ){option}\b", run.stdout), option
    script = tmp_path / "script"
    script.write_text(run.stdout)
    if shutil.which(shell):
        check = "--no-execute" if shell == "fish" else "-n"
        subprocess.run([shell, check, str(script)], check=True)


def test_completion_of_no_such_shell(build):
    # Goal: another shell is status 2 and says which there are.
    for command in (["tailor", "--completion", "csh"],
                    ["tailorctl", "completion", "csh"]):
        run = subprocess.run([build / command[0], *command[1:]], text=True,
                             capture_output=True, check=False)
        assert run.returncode == 2 and "fish" in run.stderr
