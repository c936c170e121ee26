#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The API behind doc/example-catalogue.xml: a shelf of books, in memory.

Listens on a free port of 127.0.0.1, prints "port N" and ends when its standard input ends.
With SHELF_TOKEN in its environment it wants "Authorization: Bearer <that>". With --log FILE it
writes one line a request: method, path with query, body.
"""

import http.server
import json
import os
import re
import sys
import threading
import urllib.parse

TITLES = [
    ("Persuasion", "Austen", 1817), ("Emma", "Austen", 1815), ("Middlemarch", "Eliot", 1871),
    ("Silas Marner", "Eliot", 1861), ("Villette", "Brontë", 1853), ("Shirley", "Brontë", 1849),
    ("Kim", "Kipling", 1901), ("Nostromo", "Conrad", 1904), ("Lord Jim", "Conrad", 1900),
    ("Orlando", "Woolf", 1928), ("The Waves", "Woolf", 1931), ("Ulysses", "Joyce", 1922),
]


def make_books():
    books = {}
    for number, (title, author, year) in enumerate(TITLES, 1):
        books["b%d" % number] = {
            "id": "b%d" % number, "title": title, "author": author, "year": year,
            "lent_to": None, "lent_at": None, "review_ids": [],
        }
    books["b1"]["review_ids"] = [101, 102, 103, 104]
    books["b2"].update(lent_to="Ada", lent_at="2026-01-02T03:04:05Z")
    return books


BOOKS = make_books()
LOCK = threading.Lock()


class Shelf(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "shelf"
    log_file = None

    def log_message(self, *_):
        pass

    def answer(self, status, value=None):
        body = b"" if value is None else json.dumps(value, ensure_ascii=False).encode()
        self.send_response(status)
        if value is not None:
            self.send_header("Content-Type", "application/json")
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def fail(self, status, detail):
        self.answer(status, {"detail": detail})

    def handle_request(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else b""
        if self.log_file:
            with LOCK, open(self.log_file, "a", encoding="utf-8") as log:
                log.write("%s %s %s\n" % (self.command, self.path, body.decode("utf-8", "replace")))
        token = os.environ.get("SHELF_TOKEN")
        if token and self.headers.get("Authorization") != "Bearer " + token:
            return self.fail(401, "Not authenticated")
        path, _, query = self.path.partition("?")
        self.query = urllib.parse.parse_qs(query)
        try:
            self.sent = json.loads(body) if body else {}
        except ValueError:
            return self.fail(422, "The body is not JSON")
        with LOCK:
            return self.route(urllib.parse.unquote(path))

    do_GET = do_POST = do_PATCH = do_DELETE = handle_request

    def route(self, path):
        if (self.command, path) == ("GET", "/api/books"):
            return self.list_books()
        if (self.command, path) == ("POST", "/api/books/search"):
            words = str(self.sent.get("words", "")).lower()
            found = [b for b in BOOKS.values() if words in (b["title"] + " " + b["author"]).lower()]
            return self.answer(200, {"books": found})
        if self.command == "GET" and re.fullmatch(r"/api/reviews/\d+", path):
            number = int(path.rsplit("/", 1)[1])
            if number == 102:
                return self.fail(500, "The review is lost")
            return self.answer(200, {"id": number, "stars": number % 5, "text": "Review %d" % number})
        match = re.fullmatch(r"/api/books/([^/]+)", path)
        if match:
            return self.one_book(match.group(1))
        return self.fail(404, "There is nothing at " + path)

    def list_books(self):
        books = list(BOOKS.values())
        if "author" in self.query:
            books = [b for b in books if b["author"] == self.query["author"][0]]
        if "lent" in self.query:
            books = [b for b in books if (b["lent_to"] is not None) == (self.query["lent"][0] == "true")]
        limit = min(int(self.query.get("limit", ["20"])[0]), 20)
        offset = int(self.query.get("offset", ["0"])[0])
        return self.answer(200, {"books": books[offset:offset + limit], "total": len(books)})

    def one_book(self, book_id):
        book = BOOKS.get(book_id)
        if book is None:
            return self.fail(404, "There is no book %s" % book_id)
        if self.command == "GET":
            return self.answer(200, book)
        if self.command == "DELETE":
            del BOOKS[book_id]
            return self.answer(204)
        borrower = self.sent.get("lent_to") or None
        if borrower and book["lent_to"] not in (None, borrower):
            return self.fail(409, "%s has it" % book["lent_to"])
        book.update(lent_to=borrower, lent_at="2026-01-02T03:04:05Z" if borrower else None)
        return self.answer(200, book)


def main():
    if sys.argv[1:2] == ["--log"]:
        Shelf.log_file = sys.argv[2]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shelf)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("port", server.server_address[1], flush=True)
    sys.stdin.read()
    server.shutdown()


if __name__ == "__main__":
    main()
