import unittest
from typing import Any

from gristmill import Failure, Int64, Stage, Utf8
from gristmill.testing import Harness, Run, Table

from transform import FreeText


def run(subjects: list[str | None], bodies: list[str | None], **config: Any) -> Run:
    table = Table.of(id=(Int64, range(len(bodies))), subject=(Utf8, subjects), body=(Utf8, bodies))
    return Harness(Stage.NORMALIZE, config).run(FreeText, table)


class FreeTextTest(unittest.TestCase):
    def test_messages_are_cleaned(self) -> None:
        done = run([" Re: order ", None, "a@b.example"], ["<p>Thanks!</p>", "call 030 1234567 #Urgent", "two words"])
        self.assertEqual(
            str(done.output()),
            "id | subject | body | words | masked | tags\n0 | Re: order | Thanks! | 1 | 0 | []\n"
            "1 | null | call [phone] #Urgent | 3 | 1 | ['urgent']\n2 | [e-mail] | two words | 2 | 1 | []\n",
        )
        self.assertEqual(done.rejects, [])

    def test_what_is_refused(self) -> None:
        done = run([None] * 5, ["fine", "<br>", None, "caf\ufffd", "one two three"], max_words=2)
        self.assertEqual(done.output()["id"], [0])
        self.assertEqual(
            done.reject_codes,
            [
                (1, "empty-text", "body"),
                (2, "empty-text", "body"),
                (3, "broken-encoding", "body"),
                (4, "too-long", "body"),
            ],
        )

    def test_no_rows(self) -> None:
        self.assertEqual(run([], []).output().rows, 0)

    def test_configuration(self) -> None:
        self.assertEqual(run([None], ["a@b.example"], mask=[]).output()["body"], ["a@b.example"])
        for config in ({"mask": "email"}, {"mask": ["name"]}, {"max_words": 0}, {"max_words": True}, {"maxwords": 1}):
            with self.subTest(str(config)), self.assertRaises(Failure) as raised:
                run([None], ["a"], **config)
            self.assertEqual(raised.exception.code, "bad-config")
