"""Messages that people wrote, cleaned: without markup and control characters, with addresses and numbers masked."""

from operator import add
from typing import Any

from gristmill import (
    Batch,
    Failure,
    Int32,
    Outputs,
    Plan,
    Reject,
    Setup,
    Stage,
    Transform,
    Utf8,
    export,
    list_of,
)

from clean import MASKS, clean


@export
class FreeText(Transform):
    def plan(self, setup: Setup, plan: Plan) -> None:
        setup.require_stage(Stage.NORMALIZE)
        setup.require_keys("mask", "max_words")
        self.mask = mask_of(setup.config.get("mask", list(MASKS)))
        self.max_words = max_words_of(setup.config.get("max_words"))

        self.subject = plan.read("subject", Utf8)
        self.body = plan.read("body", Utf8)
        self.records = plan.output("records")
        for field in setup.input:
            if field.name not in ("subject", "body"):
                self.records.forward(field.name)
        self.clean_subject = self.records.compute("subject", Utf8)
        self.clean_body = self.records.compute_required("body", Utf8)
        self.words = self.records.compute_required("words", Int32)
        self.masked = self.records.compute_required("masked", Int32)
        self.tags = self.records.compute_required("tags", list_of(Utf8))

    def process(self, batch: Batch, outputs: Outputs) -> None:
        subject = clean([text or "" for text in batch[self.subject]], self.mask)
        body = clean([text or "" for text in batch[self.body]], self.mask)
        subjects: list[str | None] = list(subject.texts)
        for row in batch[self.subject].nulls():
            subjects[row] = None
        words = [text.count(" ") + 1 for text in body.texts]
        masked = list(map(add, subject.masked, body.masked))

        kept = []
        for row, text in enumerate(body.texts):
            reject = self.refusal(text, words[row])
            if reject is None:
                kept.append(row)
            else:
                outputs.reject(row, reject)

        def of_kept(values: list[Any]) -> list[Any]:
            return [values[row] for row in kept]

        outputs.set(self.clean_subject, of_kept(subjects))
        outputs.set(self.clean_body, of_kept(body.texts))
        outputs.set(self.words, of_kept(words))
        outputs.set(self.masked, of_kept(masked))
        outputs.set(self.tags, of_kept(body.tags))
        outputs.select(self.records, kept)

    def refusal(self, text: str, words: int) -> Reject | None:
        if not text:
            return Reject("empty-text", "nothing is left of the text", "body")
        if "\ufffd" in text:
            return Reject("broken-encoding", "the text was read with the wrong encoding before it came here", "body")
        if self.max_words is not None and words > self.max_words:
            return Reject("too-long", "the text has more words than max_words", "body")
        return None


def mask_of(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(kind in MASKS for kind in value):
        raise Failure("bad-config", f"`mask` is not a list of {', '.join(MASKS)}")
    return value


def max_words_of(value: Any) -> int | None:
    if value is not None and (type(value) is not int or value < 1):
        raise Failure("bad-config", "`max_words` is not a whole number of at least 1")
    return value
