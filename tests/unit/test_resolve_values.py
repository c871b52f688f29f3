"""What variables, attributes, items, parameters and results hold; and what must not be guessed."""

from __future__ import annotations

import pytest

from tests.unit.resolve_cases import Graph

SHAPES = """
class Shape:
    def __init__(self, name): self.name = name
    def area(self): pass
class Round(Shape):
    def area(self): pass
def build(): return Round("r")
"""


def python(source: str) -> Graph:
    return Graph({"m.py": source, "shapes.py": SHAPES})


def test_a_local_variable_has_the_type_it_is_made_of() -> None:
    graph = python("from shapes import Shape\ndef f():\n    s = Shape('a')\n    s.area()\n")
    assert graph.out("m.py:f") == {"shapes.py:Shape.__init__": "exact", "shapes.py:Shape.area": "likely"}


def test_a_later_value_ends_the_earlier_one() -> None:
    graph = python("from shapes import Shape, Round\ndef f():\n    s = Shape('a')\n    s = Round('b')\n    s.area()\n")
    assert "shapes.py:Shape.area" not in graph.out("m.py:f")
    assert graph.out("m.py:f")["shapes.py:Round.area"] == "likely"


def test_a_value_of_one_branch_does_not_end_the_others() -> None:
    graph = python("from shapes import Shape, Round\ndef f(x):\n    s = Shape('a')\n    if x:\n        s = Round('b')\n    s.area()\n")
    assert {"shapes.py:Shape.area", "shapes.py:Round.area"} <= graph.out("m.py:f").keys()


def test_a_function_without_declared_type_gives_what_it_returns() -> None:
    graph = python("import shapes\ndef f():\n    s = shapes.build()\n    s.area()\n")
    assert graph.out("m.py:f") == {"shapes.py:build": "exact", "shapes.py:Round.area": "likely"}


def test_an_attribute_holds_what_the_methods_assign() -> None:
    graph = python(
        "from shapes import Round\nclass Page:\n    def __init__(self): self.shape = Round('r')\n    def draw(self): self.shape.area()\n"
    )
    assert graph.out("m.py:Page.draw") == {"shapes.py:Round.area": "likely"}


def test_a_parameter_holds_what_calls_pass() -> None:
    graph = Graph({"lib.py": "def twice(task):\n    task()\n", "m.py": "from lib import twice\ndef job(): pass\ntwice(job)\n"})
    assert graph.out("lib.py:twice") == {"m.py:job": "likely"}


def test_keywords_and_defaults_are_told_apart() -> None:
    graph = Graph({"m.py": "def a(): pass\ndef b(): pass\ndef run(first, second=a):\n    first()\n    second()\nrun(second=b, first=a)\n"})
    assert graph.out("m.py:run") == {"m.py:a": "likely", "m.py:b": "likely"}


def test_an_unpassed_parameter_has_its_default() -> None:
    graph = Graph({"m.py": "def a(): pass\ndef run(task=a):\n    task()\n"})
    assert graph.out("m.py:run") == {"m.py:a": "likely"}


def test_a_result_is_what_this_call_passes() -> None:
    graph = Graph({"m.py": "def a(): pass\ndef b(): pass\ndef same(x):\n    return x\nsame(a)\nsame(b)()\n"})
    assert graph.out("m.py") == {"m.py:same": "exact", "m.py:b": "likely"}


@pytest.mark.parametrize(
    ("made", "called"),
    [
        ("d = {'x': a, 'y': b}", "d['y']()"),
        ("d = [a, b]", "d[1]()"),
        ("d = {}\nd['y'] = b", "d['y']()"),
        ("d = {'y': a}\nd['y'] = b", "d['y']()"),
        ("d = [[a], [b]]", "d[1][0]()"),
        ("c, (e, d) = a, (a, b)", "d()"),
        ("c, *d = a, b", "d[0]()"),
        ("d = e = b", "d()"),
    ],
)
def test_an_item_is_the_one_of_its_key(made: str, called: str) -> None:
    graph = Graph({"m.py": f"def a(): pass\ndef b(): pass\n{made}\n{called}\n"})
    assert {target for target in graph.out("m.py") if target in ("m.py:a", "m.py:b")} == {"m.py:b"}


