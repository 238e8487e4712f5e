"""Serves the report on this machine, for readers whose browser refuses to open files."""

import functools
import http.server
import webbrowser

from experiments.errors import Refused


PAGE = "/report/index.html"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/":
            self.path = PAGE
        super().do_GET()

    def log_message(self, *_):
        pass


def server(folder, port):
    """Returns an HTTP server of the files in `folder`, on 127.0.0.1 only; port 0 takes a
    free one."""
    handler = functools.partial(Quiet, directory=str(folder))
    try:
        return http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    except (OSError, OverflowError) as error:
        raise Refused(f"port {port} cannot be used: {error}; --port=0 takes a free one") from error


def serve(folder, port, browser):
    """Serves until Ctrl-C."""
    with server(folder, port) as one:
        address = f"http://127.0.0.1:{one.server_port}/"
        print(f"{address} (Ctrl-C ends it)", flush=True)
        if browser:
            webbrowser.open(address)
        try:
            one.serve_forever()
        except KeyboardInterrupt:
            print("\nended")
