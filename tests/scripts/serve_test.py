"""Tests that the page's server answers local requests, and that no client waits for another."""

import contextlib
import io
import socket
import threading
import time
from unittest import mock

from fixtures import InADirectory

from experiments import serve


class Served(InADirectory):
    def setUp(self):
        super().setUp()
        self.stderr = io.StringIO()
        self.enterContext(contextlib.redirect_stderr(self.stderr))
        self.one = self.enterContext(serve.server("the page", 0))
        thread = threading.Thread(target=self.one.serve_forever, args=[0.01])
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.one.shutdown)
        self.host = f"127.0.0.1:{self.one.server_port}"

    def connected(self):
        made = socket.create_connection(("127.0.0.1", self.one.server_port))
        self.addCleanup(made.close)
        return made

    def asked(self, request):
        one = self.connected()
        one.sendall(request)
        return b"".join(iter(lambda: one.recv(65536), b""))

    def status(self, path=b"/", method=b"GET", hosts=None):
        hosts = [self.host.encode()] if hosts is None else hosts
        lines = [method + b" " + path + b" HTTP/1.1", *(b"Host: " + host for host in hosts)]
        return int(self.asked(b"\r\n".join([*lines, b"", b""])).split()[1])

    def test_it_answers_the_page_by_the_names_of_this_machine(self):
        answer = self.asked(f"GET /?x HTTP/1.1\r\nHost: {self.host}\r\n\r\n".encode())
        head, _, body = answer.partition(b"\r\n\r\n")
        self.assertEqual(body, b"the page")
        for words in (b"Content-Security-Policy: default-src 'none'; script-src 'sha256-",
                      b"; frame-ancestors 'none'", b"X-Content-Type-Options: nosniff"):
            self.assertIn(words, head)
        for host in (*serve.HOSTS, "LocalHost"):
            named = f"{host}:{self.one.server_port}"
            self.assertEqual(self.status(hosts=[named.encode()]), 200)

    def test_other_requests_get_no_page(self):
        port, host = str(self.one.server_port).encode(), self.host.encode()
        wrong_hosts = (b"evil.example", b"evil.example:" + port, b"127.0.0.1", b"localhost",
                       b"127.0.0.1:1", b"localhost.:" + port, b"localhost.evil.example:" + port,
                       b"a@127.0.0.1:" + port, b"127.1:" + port, b"[::2]:" + port, b"")
        other_paths = (b"/index.html", b"/p5/", b"/p5/quick.csv", b"/../", b"/%2e%2e/",
                       b"/%2Fetc/passwd", b"/./", b"/%20", b"*", b"http://evil.example/")
        no_texts = (b"/%00", b"/a%00b", b"/\0", b"/%", b"/%2", b"/%zz", b"/?%g0", b"/\xff",
                    b"/\x01", b"/\x7f")
        for status, requests in (
                (421, [{"hosts": [wrong]} for wrong in wrong_hosts]),
                (400, [{"hosts": hosts} for hosts in ([], [host] * 2, [host, b"evil.example"])]),
                (404, [{"path": path} for path in other_paths]),
                (400, [{"path": path} for path in no_texts])):
            for request in requests:
                with self.subTest(request):
                    self.assertEqual(self.status(**request), status)
        self.assertEqual(self.stderr.getvalue(), "")

    def test_no_other_method_is_answered(self):
        self.assertEqual(self.status(method=b"HEAD"), 200)
        answer = self.asked(f"HEAD / HTTP/1.1\r\nHost: {self.host}\r\n\r\n".encode())
        self.assertTrue(answer.endswith(b"\r\n\r\n"))
        for method in (b"POST", b"PUT", b"DELETE", b"OPTIONS", b"TRACE", b"CONNECT", b"X"):
            with self.subTest(method=method):
                self.assertEqual(self.status(method=method), 501)

    def test_a_connection_that_says_nothing_or_has_no_end_is_ended(self):
        self.assertLess(0, serve.OnePage.timeout)
        with mock.patch.object(serve.OnePage, "timeout", 0.1):
            self.assertEqual(self.asked(b""), b"")
            self.assertEqual(self.asked(b"GET / HTTP/1.1\r\nHost: "), b"")
        with mock.patch.object(serve.OnePage, "longest", 0.2):
            slow = self.connected()
            with contextlib.suppress(OSError):
                while True:  # sends bytes, none too late, until the server closes the connection
                    slow.sendall(b"G")
                    time.sleep(0.02)
        self.assertEqual(self.stderr.getvalue(), "")

    def test_many_connections_that_wait_keep_no_reader_away(self):
        for name in ("timeout", "longest"):
            self.enterContext(mock.patch.object(serve.OnePage, name, 3600))
        waiting = [self.connected() for _ in range(3 * serve.Server.most)]
        for one in waiting:
            with contextlib.suppress(OSError):
                one.sendall(b"GET /")
        self.assertEqual(self.status(), 200)
        for one in waiting[:-serve.Server.most]:
            with contextlib.suppress(ConnectionResetError):
                self.assertEqual(one.recv(1), b"")  # the server has closed the oldest connections

    def test_a_client_that_is_gone_is_no_traceback(self):
        with mock.patch.object(serve.OnePage, "do_GET", side_effect=ConnectionResetError):
            self.assertEqual(self.asked(b"GET / HTTP/1.1\r\n\r\n"), b"")
        self.assertEqual(self.stderr.getvalue(), "")
