"""What a run is to check, and with which settings: from the paths that were named to files and their configuration."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from stridelint.linter import setting_options, source, statistics
from stridelint.linter.config import ConfigError, Settings, read
from stridelint.linter.discover import Target, discover, is_excluded, unique
from stridelint.linter.findings import Skipped
from stridelint.linter.run import Job
from stridelint.linter.telling import tell


class Unusable(NamedTuple):
    """Files found in folders whose own configuration is wrong: what is wrong, and the settings of the path that was named."""

    reason: str
    settings: Settings
    paths: list[str]

    def skipped(self) -> tuple[Skipped, ...]:
        """What the report says of them."""
        return tuple(Skipped(path, f"its configuration cannot be used: {self.reason}") for path in self.paths)


class Gathered(NamedTuple):
    """The files to check, those of the same settings together.

    asked: the settings of each path that was named, even if it has no files. excluded: how many files patterns took out.
    around: for settings of a folder found on the way those of the path that was named.
    """

    jobs: Sequence[Job]
    asked: Sequence[Settings]
    excluded: int = 0
    unusable: Sequence[Unusable] = ()
    around: Mapping[Settings, Settings] = {}


def of_text(name: str, data: bytes, settings: Settings) -> Gathered:
    """A given text, as if it stood in the file of that name. Raises Unreadable."""
    return Gathered([(source.from_bytes(name, data, explicit=True), settings)], [settings])


def gather(paths: Sequence[str], settings_of: Callable[[str], Settings]) -> Gathered:
    """The files that the paths stand for.

    Raises ConfigError for a path that is not there, and for what is wrong in the configuration of a path that is named;
    the configuration of a folder found on the way costs just that folder.
    """
    for path in paths:
        if not os.path.exists(path):
            raise ConfigError(f"no such file or folder: {path if path.strip() else repr(path)}")
    targets: list[Target] = []
    owner: dict[str, Settings | Unusable] = {}
    around: dict[Settings, Settings] = {}
    asked: list[Settings] = []
    excluded = 0
    for path in paths:
        settings = settings_of(path)
        asked.append(settings)
        with statistics.phase("find"):
            found = discover(path, settings)
        excluded += found.excluded
        inside = functools.cache(functools.partial(_inside, settings, settings_of))
        for target in found.targets:
            inner = settings if target.explicit else inside(os.path.dirname(target.path))
            if isinstance(inner, Settings) and inner is not settings and is_excluded(target.path, inner):
                excluded += 1
                continue
            targets.append(target)
            owner[target.path] = inner
            if isinstance(inner, Settings):
                around.setdefault(inner, settings)
    jobs: dict[Settings, list[Job]] = {}
    unusable: dict[tuple[str, Settings], Unusable] = {}
    for target in unique(targets):
        settings_or_not = owner[target.path]
        if isinstance(settings_or_not, Settings):
            jobs.setdefault(settings_or_not, []).append((target, settings_or_not))
        else:
            unusable.setdefault(settings_or_not[:2], settings_or_not).paths.append(target.path)
    every = [job for batch in jobs.values() for job in batch]
    return Gathered(every, asked, excluded, list(unusable.values()), around)


def _inside(outer: Settings, settings_of: Callable[[str], Settings], folder: str) -> Settings | Unusable:
    """The settings of files found in a folder: of its own configuration, but what is of the run as a whole."""
    try:
        inner = settings_of(folder or ".")
    except ConfigError as error:
        return Unusable(_shown(str(error)), outer, [])
    if inner.file == outer.file:
        return outer
    return inner._replace(
        jobs=outer.jobs,
        baseline=os.path.join(outer.root, outer.baseline) if outer.baseline else "",
        local_rules=outer.local_rules,
        local_rules_stamp=outer.local_rules_stamp,
    )


def validated(gathered: Gathered, is_known: Callable[[Settings], bool]) -> Gathered:
    """What is to be checked after a look at what the settings name: rules, tables of operators.

    is_known: whether a run with some settings has come to an end before. Raises ConfigError for a configuration of a path that
    is named; files with another one that is wrong become unusable.
    """
    for settings in dict.fromkeys(gathered.asked):
        if not is_known(settings):
            validate(settings)
    wrong: dict[Settings, Unusable] = {}
    for settings in dict.fromkeys(settings for _, settings in gathered.jobs):
        if settings in gathered.asked or is_known(settings):
            continue
        try:
            _check(settings)
        except ConfigError as error:
            wrong[settings] = Unusable(f"{_shown(settings.file)}: {error}", gathered.around[settings], [])
    if not wrong:
        return gathered
    for item, settings in gathered.jobs:
        if settings in wrong:
            wrong[settings].paths.append(item.path)
    jobs = [job for job in gathered.jobs if job[1] not in wrong]
    return gathered._replace(jobs=jobs, unusable=[*gathered.unusable, *wrong.values()])


def validate(settings: Settings) -> None:
    """Wrong codes and tables are an error even if no file needs them. Raises ConfigError, naming the file they stand in."""
    try:
        _check(settings)
    except ConfigError as error:
        if settings.file and _fault(read(settings.file)) == str(error):
            raise ConfigError(f"{_shown(settings.file)}: {error}") from None
        raise


def _fault(settings: Settings | None) -> str:
    """What is wrong in settings as the file has them, without the options of the command line."""
    try:
        if settings is not None:
            _check(settings)
    except ConfigError as error:
        return str(error)
    return ""


def _check(settings: Settings) -> None:
    choosing = (settings.select, settings.ignore, settings.extend_select, settings.per_file_ignores, settings.severity)
    if any(choosing) or settings.local_rules:
        from stridelint.linter.selection import select

        select(settings)
    if settings.operators:
        setting_options.check_table(settings.operators, "operators")


def tell_unusable(unusable: Iterable[Unusable]) -> None:
    """Name each configuration that cannot be used once, on standard error."""
    for each in unusable:
        number = len(each.paths)
        what = "1 file there is" if number == 1 else f"{number} files there are"
        tell(f"{each.reason}; {what} not checked")


def _shown(text: str) -> str:
    """A message that begins with a file, which is named as people write it if it lies in the current folder."""
    return text.removeprefix(os.path.join(os.getcwd(), ""))