def test_an_unknown_key_may_be_any() -> None:
    graph = Graph({"m.py": "def a(): pass\ndef b(): pass\ndef f(k):\n    d = {'x': a, 'y': b}\n    d[k]()\n"})
    assert graph.out("m.py:f") == {"m.py:a": "likely", "m.py:b": "likely"}


def test_a_loop_calls_the_iterator_and_has_its_items() -> None:
    graph = Graph(
        {
            "m.py": """
            def step(): pass
            class Steps:
                def __iter__(self): return self
                def __next__(self): return step
            def f():
                for s in Steps():
                    s()
            """
        }
    )
    assert graph.out("m.py:f") == {"m.py:Steps.__iter__": "likely", "m.py:Steps.__next__": "likely", "m.py:step": "likely"}


def test_a_decorator_of_the_repository_is_called_in_its_place() -> None:
    graph = Graph(
        {
            "m.py": """
            def logged(task):
                def wrapper():
                    return task()
                return wrapper
            @logged
            def work(): pass
            def main(): work()
            """
        }
    )
    assert graph.out("m.py:main") == {"m.py:work": "exact", "m.py:logged.wrapper": "likely"}
    assert graph.out("m.py:logged.wrapper") == {"m.py:work": "likely"}


def test_a_base_calls_what_only_its_heirs_have() -> None:
    graph = Graph(
        {
            "m.py": "class Base:\n    def run(self): self.step()\n",
            "n.py": "from m import Base\nclass Heir(Base):\n    def step(self): pass\n",
        }
    )
    assert graph.out("m.py:Base.run") == {"n.py:Heir.step": "likely"}


def test_an_object_that_is_called() -> None:
    graph = Graph({"m.py": "class Task:\n    def __call__(self): pass\ndef f():\n    t = Task()\n    t()\n"})
    assert graph.out("m.py:f") == {"m.py:Task.__call__": "likely"}
    assert graph.out("m.py:f", "instantiates") == {"m.py:Task": "exact"}


def test_the_constructor_of_a_base_runs() -> None:
    graph = python("from shapes import Round\ndef f():\n    Round('a')\n")
    assert graph.out("m.py:f") == {"shapes.py:Shape.__init__": "exact"}


def test_libraries_are_nodes() -> None:
    graph = Graph(
        {"m.py": "import os.path\nfrom requests import Session as S\ndef f():\n    os.path.join('a')\n    s = S()\n    s.get('x')\n"}
    )
    assert graph.libraries("m.py:f") == {"os.path.join": "exact", "requests.Session": "exact", "requests.Session.get": "exact"}


def test_a_librarys_method_is_nobody_elses() -> None:
    graph = Graph(
        {
            "m.py": "from requests import Session\ndef f():\n    s = Session()\n    s.get_page()\n",
            "n.py": "class A:\n    def get_page(self): pass\n",
        }
    )
    assert graph.out("m.py:f") == {}
    assert "requests.Session.get_page" in graph.libraries("m.py:f")


def test_a_local_name_is_not_the_function_of_that_name() -> None:
    graph = Graph({"m.py": "def task(): pass\ndef other(): return 1\ndef f():\n    task = other()\n    task()\n"})
    assert graph.out("m.py:f") == {"m.py:other": "exact"}


def test_circles_end() -> None:
    graph = Graph({"m.py": "def a(): return b()\ndef b(): return a()\ndef f():\n    x = a()\n    x = x or b()\n    x.run_it()\n"})
    assert graph.out("m.py:f") == {"m.py:a": "exact", "m.py:b": "exact"}


def javascript(source: str) -> Graph:
    return Graph({"m.js": source})


def test_javascript_passes_functions_on() -> None:
    graph = javascript("function job() {}\nfunction run(task) { task() }\nrun(job)\n")
    assert graph.out("m.js:run") == {"m.js:job": "likely"}


def test_javascript_keeps_functions_in_objects() -> None:
    graph = javascript("function a() {}\nfunction b() {}\nconst table = { x: a, y: b }\nfunction f() { table.y(); table['x']() }\n")
    assert graph.out("m.js:f") == {"m.js:a": "likely", "m.js:b": "likely"}


def test_javascript_has_types_of_variables_and_attributes() -> None:
    graph = javascript(
        """
        class Pen { draw() {} }
        class Page {
          constructor() { this.pen = new Pen() }
          draw() { this.pen.draw() }
        }
        function f() { const page = new Page(); page.draw() }
        """
    )
    assert graph.out("m.js:f") == {"m.js:Page.constructor": "exact", "m.js:Page.draw": "likely"}
    assert graph.out("m.js:Page.draw") == {"m.js:Pen.draw": "likely"}


