"""What a path says about a file: test, example, documentation, configuration, vendored, generated.

One function for every route, so that no list demotes differently from another. The rules for tests and examples are those
that were measured (docs/ranking.md). A rule is a row of ``_RULES``; the first that matches decides.
"""

from __future__ import annotations

import re
from typing import Final

from app.domain.code import PathClass


def _rule(path_class: PathClass, *, folders: str = "", files: str = "", case: bool = False) -> tuple[PathClass, re.Pattern[str]]:
    """Matches a path below one of the folders, or whose file name is one of the files; ``[^/]`` is any character of a name."""
    parts = [rf"(?:^|/)(?:{folders})/"] if folders else []
    parts += [rf"(?:^|/)(?:{files})$"] if files else []
    return path_class, re.compile("|".join(parts), re.NOFLAG if case else re.IGNORECASE)


_TEST_NAMES: Final = r"[Tt]ests?|testing|__tests__|[Ss]pecs?|testdata|test_[^/]*|[^/]*_test|e2e|[Ff]ixtures?|[Mm]ocks?|__mocks__"
# ``Foo.Tests`` (C#), ``commonTest`` (Kotlin), ``VaporTests`` (Swift), ``test-jdk17`` (Java), ``testsuite`` (Haskell).
_TEST_FOLDERS: Final = r"[^/]*[a-z0-9.-]Tests?|[^/]*[.-]tests?|[^/]*_tests|(?:[^/]*\.)?[Tt]ests?[.-][^/]*|test-?(?:suites?|utils?|support)"
_TEST_FILES: Final = (
    r"[^/]*(?:_test|\.test|\.spec|_spec|-test|_unittest|Test|Tests|TestCase|IT)\.\w+"
    r"|[^/]*(?:Spec|Suite)\.(?:hs|scala|groovy|swift|kt)|[^/]*\.bats|conftest\.py"
)
_EXAMPLE_NAMES: Final = r"_?(?:examples?|samples?|demos?|docs?|documentation|doc_src|benchmarks?|bench|tutorials?|cookbook|playgrounds?)"

_RULES: Final = (
    _rule(
        PathClass.VENDOR,
        folders=r"_?vendor(?:ed)?|third[_-]?party|3rdparty|node_modules|bower_components|jspm_packages|site-packages|godeps|(?-i:Pods)"
        r"|archived?|attic|legacy|deprecated",
    ),
    _rule(
        PathClass.GENERATED,
        folders=r"dist|build|generated|gen|__generated__",
        files=r"[^/]*\.(?:min|pb|gen|generated|bundle)\.\w+|[^/]*\.pb\.gw\.go|[^/]*\.(?:g|designer)\.(?:cs|dart)|[^/]*\.(?:js|css)\.map"
        r"|[^/]*_pb2(?:_grpc)?\.pyi?|[^/]*_pb\.(?:js|d\.ts)|zz_generated[^/]*|[^/]*_generated\.\w+"
        r"|package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|packages\.lock\.json|go\.sum"
        r"|(?:yarn|bun|poetry|pdm|uv|pipfile|cargo|composer|gemfile|flake|mix|pubspec)\.lock",
    ),
    # Case counts here: ``Test`` ends the name of a Java class, while ``latest`` and ``contest`` are ordinary words.
    _rule(
        PathClass.TEST,
        folders=f"{_TEST_NAMES}|{_TEST_FOLDERS}",
        files=f"{_TEST_NAMES}|{_TEST_FILES}",
        case=True,
    ),
    _rule(PathClass.CONFIGURATION, files=r"CMakeLists\.txt|(?:[^/]*-)?requirements[^/]*\.(?:txt|in)|constraints[^/]*\.txt"),
    _rule(
        PathClass.DOCUMENTATION,
        files=r"[^/]*\.(?:md|mdx|markdown|rst|txt|adoc|asciidoc|textile|org)"
        r"|(?:licen[sc]e|copying|changelog|changes|history|readme|authors|contributors|notice|news|todo)(?:-[^/.]*)?",
    ),
    _rule(
        PathClass.EXAMPLE,
        folders=rf"{_EXAMPLE_NAMES}|[^/]*[_-](?:examples?|samples?|demos?)",
        files=rf"{_EXAMPLE_NAMES}|bench[^/]*|[^/]*[_-]bench(?:mark)?s?\.\w+",
    ),
    _rule(
        PathClass.CONFIGURATION,
        files=r"[^/]*\.(?:ya?ml|toml|json[5c]?|ini|cfg|conf|properties|lock)|\.[^/]+(?:rc|ignore|attributes|config)"
        r"|\.env(?:\.[^/]*)?|\.flake8|\.gitmodules",
    ),
)


def path_class(path: str, *, vendored: bool | None = None, generated: bool | None = None) -> PathClass:
    """The class of a ``/``-separated relative path.

    ``vendored`` and ``generated`` are what is known from elsewhere (``.gitattributes``, the file's head): true decides, false
    switches the path's own rules for that class off.
    """
    told = {PathClass.VENDOR: vendored, PathClass.GENERATED: generated}
    for kind, pattern in _RULES:
        known = told.get(kind)
        if known or (known is None and pattern.search(path)):
            return kind
    return PathClass.SOURCE
