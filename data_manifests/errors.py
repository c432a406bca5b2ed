"""The root of every error that a user can mend."""

from __future__ import annotations

from collections.abc import Iterable


class CuebenchError(Exception):
    """An expected failure: says what, where, what was expected and what to do, in one line."""


class ProblemsError(CuebenchError):
    """Several problems of one file, all of them in `problems`, each with its place."""

    def __init__(self, where: str, problems: Iterable[str]) -> None:
        self.where = where
        self.problems = tuple(problems)
        count = f"{len(self.problems)} problem" + ("s" if len(self.problems) != 1 else "")
        super().__init__("\n".join([f"{where}: {count}", *(f"  {line}" for line in self.problems)]))


class MissingExtraError(CuebenchError):
    """An optional dependency is not installed; the message holds the line that installs it."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs the extra `{extra}`: pip install 'cuebench[{extra}]'")
