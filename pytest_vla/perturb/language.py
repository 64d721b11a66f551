"""Other ways to word an instruction, and ways to spoil it: filters over its text.

Marks such as `{dragged_obj}`, where a multimodal prompt shows an image, always come through whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

Filter = Callable[[str], str]
Rng = np.random.Generator

_MARK = re.compile(r"(\{\w+\})")
_WORD = re.compile(r"[A-Za-z]{3,}\W*")

# Level 0 of each is the instruction as it is.
PARAPHRASES = (
    "{0}",
    "please {0}",
    "your task is to {0}",
    "i want you to {0}",
    "what you have to do now is to {0}",
    "the robot should {0}",
    "could you {0}?",
    "go ahead and {0}, thank you",
    "here is what needs to be done: {0}",
)
CLAUSES = (
    "{0}",
    "{0}, and do not touch anything else",
    "{0}, the light here is a bit bright today",
    "ignore what is not needed and {0}",
    "{0}, my colleague will clean the table afterwards",
    "before lunch at twelve, {0}",
    "{0}, which is different from what we did yesterday",
    "the camera was moved last week; {0}",
    "{0}, there is no need to hurry, the next one is only due in 3 hours",
)
NEGATIONS = (
    "{0}",
    "do not forget to {0}",
    "do not stop before you have done this: {0}",
    "do nothing else than {0}",
    "you must not fail to {0}",
    "never mind anything else, {0}",
    "do not wait any longer: {0}",
    "this is not a drill: {0}",
    "do not think of anything else now, there is not the time for it: {0}",
)
CASES = ("as is", "lower", "UPPER", "Title", "sWAPPED", "aLtErNaTe", "lasT letteR", "VOWELS", "no spaces")

NO_WORDS = "(no words)"
EMPTY = ("as is", NO_WORDS, ".", "go", "now", "please", "robot", "do it", "do what is to be done")

_VERBS = {
    "place": ("put", "set down", "position"),
    "put": ("place", "set", "lay"),
    "rotate": ("turn", "spin", "twist"),
    "pick": ("take", "grab", "lift"),
    "stack": ("pile", "heap", "pile up"),
    "move": ("bring", "shift", "take"),
    "open": ("pull open", "unclose", "slide open"),
    "close": ("shut", "push shut", "slide shut"),
    "go": ("move", "head", "travel"),
    "remove": ("take away", "clear", "take off"),
    "sweep": ("brush", "push", "wipe"),
}
_KEYBOARD = {
    "a": "s", "b": "v", "c": "x", "d": "f", "e": "r", "f": "g", "g": "h", "h": "j", "i": "o", "j": "k", "k": "l",
    "l": "k", "m": "n", "n": "m", "o": "p", "p": "o", "q": "w", "r": "t", "s": "d", "t": "y", "u": "i", "v": "b",
    "w": "e", "x": "c", "y": "u", "z": "x",
}  # fmt: skip


def paraphrase(number: str, rng: Rng) -> Filter:
    """The same request in other words: another frame around it, and from the fourth on another verb too."""
    index = PARAPHRASES.index(number)

    def apply(text: str) -> str:
        if not text or not index:
            return text
        request = text[:1].lower() + text[1:].rstrip(".")
        if index >= 4:
            request = re.sub(r"\w+", lambda word: _other_verb(word[0], index), request, count=1)
        return PARAPHRASES[index].replace("{0}", request)

    return apply


def negation(number: str, rng: Rng) -> Filter:
    """The same request, with a "not" in it that takes nothing back."""
    index = NEGATIONS.index(number)

    def apply(text: str) -> str:
        if not text or not index:
            return text
        return NEGATIONS[index].replace("{0}", text[:1].lower() + text[1:].rstrip("."))

    return apply


def clause(number: str, rng: Rng) -> Filter:
    """A clause that has nothing to do with the task."""
    index = CLAUSES.index(number)

    def apply(text: str) -> str:
        return CLAUSES[index].replace("{0}", text.rstrip(".")) if text and index else text

    return apply


def case(style: str, rng: Rng) -> Filter:
    """The same letters in another case."""
    return lambda text: _outside_marks(text, _CASES[style])


def typos(share: float, rng: Rng) -> Filter:
    """That share of the words (rounded up) has a typing error: a swap, a neighbour's key, a double, a missing letter.

    Numbers and marks stay as they are. More errors at a higher level are in addition to those of a lower one.
    """
    seed = int(rng.integers(2**63))

    def apply(text: str) -> str:
        draw = np.random.default_rng(seed)
        words = text.split(" ")
        open_to = [i for i, word in enumerate(words) if _WORD.fullmatch(word)]
        order = draw.permutation(len(open_to))
        spots, kinds = draw.uniform(size=len(words)), draw.integers(4, size=len(words))
        for i in order[: int(np.ceil(share * len(open_to)))]:
            at = open_to[i]
            words[at] = _mistyped(words[at], float(spots[at]), int(kinds[at]))
        return " ".join(words)

    return apply


def omit(share: float, rng: Rng) -> Filter:
    """That share of the words is missing; the most telling one goes never, so that something of the task is left."""
    seed = int(rng.integers(2**63))

    def apply(text: str) -> str:
        words = text.split()
        kept = max(range(len(words)), key=lambda i: _telling(words[i]), default=0)
        order = [i for i in np.random.default_rng(seed).permutation(len(words)).tolist() if i != kept]
        gone = set(order[: int(np.ceil(share * len(words)))])
        return text if not gone else " ".join(word for i, word in enumerate(words) if i not in gone)

    return apply


def _telling(word: str) -> tuple[bool, bool, int]:
    """Marks of images say most of a task, then numbers, then long words."""
    return bool(_MARK.search(word)), any(map(str.isdigit, word)), len(word)


def empty(number: str, rng: Rng) -> Filter:
    """Nothing of the task: no words at all, or words that could be said of any."""
    return lambda text: {EMPTY[0]: text, NO_WORDS: ""}.get(number, number)


def shuffle(share: float, rng: Rng) -> Filter:
    """That share of the words trade places."""
    seed = int(rng.integers(2**63))

    def apply(text: str) -> str:
        words = text.split()
        draw = np.random.default_rng(seed)
        movers = sorted(draw.permutation(len(words))[: int(np.ceil(share * len(words)))].tolist())
        if not movers:
            return text
        shift = 1 + int(draw.integers(max(1, len(movers) - 1)))
        mixed = list(words)
        for place, source in zip(movers, movers[shift:] + movers[:shift], strict=True):
            mixed[place] = words[source]
        return " ".join(mixed)

    return apply


def _other_verb(word: str, index: int) -> str:
    choices = _VERBS.get(word)
    return choices[index % len(choices)] if choices else word


def _mistyped(word: str, spot: float, kind: int) -> str:
    i = int(spot * (len(word) - 1))
    letter = word[i]
    return (
        word[:i] + word[i + 1] + letter + word[i + 2 :],
        word[:i] + _KEYBOARD.get(letter.lower(), letter + letter) + word[i + 1 :],
        word[:i] + letter + word[i:],
        word[:i] + word[i + 1 :],
    )[kind]


def _outside_marks(text: str, change: Callable[[str], str]) -> str:
    return "".join(part if i % 2 else change(part) for i, part in enumerate(_MARK.split(text)))


_CASES: dict[str, Callable[[str], str]] = {
    "as is": lambda text: text,
    "lower": str.lower,
    "UPPER": str.upper,
    "Title": str.title,
    "sWAPPED": lambda text: text.title().swapcase(),
    "aLtErNaTe": lambda text: "".join(c.upper() if i % 2 else c.lower() for i, c in enumerate(text)),
    "lasT letteR": lambda text: re.sub(r"(\w)\b", lambda last: last[0].upper(), text.lower()),
    "VOWELS": lambda text: re.sub("[aeiou]", lambda vowel: vowel[0].upper(), text.lower()),
    "no spaces": lambda text: re.sub(r"\s+(\w)", lambda first: first[1].upper(), text),
}
