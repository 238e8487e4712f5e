"""Serves the page on this machine, for a browser that refuses to open files. The server writes
nothing and reads no other file, so it lists nothing and follows no link.

A foreign page in a browser can send requests to this server under a foreign host name that has the
address 127.0.0.1. So the server does not answer a request that names another host.
"""

import contextlib
import functools
import http.server
import re
import socket
import sys
import threading
import webbrowser

from experiments.errors import Refused
from experiments.page import policy

HOSTS = ("localhost", "127.0.0.1", "[::1]")
BAD_PATH = re.compile(r"%(?![0-9A-Fa-f]{2})|%00|[^!-~]")  # not only ASCII, or a wrong escape


class OnePage(http.server.BaseHTTPRequestHandler):
    timeout = 5  # seconds to wait for a byte
    longest = 60  # seconds that a connection may last

    def __init__(self, page, policy, *of_the_server):
        self._page, self._policy = page, policy
        super().__init__(*of_the_server)

    def handle(self):
        end = threading.Timer(self.longest, _end, [self.connection])
        end.daemon = True
        end.start()
        try:
            super().handle()
        finally:
            end.cancel()

    def _status(self):
        hosts, port = self.headers.get_all("Host") or [], self.server.server_port
        if len(hosts) != 1 or BAD_PATH.search(self.path):
            return http.HTTPStatus.BAD_REQUEST
        named = [f"{host}:{port}" for host in HOSTS] + (list(HOSTS) if port == 80 else [])
        if hosts[0].strip().lower() not in named:
            return http.HTTPStatus.MISDIRECTED_REQUEST
        here = self.path.partition("?")[0] == "/"
        return http.HTTPStatus.OK if here else http.HTTPStatus.NOT_FOUND

    def do_HEAD(self):
        """Sends the answer's head, and returns whether the page follows."""
        status = self._status()
        self.send_response(status)
        for name, value in (
                ("Content-Type", "text/html; charset=utf-8"),
                ("Content-Length", len(self._page) if status == http.HTTPStatus.OK else 0),
                ("Content-Security-Policy", f"{self._policy}; frame-ancestors 'none'"),
                ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
                ("Cross-Origin-Resource-Policy", "same-origin"), ("Cache-Control", "no-store")):
            self.send_header(name, str(value))
        self.end_headers()
        return status == http.HTTPStatus.OK

    def do_GET(self):
        if self.do_HEAD():
            self.wfile.write(self._page)

    def log_message(self, *_):
        pass


def _end(connection):
    """Shuts down a connection, so that the thread that waits for it ends."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class Server(http.server.ThreadingHTTPServer):
    """Keeps at most `most` connections, and ends the oldest connections if there are more."""

    most = 32
    request_queue_size = 128  # connections that wait for accept()

    def __init__(self, *given):
        self._connections, self._lock = [], threading.Lock()
        super().__init__(*given)

    def process_request(self, request, client_address):
        with self._lock:
            self._connections.append(request)
            while len(self._connections) > self.most:
                _end(self._connections.pop(0))
        super().process_request(request, client_address)

    def shutdown_request(self, request):
        with self._lock, contextlib.suppress(ValueError):
            self._connections.remove(request)
        super().shutdown_request(request)

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def server(page, port):
    """Returns an HTTP server of a page (a text), only on 127.0.0.1. Port 0: any free port."""
    handler = functools.partial(OnePage, page.encode(), policy())
    try:
        return Server(("127.0.0.1", port), handler)
    except (OSError, OverflowError) as error:
        raise Refused(f"port {port} cannot be used: {error}; --port=0 takes a free one") from error


def serve(page, port, browser):
    with server(page, port) as one:
        address = f"http://127.0.0.1:{one.server_port}/"
        print(f"{address} (Ctrl-C ends it)", flush=True)
        if browser:
            webbrowser.open(address)
        try:
            one.serve_forever()
        except KeyboardInterrupt:
            print("\nended")
