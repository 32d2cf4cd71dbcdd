"""nginx and HAProxy: their files and the commands that run them."""

import os
import pathlib
import shutil

NGINX = """{user}daemon off;
{main}
pid {directory}/nginx.pid;
error_log stderr {level};
events {{ worker_connections {connections}; }}
http {{
	client_body_temp_path {directory}/body;
	proxy_temp_path {directory}/proxy;
	fastcgi_temp_path {directory}/fastcgi;
	uwsgi_temp_path {directory}/uwsgi;
	scgi_temp_path {directory}/scgi;
{http}
}}
"""


def find(*names):
    """Path of the first of these programs that is installed, or None."""
    for name in names:
        path = shutil.which(name) or shutil.which(name, path="/usr/sbin")
        if path:
            return path
    return None


def nginx(directory, http, connections=1024, main="worker_processes 1;",
          level="warn"):
    """Write nginx.conf with this http block; the command that runs it."""
    path = pathlib.Path(directory, "nginx.conf")
    # As root, its workers would be another user and see nothing of ours.
    user = "user root;\n" if os.geteuid() == 0 else ""
    path.write_text(NGINX.format(
        user=user, main=main, directory=directory, level=level,
        connections=connections, http=http), encoding="utf-8")
    return [find("nginx"), "-p", directory, "-c", path, "-e", "stderr"]


def haproxy(directory, text):
    """Write haproxy.cfg; the command that runs it."""
    path = pathlib.Path(directory, "haproxy.cfg")
    path.write_text(text, encoding="utf-8")
    return [find("haproxy"), "-db", "-f", path]
