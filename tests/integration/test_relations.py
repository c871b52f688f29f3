"""A question for one kind of use is answered with uses of that kind, and a dotted module is a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.domain.query import Dedupe, Relation
from app.domain.ranking import SearchAnswer
from tests.integration.conftest import Bench, write_tree

pytestmark = pytest.mark.anyio

TREE = {
    "shop/base.py": "class Shape:\n    def area(self):\n        return 0\n\n\ndef traced(function):\n    return function\n",
    "shop/round.py": "from shop.base import Shape\n\n\nclass Circle(Shape):\n    def area(self):\n        return 3\n",
    "shop/make.py": "from shop.base import Shape\n\n\ndef make():\n    return Shape()\n",
    "shop/test_shape.py": "from shop import base\n\n\n@base.traced\ndef check(shape):\n    assert isinstance(shape, base.Shape)\n",
    "shop/orders/__init__.py": "def place():\n    pass\n",
    "shop/sell.py": "from shop.orders import place\n\n\ndef sell():\n    place()\n",
    "guess.py": "import sys\n\n\nclass Square(sys.modules['shop.base'].Shape):\n    pass\n",
    "base.py": "def shop():\n    pass\n",
}


def found(answer: SearchAnswer) -> dict[str, set[str | None]]:
    return {result.path: {evidence.relation for evidence in result.evidence} for result in answer.results}


@pytest.mark.parametrize(
    ("question", "relation", "expected"),
    [
        ("which classes inherit from Shape", Relation.INHERITS, {"shop/round.py": {"inherits"}, "guess.py": {"inherit"}}),
        ("subclasses of Shape", Relation.INHERITS, {"shop/round.py": {"inherits"}, "guess.py": {"inherit"}}),
        ("hvem arver fra Shape", Relation.INHERITS, {"shop/round.py": {"inherits"}, "guess.py": {"inherit"}}),
        ("Shape 的子类", Relation.INHERITS, {"shop/round.py": {"inherits"}, "guess.py": {"inherit"}}),
        ("who instantiates Shape", Relation.INSTANTIATES, {"shop/make.py": {"instantiates"}}),
        ("what overrides Shape.area", Relation.OVERRIDES, {"shop/round.py": {"overrides"}}),
        ("functions decorated with base.traced", Relation.DECORATES, {"shop/test_shape.py": {"decorates"}}),
        (
            "who imports shop.base",
            Relation.IMPORTS,
            {"shop/round.py": {"imports"}, "shop/make.py": {"imports"}, "shop/test_shape.py": {"imports"}},
        ),
        ("who imports shop.orders", Relation.IMPORTS, {"shop/sell.py": {"imports"}}),
        ("who imports shop/orders/__init__.py", Relation.IMPORTS, {"shop/sell.py": {"imports"}}),
        ("who uses shop.orders", None, {"shop/sell.py": {"imports", "calls"}}),
    ],
)
async def test_only_the_uses_that_are_asked_for(
    bench: Bench, tmp_path: Path, question: str, relation: Relation | None, expected: dict[str, set[str | None]]
) -> None:
    await bench.index(write_tree(tmp_path / "tree", TREE), "tree")
    answer = await bench.search(question)
    assert answer.routing.classification.relation is relation
    assert found(answer) == expected


async def test_where_nothing_is_known_of_the_kind_all_uses_are_listed(bench: Bench, tmp_path: Path) -> None:
    await bench.index(write_tree(tmp_path / "tree", TREE), "tree")
    answer = await bench.search("which classes inherit from make")
    assert answer.routing.classification.relation is Relation.INHERITS
    tree = TREE | {"shop/run.py": "from shop.make import make\n\n\ndef run():\n    return make()\n"}
    await bench.index(write_tree(tmp_path / "other", tree), "other")
    assert found(await bench.search("which classes inherit from make", repositories=("other",))) == {"shop/run.py": {"calls", "imports"}}


OUTGOING = {
    "shop/base.py": "class Shape:\n    def area(self):\n        return half(4)\n\n\ndef half(number):\n    return number / 2\n",
    "shop/round.py": "from shop.base import Shape, half\n\n\nclass Circle(Shape):\n    def area(self):\n        return half(6)\n",
    "shop/make.py": "from shop.round import Circle\n\n\ndef make_circle():\n    return Circle().area()\n",
}


@pytest.mark.parametrize(
    ("question", "relation", "expected"),
    [
        ("what does make_circle call", Relation.CALLS, {"shop/round.py": {"Circle", "Circle.area"}}),
        ("callees of Circle.area", Relation.CALLS, {"shop/base.py": {"half"}}),
        ("base classes of Circle", Relation.INHERITS, {"shop/base.py": {"Shape"}}),
        ("what does Circle depend on", None, {"shop/base.py": {"Shape", "half", "Shape.area"}}),
        ("what does shop.round import", Relation.IMPORTS, {"shop/base.py": {"Shape", "half"}}),
        ("what does Circle override", Relation.OVERRIDES, {"shop/base.py": {"Shape.area"}}),
        ("hvad afhænger Circle af", None, {"shop/base.py": {"Shape", "half", "Shape.area"}}),
        ("Circle 的父类有哪些", Relation.INHERITS, {"shop/base.py": {"Shape"}}),
    ],
)
async def test_what_something_uses(
    bench: Bench, tmp_path: Path, question: str, relation: Relation | None, expected: dict[str, set[str]]
) -> None:
    await bench.index(write_tree(tmp_path / "tree", OUTGOING), "tree")
    answer = await bench.search(question)
    assert (answer.routing.classification.outgoing, answer.routing.classification.relation) == (True, relation)
    assert {result.path: {evidence.symbol for evidence in result.evidence} for result in answer.results} == expected


GO = {
    "binding/binding.go": "package binding\n\ntype Binding interface {\n\tName() string\n\tBind(any) error\n}\n\n"
    "type Empty interface{}\n\ntype Both interface {\n\tBinding\n\tExtra()\n}\n",
    "binding/json.go": 'package binding\n\ntype jsonBinding struct{}\n\nfunc (jsonBinding) Name() string { return "json" }\n',
    "binding/json_bind.go": "package binding\n\nfunc (b *jsonBinding) Bind(any) error { return nil }\n",
    "binding/half.go": 'package binding\n\ntype half struct{}\n\nfunc (half) Name() string { return "half" }\n',
    "other/json.go": "package other\n\ntype jsonBinding struct{}\n\nfunc (jsonBinding) Bind(any) error { return nil }\n",
    "other/full.py": "class Full:\n    def Name(self): pass\n    def Bind(self, x): pass\n",
}


@pytest.mark.parametrize(
    "question", ["who implements Binding", "which types implement Binding", "implementations of the interface Binding"]
)
async def test_types_that_have_all_methods_of_an_interface_implement_it(bench: Bench, tmp_path: Path, question: str) -> None:
    await bench.index(write_tree(tmp_path / "tree", GO), "tree")
    answer = await bench.search(question)
    told = {
        (result.path, evidence.symbol, evidence.relation, evidence.edge_class) for result in answer.results for evidence in result.evidence
    }
    assert told == {("binding/json.go", "jsonBinding", "implements", "likely"), ("binding/binding.go", "Both", "inherits", "exact")}


async def test_everything_would_implement_an_interface_without_methods(bench: Bench, tmp_path: Path) -> None:
    await bench.index(write_tree(tmp_path / "tree", GO), "tree")
    answer = await bench.search("who implements Empty")
    assert not any(evidence.relation == "implements" for result in answer.results for evidence in result.evidence)


CONSTRUCTED = {
    "geo/shape.py": "class Shape:\n    def __init__(self, n):\n        self.n = n\n",
    "geo/square.py": "from geo.shape import Shape\n\n\nclass Square(Shape):\n    pass\n",
    "geo/main.py": "from geo.shape import Shape\n\n\ndef run_it():\n    return Shape(1)\n",
    "geo/shape.test.py": "def helper():\n    pass\n",
    "Animal.java": "public class Animal {\n    public Animal(int n) {}\n}\n",
    "Dog.java": "public class Dog extends Animal {\n    public Dog() { super(1); }\n}\n",
    "Zoo.java": "public class Zoo {\n    Animal first() { return new Animal(2); }\n}\n",
}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("who imports geo.shape", {"geo/square.py": {"imports"}, "geo/main.py": {"imports"}}),
        ("which classes inherit from geo.shape", {"geo/square.py": {"inherits"}}),
        ("subclasses of Shape", {"geo/square.py": {"inherits"}}),
        ("subclasses of Animal", {"Dog.java": {"inherits"}}),
    ],
)
async def test_who_constructs_a_class_is_not_asked_for(bench: Bench, tmp_path: Path, question: str, expected: dict[str, set[str]]) -> None:
    await bench.index(write_tree(tmp_path / "tree", CONSTRUCTED), "tree")
    assert found(await bench.search(question)) == expected


MEMBERS = {
    "app/__init__.py": "",
    "app/route.py": "def go():\n    pass\n",
    "user.py": "import app.route\n\napp.route.go()\n",
    "main.py": "from web import App\n\napp = App()\n\n\n@app.route('/')\ndef index():\n    pass\n",
    "web.py": "class App:\n    def route(self, path):\n        return keep\n\n\ndef recur(n):\n    return recur(n - 1)\n",
}


async def test_a_member_of_an_object_is_not_the_module_of_that_name(bench: Bench, tmp_path: Path) -> None:
    await bench.index(write_tree(tmp_path / "tree", MEMBERS), "tree")
    assert set(found(await bench.search("functions decorated with app.route"))) == {"main.py"}
    assert set(found(await bench.search("who imports app.route"))) == {"user.py"}
    assert {"main.py", "user.py"} <= set(found(await bench.search("who uses app.route")))


async def test_what_calls_itself_is_told(bench: Bench, tmp_path: Path) -> None:
    await bench.index(write_tree(tmp_path / "tree", MEMBERS | {"web.py": MEMBERS["web.py"].replace("recur", "recur_it")}), "tree")
    answer = await bench.search("what does recur_it call", dedupe=Dedupe.NONE)
    assert [(evidence.symbol, evidence.line) for result in answer.results for evidence in result.evidence] == [("recur_it", 6)]
