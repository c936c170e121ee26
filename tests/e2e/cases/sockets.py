#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A backend behind a unix socket, bridged by a catalogue of one's own."""

import os
import tempfile

from dbr_cases import Fake, has, main, shell, want

CATALOGUE = """<catalogue name="cabinet" xmlns="urn:drawbridge:catalogue:1">
  <title>A cabinet</title>
  <instructions>One drawer.</instructions>
  <backend server-name="cabinet" socket-env="CABINET_SOCKET" prefix="/api"><error detail="$.detail"/></backend>
  <category name="all">All</category>
  <tool name="get_drawer" category="all">
    <title>The drawer</title><description>What is in the drawer.</description>
    <request id="drawer" path="/drawer"/>
    <answer><line>{$.drawer.holds}</line></answer>
  </tool>
</catalogue>
"""


def call(folder, path):
    file = os.path.join(folder, "cabinet.xml")
    with open(file, "w", encoding="utf-8") as out:
        out.write(CATALOGUE)
    return shell("call", "--catalogue", file, "get_drawer", env={"CABINET_SOCKET": path})


def over_a_socket():
    """A call goes over the socket; an answer that isn't ours is an error that names it"""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "s")
        with Fake("--listen", path):
            status, out, err = call(folder, path)
            want(status == 1, out, err)
            has(err, path, "404")


def missing_socket():
    """A socket that isn't there, that nobody listens on or whose path is too long is named by its path"""
    with tempfile.TemporaryDirectory() as folder:
        plain = os.path.join(folder, "plain")
        with open(plain, "wb"):
            pass
        for path in (os.path.join(folder, "none"), plain, os.path.join(folder, "x" * 120)):
            status, out, err = call(folder, path)
            want(status == 1, out, err)
            has(err, path, "Nothing was sent")


def unusable_variable():
    """A variable that is empty or was not filled in is refused by its name"""
    with tempfile.TemporaryDirectory() as folder:
        for value in ("", " ", "${SOCKET}"):
            status, _, err = call(folder, value)
            want(status == 1, err)
            has(err, "CABINET_SOCKET")


if __name__ == "__main__":
    main([over_a_socket, missing_socket, unusable_variable])
