"""Serves the page on this machine, for readers whose browser refuses to open files. It writes
nothing."""

import functools
import http.server
import webbrowser

from experiments.errors import Refused


class OnePage(http.server.BaseHTTPRequestHandler):
    """Answers with the page, and knows nothing else."""

    def __init__(self, page, *of_the_server):
        self._page = page
        super().__init__(*of_the_server)

    def do_HEAD(self):
        here = self.path.partition("?")[0] == "/"
        self.send_response(200 if here else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(self._page)) if here else "0")
        self.end_headers()
        return here

    def do_GET(self):
        if self.do_HEAD():
            self.wfile.write(self._page)

    def log_message(self, *_):
        pass


def server(page, port):
    """Returns an HTTP server of this page (a text), on 127.0.0.1 only; port 0 takes a free one."""
    handler = functools.partial(OnePage, page.encode())
    try:
        return http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    except (OSError, OverflowError) as error:
        raise Refused(f"port {port} cannot be used: {error}; --port=0 takes a free one") from error


def serve(page, port, browser):
    """Serves until Ctrl-C."""
    with server(page, port) as one:
        address = f"http://127.0.0.1:{one.server_port}/"
        print(f"{address} (Ctrl-C ends it)", flush=True)
        if browser:
            webbrowser.open(address)
        try:
            one.serve_forever()
        except KeyboardInterrupt:
            print("\nended")
