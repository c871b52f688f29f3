from __future__ import annotations

import pytest

from app.domain.code import PathClass
from app.domain.paths import path_class

CASES = {
    PathClass.SOURCE: [
        "src/flask/app.py",
        "app/__init__.py",
        "src/latest.py",
        "contest/latest.js",
        "src/history.py",
        "src/license.ts",
        "pkg/pods/status.go",
        "lib/attestation.go",
        "src/distance.py",
        "src/builder/x.py",
        "Makefile",
        "src/mapper.map",
        "cmd/generate.go",
        "app/testimony.rb",
        "src/Fit.java",
        "src/latest/app.py",
        "fastest-levenshtein/index.js",
        "httptest/server.go",
        "protests/march.py",
        "src/PodSpec.java",
        "src/Illuminate/Testing/TestResponse.php",
        "src/TestSuiteRunner.kt",
    ],
    PathClass.TEST: [
        "tests/test_basic.py",
        "src/test/java/AppTest.java",
        "app_test.go",
        "pkg/handler_test.go",
        "src/a.test.ts",
        "src/a.spec.js",
        "spec/user_spec.rb",
        "x/__tests__/a.js",
        "conftest.py",
        "src/conftest.py",
        "test_data/x.py",
        "unit_test/x.c",
        "e2e/run.ts",
        "fixtures/app.py",
        "mock/server.go",
        "src/UserTests.cs",
        "src/OrderIT.java",
        "web/page-test.js",
        "tests/README.md",
        "Src/Newtonsoft.Json.Tests/Converters.cs",
        "Dapper.Tests.Contrib/Mapper.cs",
        "ktor-core/jvmTest/src/Call.kt",
        "core/src/commonTest/kotlin/Flow.kt",
        "Tests/VaporTests/Routes.swift",
        "src/test-jdk17/java/Records.java",
        "test/Parser/ShowSpec.hs",
        "core/CollectSuite.scala",
        "src/FooTestCase.php",
        "base/strings_unittest.cc",
        "test-utils/render.ts",
        "testsuite/Main.hs",
        "src/RouterSpec.kt",
        "check.bats",
    ],
    PathClass.EXAMPLE: [
        "examples/tutorial/flaskr/db.py",
        "Examples/a.py",
        "_examples/main.go",
        "docs/conf.py",
        "demo/x.js",
        "benchmarks/run.py",
        "bench/x.c",
        "src/bench_io.py",
        "doc_src/x.py",
        "cookbook/a.rb",
        "docs/openapi.json",
        "strings/str_cat_benchmark.cc",
        "kotlin-examples/src/Main.kt",
        "documentation/build.js",
    ],
    PathClass.DOCUMENTATION: ["README.md", "docs/index.rst", "LICENSE", "LICENSE-MIT", "CHANGES.rst", "notes.txt", "examples/README.md"],
    PathClass.CONFIGURATION: [
        "pyproject.toml",
        "package.json",
        ".github/workflows/ci.yml",
        ".gitignore",
        ".eslintrc",
        "requirements.txt",
        "requirements-dev.txt",
        "CMakeLists.txt",
        "setup.cfg",
        ".env",
        ".env.local",
    ],
    PathClass.VENDOR: [
        "vendor/github.com/x/y.go",
        "third_party/zlib/a.c",
        "third-party/a.c",
        "node_modules/a/index.js",
        "src/pip/_vendor/rich/x.py",
        "vendor/x/tests/y.py",
        "archive/old.py",
        "legacy/a.js",
        "ios/Pods/a.m",
        "deprecated/api.py",
    ],
    PathClass.GENERATED: [
        "static/jquery.min.js",
        "api/user.pb.go",
        "api/user.pb.gw.go",
        "api/user_pb2.py",
        "api/user_pb2_grpc.pyi",
        "generated/client.ts",
        "dist/app.js",
        "build/lib/x.py",
        "package-lock.json",
        "go.sum",
        "uv.lock",
        "apis/zz_generated.deepcopy.go",
        "lib/model.g.dart",
        "static/app.js.map",
    ],
}


@pytest.mark.parametrize(("expected", "path"), [(kind, path) for kind, paths in CASES.items() for path in paths])
def test_path_class(expected: PathClass, path: str) -> None:
    assert path_class(path) is expected


def test_attributes_decide_before_the_path() -> None:
    assert path_class("src/parser.c", generated=True) is PathClass.GENERATED
    assert path_class("src/parser.c", vendored=True) is PathClass.VENDOR
    assert path_class("vendor/ours/x.py", vendored=False) is PathClass.SOURCE
    assert path_class("dist/x.py", generated=False) is PathClass.SOURCE
    assert path_class("vendor/x/tests/y.py", vendored=False) is PathClass.TEST
