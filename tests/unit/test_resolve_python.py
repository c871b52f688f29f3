"""Python: scopes, imports, inheritance, inferred types; and the phantoms that must not appear."""

from app.indexing.resolve import DefinitionIndex, resolve_file
from tests.unit.resolve_cases import Graph, facts


def test_bare_name_means_the_function_of_the_file() -> None:
    graph = Graph({"a.py": "def f():\n    g()\n\ndef g():\n    f()\n", "b.py": "def g(): pass\n"})
    assert graph.out("a.py:f") == {"a.py:g": "exact"}
    assert graph.callers("b.py:g") == set()


def test_recursion_is_an_edge_to_itself() -> None:
    assert Graph({"a.py": "def f(n):\n    return f(n - 1)\n"}).out("a.py:f") == {"a.py:f": "exact"}


def test_equal_method_names_make_no_phantoms() -> None:
    graph = Graph(
        {
            "a.py": """
            class Engine:
                def ignite(self): pass

            class Rocket:
                def ignite(self): pass

            def start(thing):
                thing.ignite()
            """
        }
    )
    assert graph.out("a.py:start") == {}


def test_a_name_never_imported_is_not_somebody_elses() -> None:
    graph = Graph({"a.py": "def compute_totals(): pass\n", "b.py": "def f():\n    compute_totals()\n"})
    assert graph.out("b.py:f") == {}


def test_a_librarys_name_is_not_the_repositorys() -> None:
    graph = Graph(
        {
            "pkg/__init__.py": "",
            "pkg/json.py": "def loads(text): pass\n",
            "pkg/use.py": "import json\nfrom requests import get_session\n\ndef f():\n    json.loads('')\n    get_session()\n",
            "pkg/session.py": "def get_session(): pass\n",
        }
    )
    assert graph.out("pkg/use.py:f") == {}
    assert graph.out("pkg/use.py", "imports") == {}


def test_import_with_alias() -> None:
    graph = Graph(
        {
            "lib/__init__.py": "",
            "lib/net.py": "def fetch(): pass\n",
            "main.py": "from lib.net import fetch as get\nimport lib.net as n\n\ndef f():\n    get()\n\ndef g():\n    n.fetch()\n",
        }
    )
    assert graph.out("main.py:f") == {"lib/net.py:fetch": "exact"}
    assert graph.out("main.py:g") == {"lib/net.py:fetch": "exact"}
    assert graph.out("main.py", "imports") == {"lib/net.py:fetch": "exact", "lib/net.py": "exact"}


def test_dotted_import_is_used_by_its_whole_name() -> None:
    graph = Graph({"lib/__init__.py": "", "lib/net.py": "def fetch(): pass\n", "m.py": "import lib.net\n\ndef f():\n    lib.net.fetch()\n"})
    assert graph.out("m.py:f") == {"lib/net.py:fetch": "exact"}


def test_sources_below_a_folder_are_found_by_the_modules_name() -> None:
    graph = Graph(
        {
            "src/flask/__init__.py": "from .app import Flask as Flask\n",
            "src/flask/app.py": "class Flask:\n    pass\n",
            "tests/test_app.py": "import flask\nfrom flask import Flask\n\ndef test():\n    flask.Flask()\n\ndef other():\n    Flask()\n",
        }
    )
    assert graph.out("tests/test_app.py:test", "instantiates") == {"src/flask/app.py:Flask": "exact"}
    assert graph.out("tests/test_app.py:other", "instantiates") == {"src/flask/app.py:Flask": "exact"}


def test_reexport_over_two_packages() -> None:
    graph = Graph(
        {
            "pkg/__init__.py": "from .sub import tool as instrument\n",
            "pkg/sub/__init__.py": "from .impl import *\n",
            "pkg/sub/impl.py": "def tool(): pass\n",
            "use.py": "from pkg import instrument\n\ndef f():\n    instrument()\n",
        }
    )
    assert graph.out("use.py:f") == {"pkg/sub/impl.py:tool": "exact"}


