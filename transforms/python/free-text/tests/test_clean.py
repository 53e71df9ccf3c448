"""Each step of the cleaning, on texts that stand beside others."""

import unittest

from clean import MASKS, clean

ALL = list(MASKS)


class CleanTest(unittest.TestCase):
    def cleaned(self, *texts: str, mask: list[str] = ALL) -> list[str]:
        alone = [clean([text], mask).texts[0] for text in texts]
        together = clean(list(texts), mask)
        self.assertEqual(together.texts, alone, "texts do not touch each other")
        self.assertEqual(len(together.masked), len(texts))
        self.assertEqual(len(together.tags), len(texts))
        return alone

    def test_spaces(self) -> None:
        self.assertEqual(self.cleaned(" a \t b\n", "", "  ", "c", "\u00a0d\u2003e\x85"), ["a b", "", "", "c", "d e"])
        self.assertEqual(clean([], ALL).texts, [])

    def test_markup_and_entities(self) -> None:
        self.assertEqual(
            self.cleaned(
                "<p>Caf&eacute; &amp; <B id='x'>bar</B>!</p><br>",
                "a < b > c",
                "<3 you",
                "<!-- x --> y",
                "ends &am",
                "p;",
            ),
            ["Caf\u00e9 & bar!", "a < b > c", "<3 you", "y", "ends &am", "p;"],
        )
        self.assertEqual(self.cleaned("&lt;b&gt;"), ["<b>"])

    def test_tags_of_markup_do_not_reach_into_the_next_text(self) -> None:
        self.assertEqual(
            self.cleaned("open <b", "c> close", "<!-- open", "close -->"),
            ["open <b", "c> close", "<!-- open", "close -->"],
        )

    def test_characters_that_nobody_sees(self) -> None:
        self.assertEqual(
            self.cleaned(
                "a\x00b", "so\u00adft", "\ufeffx\u200b", "\u202eevil\u202c", "p\ue000q", "&#xe001;", "\x07bell"
            ),
            ["ab", "soft", "x", "evil", "pq", "", "bell"],
        )
        self.assertEqual(self.cleaned("e\u0301", "\u0301e", "👩\u200d💻"), ["\u00e9", "\u0301e", "👩\u200d💻"])

    def test_masks(self) -> None:
        found = clean(
            ["to a.b+c@mail.example.org now", "call +44 20 7946 0958 or (0)30 901820, no 12345", "no @ll"], ALL
        )
        self.assertEqual(found.texts, ["to [e-mail] now", "call [phone] or [phone], no 12345", "no @ll"])
        self.assertEqual(found.masked, [1, 2, 0])
        self.assertEqual(self.cleaned("a@b.example 030 1234567", mask=["email"]), ["[e-mail] 030 1234567"])
        self.assertEqual(self.cleaned("a@b.example", "c", mask=[]), ["a@b.example", "c"])
        self.assertEqual(clean(["literally [phone]"], ALL).masked, [0])

    def test_tags(self) -> None:
        found = clean(["#Refund please #refund #caf\u00e9", "issue #12, a#b, &#x41;", "#a_1 #\u00c9"], ALL)
        self.assertEqual(found.tags, [["refund", "caf\u00e9"], [], ["a_1", "\u00e9"]])
