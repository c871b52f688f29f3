"""Types read from signatures."""

import pytest

from app.indexing.resolution.families import family_of
from app.indexing.resolution.meaning import segments
from app.indexing.resolution.signatures import named_type, parameters, return_type, value_type


@pytest.mark.parametrize(
    ("language", "name", "signature", "expected"),
    [
        ("python", "f", "def f(self, a: Foo, *b, c: 'pkg.Bar | None' = None, **d)", {"a": "Foo", "c": "pkg.Bar", "b": None, "d": None}),
        ("typescript", "f", "f(private a: Foo<T>, b?: Bar, { x, y }: Props, ...rest: Baz[])", {"a": "Foo", "b": "Bar", "x": None}),
        ("javascript", "f", "const f = x => x", {"x": None}),
        ("go", "Run", "func (s *Server) Run(a, b pkg.Foo, c int)", {"s": "Server", "a": "pkg.Foo", "b": "pkg.Foo"}),
        ("java", "run", "void run(final Foo<Bar> a, int b)", {"a": "Foo"}),
        ("php", "go", "public function go(?User $user, $plain = 1)", {"user": "User", "plain": None}),
        ("rust", "run", "fn run(&self, a: &mut Foo, b: Option<Bar>)", {"a": "Foo", "b": "Bar"}),
        ("cpp", "f", "void f(const ns::Shape &s, Foo *t)", {"s": "ns.Shape", "t": "Foo"}),
        ("ruby", "f", "def f(a, b = 1, c:, *d)", {"a": None, "b": None, "c": None, "d": None}),
    ],
)
def test_parameters(language: str, name: str, signature: str, expected: dict[str, str | None]) -> None:
    found = parameters(signature, name, family_of(language))
    assert {key: found[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("language", "name", "signature", "expected"),
    [
        ("python", "f", "def f(a: int) -> Foo:", "Foo"),
        ("python", "f", "def f(a: int):", None),
        ("typescript", "f", "async f(a: () => void): Promise<Foo>", "Foo"),
        ("go", "Open", "func Open(name string) (*Store, error)", "Store"),
        ("java", "open", "public static Store open(String name)", "Store"),
        ("rust", "new", "pub fn new(a: i32) -> Self", "Self"),
        ("cpp", "open", "static Store *open(int port)", "Store"),
    ],
)
def test_return_type(language: str, name: str, signature: str, expected: str | None) -> None:
    assert return_type(signature, name, family_of(language)) == expected


@pytest.mark.parametrize(
    ("language", "name", "signature", "expected"),
    [
        ("python", "x", "x: Foo = make()", ("Foo", False)),
        ("python", "x", "x = pkg.Foo(1)", ("pkg.Foo", True)),
        ("python", "x", "x = 3", None),
        ("typescript", "x", "private readonly x: Foo", ("Foo", False)),
        ("javascript", "x", "const x = new Foo()", ("Foo", True)),
        ("go", "x", "x *pkg.Foo", ("pkg.Foo", False)),
        ("java", "x", "private final Foo x = new Foo();", ("Foo", False)),
        ("rust", "x", "x: Arc<Foo>", ("Foo", False)),
    ],
)
def test_value_type(language: str, name: str, signature: str, expected: tuple[str, bool] | None) -> None:
    assert value_type(signature, name, family_of(language)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Foo | Bar", None),
        ("list[Foo]", "list[Foo]"),
        ("Foo[]", "Array[Foo]"),
        ("dict[str, Foo]", "dict[Foo]"),
        ("Box2[Foo]", "Box2"),
        ("", None),
        ("'a.B'", "a.B"),
    ],
)
def test_named_type(text: str, expected: str | None) -> None:
    assert named_type(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("app.make(x.y).z", [("app", False), ("make", True), ("z", False)]),
        ("self", [("self", False)]),
        ("new Foo(1)", [("Foo", True)]),
        ("$this->store", [("$this", False), ("store", False)]),
        ("a::b", [("a", False), ("b", False)]),
        ("a?.b", [("a", False), ("b", False)]),
        ("a[0]", None),
        ("'text'", None),
        ("a + b", None),
    ],
)
def test_segments(text: str, expected: list[tuple[str, bool]] | None) -> None:
    found = segments(text)
    assert (None if found is None else [tuple(link) for link in found]) == expected