def test_relative_imports() -> None:
    graph = Graph(
        {
            "p/__init__.py": "",
            "p/a.py": "def f(): pass\n",
            "p/q/__init__.py": "",
            "p/q/b.py": "from ..a import f\nfrom .. import a\nfrom . import c\n\ndef g():\n    f()\n\ndef h():\n    a.f()\n    c.k()\n",
            "p/q/c.py": "def k(): pass\n",
        }
    )
    assert graph.out("p/q/b.py:g") == {"p/a.py:f": "exact"}
    assert graph.out("p/q/b.py:h") == {"p/a.py:f": "exact", "p/q/c.py:k": "exact"}


def test_imports_in_a_circle() -> None:
    graph = Graph(
        {
            "a.py": "from b import *\nfrom b import g\n\ndef f():\n    g()\n    missing()\n",
            "b.py": "from a import *\nfrom a import f\n\ndef g():\n    f()\n",
        }
    )
    assert graph.out("a.py:f") == {"b.py:g": "exact"}
    assert graph.out("b.py:g") == {"a.py:f": "exact"}


def test_a_parameter_shadows() -> None:
    graph = Graph({"a.py": "def url_for(): pass\n\ndef f(url_for):\n    url_for()\n    url_for.build_everything()\n"})
    assert graph.out("a.py:f") == {}


def test_a_nested_function_shadows_an_import() -> None:
    graph = Graph({"b.py": "def run(): pass\n", "a.py": "from b import run\n\ndef f():\n    def run(): pass\n    run()\n"})
    assert graph.out("a.py:f") == {"a.py:f.run": "exact"}


def test_methods_do_not_see_the_class_scope() -> None:
    graph = Graph({"a.py": "def size(): pass\n\nclass A:\n    def size(self): pass\n    def f(self):\n        size()\n"})
    assert graph.out("a.py:A.f") == {"a.py:size": "exact"}


def test_self_reaches_a_base_in_another_file() -> None:
    graph = Graph(
        {
            "base.py": "class Base:\n    def setup(self): pass\n    def run(self): pass\n",
            "mid.py": "import base\n\nclass Mid(base.Base):\n    def run(self):\n        super().run()\n",
            "leaf.py": "from mid import Mid\n\nclass Leaf(Mid):\n    def go(self):\n        self.setup()\n        self.run()\n",
            "other.py": "class Other:\n    def setup(self): pass\n    def run(self): pass\n",
        }
    )
    assert graph.out("leaf.py:Leaf.go") == {"base.py:Base.setup": "exact", "mid.py:Mid.run": "exact"}
    assert graph.out("mid.py:Mid.run") == {"base.py:Base.run": "exact"}
    assert graph.out("mid.py:Mid.run", "overrides") == {"base.py:Base.run": "exact"}
    assert graph.out("leaf.py:Leaf", "inherits") == {"mid.py:Mid": "exact"}


def test_the_diamond_is_resolved_breadth_before_the_shared_base() -> None:
    graph = Graph(
        {
            "a.py": """
            class Top:
                def f(self): pass
            class Left(Top): pass
            class Right(Top):
                def f(self): pass
            class Bottom(Left, Right):
                def g(self):
                    self.f()
            """
        }
    )
    assert graph.out("a.py:Bottom.g") == {"a.py:Right.f": "exact"}


def test_a_class_that_is_its_own_ancestor_ends() -> None:
    graph = Graph({"a.py": "class A(B):\n    def f(self):\n        self.nothing_here()\n\nclass B(A): pass\n"})
    assert graph.out("a.py:A.f") == {}


def test_types_of_parameters_and_module_variables() -> None:
    graph = Graph(
        {
            "m.py": "class Store:\n    def put(self): pass\n\nclass Other:\n    def put(self): pass\n",
            "a.py": """
            from m import Store

            store = Store()

            def annotated(s: Store | None) -> None:
                s.put()

            def constructed():
                store.put()
            """,
        }
    )
    assert graph.out("a.py:annotated") == {"m.py:Store.put": "likely"}
    assert graph.out("a.py:constructed") == {"m.py:Store.put": "likely"}
    assert graph.out("a.py:annotated", "references") == {"m.py:Store": "exact"}


