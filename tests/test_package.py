"""The house: which way the arrows point, that the package is whole, and that every rule is documented."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stridelint.linter import documentation, engine, source
from stridelint.linter.selection import Selection
from stridelint.rules.contract.answers import Confidence
from stridelint.rules.registry import by_code
from stridelint.rules.rule import Rule

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
RULES = list(by_code().values())


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Modules that a file imports, and whether it does so when it is itself imported."""

    def walk(node: ast.AST, at_once: bool) -> Iterator[tuple[str, bool]]:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.Import):
            yield from ((alias.name, at_once) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((f"{node.module}.{alias.name}", at_once) for alias in node.names)
        for child in ast.iter_child_nodes(node):
            inside = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            yield from walk(child, at_once and not inside)

    return walk(ast.parse(path.read_text(encoding="utf-8")), True)


def files(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize(
    ("folder", "never", "not_at_once"),
    [
        ("rules/contract", ("torch", "libcst", "stridelint.linter", "stridelint.runtime_probe"), ()),
        ("rules", ("torch", "stridelint.linter", "stridelint.runtime_probe"), ("libcst", "stridelint.rules.forms")),
        ("linter", ("torch", "stridelint.runtime_probe"), ()),
    ],
)
def test_arrows_point_one_way(folder: str, never: tuple[str, ...], not_at_once: tuple[str, ...]) -> None:
    wrong = []
    for path in files(folder):
        # `forms` works on LibCST nodes; no other part of rules imports it at once.
        lazily = () if ROOT / "rules" / "forms" in path.parents else not_at_once
        for module, at_once in imports(path):
            forbidden = (*never, *lazily) if at_once else never
            if any(f"{module}.".startswith(f"{name}.") for name in forbidden):
                wrong.append(f"{path.relative_to(ROOT)}: {module}")
    assert not wrong


@pytest.mark.parametrize("command", ["verify", "harvest"])
def test_the_probe_imports_torch_only_to_work(command: str) -> None:
    code = (
        f"import sys; sys.modules['torch'] = None; import stridelint.runtime_probe.{command} as command; command.main"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.stderr == ""


def test_the_contract_knows_no_rule() -> None:
    outside = re.compile(r"stridelint\.rules\.(?!contract\b)")
    assert not [path for path in files("rules/contract") for module, _ in imports(path) if outside.match(module)]


def test_every_folder_is_packaged() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    folders = {
        "stridelint." + ".".join(path.parent.relative_to(ROOT).parts)
        for folder in ("linter", "rules", "runtime_probe")
        for path in (ROOT / folder).rglob("__init__.py")
    }
    listed = set(project["tool"]["setuptools"]["packages"])
    assert listed == folders - {"stridelint.linter._package"} | {"stridelint"}


def test_codes_and_names_are_distinct_and_well_formed() -> None:
    from stridelint.rules.registry import all_rules

    codes = [rule.code for rule in all_rules()] + ["TLC901", "TLC902"]
    names = [rule.name for rule in RULES]
    assert len(set(codes)) == len(codes)
    assert len(set(names)) == len(names)
    # flake8 accepts no longer codes in configuration files.
    assert all(re.fullmatch(r"TLC\d{3}", code) for code in codes)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", name) for name in names)


@pytest.mark.parametrize("rule", RULES, ids=[rule.code for rule in RULES])
def test_a_rule_is_documented(rule: type[Rule]) -> None:
    told = documentation.sections(rule)
    assert [heading for heading in told if heading != documentation.FIX] == list(documentation.HEADINGS)
    about_tensors = not rule.code.startswith("TLC9")
    assert (documentation.FIX in told) is bool(documentation.fixability(rule))
    assert (rule.fix is not Rule.fix) is (about_tensors and documentation.FIX in told)
    assert all(told.values())
    assert documentation.summary(rule).endswith(".")
    assert rule.code in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if about_tensors:
        assert rule.words
        assert rule.VALID
        assert rule.INVALID
        folder = {"1": "layout", "2": "tests_of_layout", "3": "out", "4": "inplace"}[rule.code[3]]
        assert rule.__module__ == f"stridelint.rules.{folder}.{rule.name.replace('-', '_')}"


def test_the_documentation_is_up_to_date() -> None:
    stale = documentation.write(ROOT / "docs", check=True)
    assert not stale, "run: stridelint docs"


def test_the_changelog_has_this_version() -> None:
    from stridelint import __version__

    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_continuous_integration_runs_what_the_readme_says() -> None:
    commands = re.findall(r"^python3 -m venv .*$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(commands) == 2
    assert commands[1].endswith(".venv/bin/pytest -n auto")
    assert commands[1] in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_hook_manifest_is_valid() -> None:
    pytest.importorskip("pre_commit")
    command = [sys.executable, "-m", "pre_commit", "validate-manifest", str(ROOT / ".pre-commit-hooks.yaml")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


def test_a_new_rule_is_a_complete_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from stridelint.linter import cli, commands

    (tmp_path / "rules" / "out").mkdir(parents=True)
    monkeypatch.setattr(commands, "_checkout", lambda: tmp_path)
    assert cli.main(["new-rule", "TLC399", "a-new-hazard"]) == 0
    path = tmp_path / "rules" / "out" / "a_new_hazard.py"
    scope: dict[str, object] = {"__name__": "a_new_hazard"}
    exec(path.read_text(), scope)
    rule = scope["ANewHazard"]
    assert isinstance(rule, type)
    assert issubclass(rule, Rule)
    assert (rule.code, rule.name) == ("TLC399", "a-new-hazard")
    assert list(documentation.sections(rule)) == list(documentation.HEADINGS)
    for code, expected in [(rule.VALID[0], ()), (rule.INVALID[0].code, rule.INVALID[0].expected)]:
        file = source.from_bytes("example.py", code.encode(), explicit=True)
        found = engine.check(file, Selection((rule,), frozenset(), Confidence.POSSIBLE)).findings
        assert tuple((each.line, each.column, each.message) for each in found) == expected
    assert cli.main(["new-rule", "TLC399", "a-new-hazard"]) == 2
    assert cli.main(["new-rule", "TLC999", "a-new-hazard"]) == 2
    assert cli.main(["new-rule", "TLC398", "Hazard"]) == 2
