#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The worked example of doc/catalogue.md against its API: the catalogue does what its text says."""

import os
import re
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("G_TEST_SRCDIR", os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.environ.get("G_TEST_BUILDDIR", os.getcwd())
TOKEN = "sesame-open-sesame"
WRITES = {"SHELF_ALLOW_WRITES": "1"}
DELETES = {"SHELF_ALLOW_WRITES": "1", "SHELF_ALLOW_DELETES": "1"}

# (words after "call", variables, exit status, what is printed; URL stands for the origin)
CALLS = [
    (["list_books", "limit=3"], {}, 0,
     "3 books (1-3 of 12)\nb1 | Persuasion | Austen\nb2 | Emma | Austen | lent to Ada, AGO\n"
     "b3 | Middlemarch | Eliot\nNext page: drawbridge call --catalogue * list_books limit=3 offset=3\n"),
    (["list_books", "author=Eliot", "lent="], {}, 0,
     "2 books (1-2 of 2)\nb3 | Middlemarch | Eliot\nb4 | Silas Marner | Eliot\n"),
    (["list_books", "lent=true"], {}, 0, "1 book (1-1 of 1)\nb2 | Emma | Austen | lent to Ada, AGO\n"),
    (["list_books", "limit=21"], {}, 1, "Nothing was sent: *\nlimit: 21 is over the maximum, 20.\n"),
    (["list_books", "auhtor=Eliot"], {}, 1,
     "Nothing was sent: *\nthere is no argument \"auhtor\"; did you mean \"author\"? Known: author, lent, limit, offset.\n"),
    (["get_book", "book_id=b1"], {}, 0,
     "Persuasion by Austen, 1817\nReviews\n  1 star: Review 101\n  3 stars: Review 103\n"
     "  Review 102 could not be read: *\n  The first 3 of 4.\n"),
    (["get_book", "book_id=b2"], {}, 0, "Emma by Austen, 1815\nLent to Ada since 2026-01-02 03:04:05Z.\n"),
    (["get_book", "book_id=b99"], {}, 1,
     "URL/api/books/b99 answered 404 Not Found: There is no book b99\nlist_books shows the ids that exist.\n"),
    (["get_book"], {}, 1, "Nothing was sent: *\nbook_id: is required: The book's id, as list_books shows it.\n"),
    (["get_book", "book_id=../secrets"], {}, 1, "Nothing was sent: the arguments of get_book are not right.\nbook_id: the value holds \"/\"*\n"),
    (["find_books", "words=bro"], {}, 0, "2 books with \"bro\".\nid | title\nb6 | Shirley\nb5 | Villette\n"),
    (["lend_book", "book_id=b1", "borrower=Bob"], {}, 1, "Refused, nothing was sent: lend_book needs write access*\n"),
    (["lend_book", "book_id=b1", "borrower=Bob"], WRITES, 0, "Persuasion: now with Bob, at URL\n"),
    (["lend_book", "book_id=b2", "borrower=Bob"], WRITES, 1,
     "URL/api/books/b2 answered 409 Conflict: Ada has it\nSomebody else has it: get_book says who.\n"),
    (["lend_book", "book_id=b2"], WRITES, 0, "Emma: now with nobody, so on the shelf, at URL\n"),
    (["remove_book", "book_id=b3", "--yes"], WRITES, 1, "Refused, nothing was sent: remove_book needs delete access*\n"),
    # Without a terminal and without --yes a delete is not sent, whatever the flags say.
    (["remove_book", "book_id=b3"], DELETES, 1, "*Nothing was sent: DELETE *"),
    (["remove_book", "book_id=b3", "--yes"], DELETES, 0, "Removed b3, at URL\n"),
    (["list_books", "author=Eliot"], {}, 0, "1 book (1-1 of 1)\nb4 | Silas Marner | Eliot\n"),
]

REQUESTS = """\
GET /api/books?limit=3&offset=0
GET /api/books?author=Eliot&limit=10&offset=0
GET /api/books?lent=true&limit=10&offset=0
GET /api/books/b1
GET /api/reviews/101
GET /api/reviews/102
GET /api/reviews/103
GET /api/books/b2
GET /api/books/b99
POST /api/books/search {"words":"bro"}
PATCH /api/books/b1 {"lent_to":"Bob"}
PATCH /api/books/b2 {"lent_to":"Bob"}
PATCH /api/books/b2 {"lent_to":null}
DELETE /api/books/b3
GET /api/books?author=Eliot&limit=10&offset=0
"""


CHECKED = """\
OK FILE: shelf, "A shelf of books"
  origin: http://localhost:8080, prefix "/api"
  variables:
    SHELF_URL                    the server's address
    SHELF_TOKEN                  a token
    SHELF_ALLOW_WRITES           opens writes
    SHELF_ALLOW_DELETES          opens deletes, together with writes
  access other than the method says:
    POST /books/search is a read
    PATCH /books is a delete
    /secrets and all below it is denied
  5 tools:
    list_books                   read
    get_book                     read
    find_books                   read
    lend_book                    write
    remove_book                  delete
"""


def check_command(program, catalogue, number):
    """drawbridge catalogue check: what a file reaches; every bad file's problems, and the good ones all the same."""
    bad = os.path.join(SOURCE, "tests", "contract", "catalogue", "bad", "param-type")
    with open(os.path.join(bad, "error"), encoding="utf-8") as text:
        problem = text.read().split("\n", 1)[1].replace("input.xml", os.path.join(bad, "input.xml"))
    cases = [
        ("a good file", [catalogue], 0, CHECKED.replace("FILE", catalogue), ""),
        ("a bad and a good file", [os.path.join(bad, "input.xml"), catalogue], 2, CHECKED.replace("FILE", catalogue), problem),
        ("no file", [], 2, "", "drawbridge catalogue: write \"drawbridge catalogue check FILE...\"\n"),
    ]
    for name, files, status, out, err in cases:
        run = subprocess.run([program, "catalogue", "check"] + files, timeout=60, stdin=subprocess.DEVNULL,
                             capture_output=True, text=True)
        fine = (run.returncode, run.stdout, run.stderr) == (status, out, err)
        print("%s %d - catalogue check: %s" % ("ok" if fine else "not ok", number, name))
        if not fine:
            print("\n".join("# " + line for line in (run.stdout + run.stderr).splitlines()))
        number += 1


def smallest(program, number):
    """The catalogue that doc/catalogue.md begins with is whole, and does what one expects of it."""
    with open(os.path.join(SOURCE, "doc", "catalogue.md"), encoding="utf-8") as page:
        text = re.search(r"^```xml\n(<catalogue .*?)^```", page.read(), re.M | re.S).group(1)
    with tempfile.TemporaryDirectory() as folder:
        catalogue = os.path.join(folder, "books.xml")
        with open(catalogue, "w", encoding="utf-8") as file:
            file.write(text)
        api = subprocess.Popen([sys.executable, os.path.join(SOURCE, "tests", "lib", "shelf-api.py")], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, env={k: v for k, v in os.environ.items() if k != "SHELF_TOKEN"})
        try:
            url = "http://127.0.0.1:" + api.stdout.readline().split()[1]
            for words, wanted in (
                (["catalogue", "check", catalogue], "OK %s: books, \"Books\"\n  origin: http://localhost:8080, prefix \"\"\n  variables:\n"
                 "    BOOKS_URL                    the server's address\n  1 tool:\n    list_books                   read\n" % catalogue),
                (["call", "--catalogue", catalogue, "list_books", "author=Eliot"], "2 books\nb3 | Middlemarch | Eliot\nb4 | Silas Marner | Eliot\n"),
            ):
                run = subprocess.run([program] + words, timeout=60, env=dict(os.environ, BOOKS_URL=url), stdin=subprocess.DEVNULL,
                                     capture_output=True, text=True)
                fine = (run.returncode, run.stdout, run.stderr) == (0, wanted, "")
                print("%s %d - the smallest catalogue: %s" % ("ok" if fine else "not ok", number, words[0]))
                if not fine:
                    print("\n".join("# " + line for line in (run.stdout + run.stderr).splitlines()))
                number += 1
        finally:
            api.stdin.close()
            api.wait(timeout=60)


def matches(got, wanted, url):
    got = re.sub(r"\d+ (d|h|min|s|y|months?|years?) ago", "AGO", got.replace(url, "URL"))
    if "*" not in wanted:
        return got == wanted
    pattern = ".*".join(re.escape(piece) for piece in wanted.rstrip("\n").split("*"))
    return re.fullmatch(pattern, got.rstrip("\n"), re.S) is not None


def main():
    catalogue = os.path.join(SOURCE, "doc", "example-catalogue.xml")
    program = os.path.join(BUILD, "drawbridge")
    print("1..%d" % (len(CALLS) + 6))
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "requests")
        api = subprocess.Popen(
            [sys.executable, os.path.join(SOURCE, "tests", "lib", "shelf-api.py"), "--log", log],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(os.environ, SHELF_TOKEN=TOKEN))
        try:
            url = "http://127.0.0.1:" + api.stdout.readline().split()[1]
            base = dict(os.environ, SHELF_URL=url, SHELF_TOKEN=TOKEN)
            for number, (words, variables, status, wanted) in enumerate(CALLS, 1):
                run = subprocess.run([program, "call", "--catalogue", catalogue] + words, timeout=60,
                                     env=dict(base, **variables), stdin=subprocess.DEVNULL, capture_output=True, text=True)
                got = run.stdout + run.stderr
                fine = run.returncode == status and matches(got, wanted, url) and TOKEN not in got
                print("%s %d - %s" % ("ok" if fine else "not ok", number, " ".join(words)))
                if not fine:
                    print("# status %d, printed:" % run.returncode)
                    print("\n".join("# " + line for line in got.splitlines()))
        finally:
            api.stdin.close()
            api.wait(timeout=60)
        with open(log, encoding="utf-8") as lines:
            sent = sorted(line.rstrip() for line in lines)
        fine = sent == sorted(REQUESTS.splitlines())
        print("%s %d - exactly these requests were sent" % ("ok" if fine else "not ok", len(CALLS) + 1))
        if not fine:
            print("\n".join("# " + line for line in sent))
    check_command(program, catalogue, len(CALLS) + 2)
    smallest(program, len(CALLS) + 5)


if __name__ == "__main__":
    main()