def test_return_types() -> None:
    graph = Graph(
        {
            "a.py": """
            class Store:
                def put(self): pass
            class Other:
                def put(self): pass
                @property
                def store(self) -> Store: ...
            def open_store() -> Store: ...
            def f():
                open_store().put()
            def g(other: Other):
                other.store.put()
            """
        }
    )
    assert graph.out("a.py:f") == {"a.py:open_store": "exact", "a.py:Store.put": "likely"}
    assert graph.out("a.py:g") == {"a.py:Store.put": "likely"}


def test_a_distinctive_method_that_exists_once_is_likely() -> None:
    sources = {"m.py": "class State:\n    def make_setup_state(self): pass\n    def get(self): pass\n"}
    use = {"a.py": "def f(x):\n    x.make_setup_state()\n    x.get()\n"}
    assert Graph(sources | use).out("a.py:f") == {"m.py:State.make_setup_state": "likely"}
    twice = {"n.py": "class Double:\n    def make_setup_state(self): pass\n"}
    assert Graph(sources | use | twice).out("a.py:f") == {}


def test_decorators_and_callbacks() -> None:
    graph = Graph(
        {
            "d.py": "def traced(f): return f\n",
            "a.py": """
            import d
            from d import traced

            @traced
            def f(): pass

            @d.traced
            def g(): pass

            def run():
                register(f, key=g)
            """,
        }
    )
    decorated = {(source, target) for source, kind, target, _ in graph.edges if kind == "decorates"}
    assert {target for _, target in decorated} == {"d.py:traced"}
    assert graph.out("a.py:run", "references") == {"a.py:f": "exact", "a.py:g": "exact"}


def test_class_attributes_and_static_calls() -> None:
    graph = Graph(
        {
            "m.py": "class K:\n    @classmethod\n    def make(cls):\n        cls.check()\n    @staticmethod\n    def check(): pass\n",
            "a.py": "from m import K\n\ndef f():\n    K.make()\n    K().check()\n",
        }
    )
    assert graph.out("a.py:f") == {"m.py:K.make": "exact", "m.py:K.check": "exact"}
    assert graph.out("a.py:f", "instantiates") == {"m.py:K": "exact"}
    assert graph.out("m.py:K.make") == {"m.py:K.check": "exact"}


def test_the_latest_definition_before_the_call_is_meant() -> None:
    files = facts({"a.py": "def t():\n    class C: pass\n    C()\n    class C: pass\n    class C: pass\n    C()\n"})
    lines = dict(zip(files[0].symbol_ids, (symbol.name_line for symbol in files[0].symbols), strict=True))
    edges = resolve_file(files[0], DefinitionIndex(files))
    assert [(edge.line, lines[edge.target]) for edge in edges] == [(3, 2), (6, 5)]


def test_calls_at_the_top_level_start_at_the_module() -> None:
    graph = Graph({"a.py": "def f(): pass\n\nf()\n"})
    assert graph.out("a.py") == {"a.py:f": "exact"}


def test_a_parameter_of_a_librarys_type_has_none_of_our_methods() -> None:
    graph = Graph(
        {
            "a.py": "class Results:\n    def get_everything(self): pass\n",
            "b.py": """
            from lib import Request

            def f(request: Request):
                request.get_everything()

            def g():
                Unknown().get_everything()
            """,
        }
    )
    assert graph.out("b.py:f") == {}
    assert graph.out("b.py:g") == {}


def test_a_tests_double_is_not_called_from_the_source() -> None:
    graph = Graph({"tests/test_a.py": "class Fake:\n    def fetch_rows(self): pass\n", "src/a.py": "def f(x):\n    x.fetch_rows()\n"})
    assert graph.out("src/a.py:f") == {}


def test_a_function_inside_a_function_is_nobodys_method() -> None:
    graph = Graph(
        {"a.py": "def f():\n    def wrapper_function(): pass\n    return wrapper_function\n\ndef g(x):\n    x.wrapper_function()\n"}
    )
    assert graph.out("a.py:g") == {}