def test_javascript_returns_of_nameless_functions_are_not_those_around() -> None:
    graph = javascript("function a() {}\nfunction f(list) { list.map(function () { return a }) }\nfunction g() { f([])() }\n")
    assert graph.out("m.js:g") == {"m.js:f": "exact"}


def test_javascript_gives_this_to_functions_that_an_object_is_given() -> None:
    graph = javascript(
        """
        const app = {}
        app.set = function set() {}
        app.enable = function enable() { return this.set(1) }
        function View() { this.lookup() }
        View.prototype.lookup = function lookup() { this.resolve() }
        View.prototype.resolve = function resolve() {}
        function main() { app.set(); const view = new View(); view.resolve() }
        """
    )
    assert graph.out("m.js:app.enable") == {"m.js:app.set": "likely"}
    assert graph.out("m.js:View") == {"m.js:View.lookup": "likely"}
    assert graph.out("m.js:View.lookup") == {"m.js:View.resolve": "likely"}
    assert graph.out("m.js:main") == {"m.js:app.set": "exact", "m.js:View": "exact", "m.js:View.resolve": "likely"}


def test_python_looks_for_self_outside_of_types_among_the_parameters() -> None:
    graph = python("from shapes import Round\ndef outer():\n    def inner(self: Round):\n        self.area()\n    return inner\n")
    assert graph.out("m.py:outer.inner") == {"shapes.py:Round.area": "likely"}


@pytest.mark.parametrize(
    ("declared", "used"),
    [
        ("list[Round]", "for one in many: one.area()"),
        ("t.Sequence[Round]", "many[0].area()"),
        ("dict[str, Round]", "many['a'].area()"),
        ("dict[str, Round]", "many.get('a').area()"),
        ("dict[str, Round] | None", "for one in many.values(): one.area()"),
        ("dict[str, list[Round]]", "many['a'][0].area()"),
    ],
)
def test_a_declared_collection_holds_what_it_says(declared: str, used: str) -> None:
    graph = python(f"import typing as t\nfrom shapes import Round\ndef f(many: {declared}):\n    {used}\n")
    assert graph.out("m.py:f") == {"shapes.py:Round.area": "likely"}


def test_neither_keys_nor_methods_of_a_collection_are_what_it_holds() -> None:
    graph = python(
        "from shapes import Round\nclass Bag:\n    def sort(self): pass\n"
        "def f(many: dict[str, Round], rest: list[Bag]):\n    for one in many: one.area()\n    rest.sort()\n"
    )
    assert graph.out("m.py:f") == {}


def test_typescript_arrays_hold_what_they_say() -> None:
    graph = Graph({"m.ts": "class A { go() {} }\nfunction f(all: A[], by: Map<string, A>) { all[0].go(); by.get('x').go() }\n"})
    assert graph.out("m.ts:f") == {"m.ts:A.go": "likely"}


def test_a_decorator_is_what_its_name_or_call_gives() -> None:
    graph = python(
        "def first(f): return f\ndef second(f): return f\ndef made():\n    def inner(f): return f\n    return inner\n"
        "alias = first\nalias = second\n@alias\ndef a(): pass\n@made()\ndef b(made): pass\n"
    )
    assert graph.out("m.py:a", "decorates") == {"m.py:alias": "exact", "m.py:second": "likely"}
    assert graph.out("m.py:b", "decorates") == {"m.py:made": "exact", "m.py:made.inner": "likely"}


def test_super_alone_calls_nothing_in_python() -> None:
    graph = python("from shapes import Shape\nclass Square(Shape):\n    def area(self): return super().area()\n")
    assert graph.out("m.py:Square.area") == {"shapes.py:Shape.area": "exact"}


def test_an_attribute_also_holds_what_the_methods_of_bases_assign() -> None:
    graph = python(
        "class A:\n    def set(self): self.task = job\nclass B(A):\n    def reset(self): self.task = other\n    def go(self): self.task()\n"
        "def job(): pass\ndef other(): pass\n"
    )
    assert graph.out("m.py:B.go") == {"m.py:B.task": "exact", "m.py:job": "likely", "m.py:other": "likely"}
