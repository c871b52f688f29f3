"""Who calls whom in languages whose families have few rules of their own."""

from __future__ import annotations

from tests.unit.resolve_cases import Graph


def test_kotlin_sees_its_package_its_imports_and_its_members() -> None:
    graph = Graph(
        {
            "src/a/Store.kt": """
            package shop.data
            class Store {
                fun save() { check() }
                private fun check() {}
            }
            fun connect() = Store()
            """,
            "src/b/Other.kt": "package shop.data\nfun both() { connect() }\n",
            "app/Main.kt": """
            package app
            import shop.data.Store
            import shop.data.connect as join
            fun main() {
                join()
                shop.data.connect()
                Store()
            }
            """,
        }
    )
    assert graph.out("src/a/Store.kt:shop.data.Store.save") == {"src/a/Store.kt:shop.data.Store.check": "exact"}
    assert graph.out("src/b/Other.kt:shop.data.both") == {"src/a/Store.kt:shop.data.connect": "exact"}
    assert graph.out("app/Main.kt:app.main") == {"src/a/Store.kt:shop.data.connect": "exact"}
    assert graph.out("app/Main.kt:app.main", "instantiates") == {"src/a/Store.kt:shop.data.Store": "exact"}


def test_scala_imports_by_path_and_inherits() -> None:
    graph = Graph(
        {
            "Base.scala": "package shop\ntrait Base { def run(): Unit = () }\nobject Tools { def help(): Int = 1 }\n",
            "Main.scala": "package app\nimport shop.{Base => B, Tools}\nclass Main extends B {\n  def go() = { run(); Tools.help() }\n}\n",
        }
    )
    assert graph.out("Main.scala:app.Main", "inherits") == {"Base.scala:shop.Base": "exact"}
    assert graph.out("Main.scala:app.Main.go") == {"Base.scala:shop.Base.run": "exact", "Base.scala:shop.Tools.help": "exact"}


def test_swift_sees_its_module_and_extensions() -> None:
    graph = Graph(
        {
            "Store.swift": "class Store {\n    func save() { check() }\n}\nfunc connect() -> Store { return Store() }\n",
            "Store+Check.swift": "extension Store {\n    func check() {}\n}\n",
            "Main.swift": "func start() { connect() }\n",
        }
    )
    assert graph.out("Store.swift:Store.save") == {"Store+Check.swift:Store.check": "exact"}
    assert graph.out("Main.swift:start") == {"Store.swift:connect": "likely"}


def test_lua_requires_a_file() -> None:
    graph = Graph(
        {
            "src/shop/base.lua": "local M = {}\nlocal function helper() end\nfunction M.all() helper() end\nreturn M\n",
            "src/main.lua": "local base = require('shop.base')\nfunction run() base.all() end\n",
        }
    )
    assert graph.out("src/shop/base.lua:M.all") == {"src/shop/base.lua:helper": "exact"}
    assert graph.out("src/main.lua", "imports") == {"src/shop/base.lua": "exact"}


def test_bash_sources_a_file() -> None:
    graph = Graph(
        {
            "lib/log.sh": "log() { :; }\nshout() { log; }\n",
            "bin/run.sh": 'source "$ROOT/lib/log.sh"\nstart() { log; }\n',
            "bin/stop.sh": ". ../lib/log.sh\nstop() { shout; }\n",
        }
    )
    assert graph.out("lib/log.sh:shout") == {"lib/log.sh:log": "exact"}
    assert graph.out("bin/run.sh:start") == {"lib/log.sh:log": "exact"}
    assert graph.out("bin/stop.sh:stop") == {"lib/log.sh:shout": "exact"}


def test_haskell_imports_names_and_modules() -> None:
    graph = Graph(
        {
            "Shop/Data.hs": "module Shop.Data where\nsave :: Int -> Int\nsave x = check x\ncheck x = x\n",
            "Main.hs": "module Main where\nimport Shop.Data (save)\nimport qualified Shop.Data as D\nmain = save (D.check 1)\n",
            "Open.hs": "module Open where\nimport Shop.Data\nrun = save 1\n",
        }
    )
    assert graph.out("Shop/Data.hs:Shop.Data.save") == {"Shop/Data.hs:Shop.Data.check": "exact"}
    assert graph.out("Main.hs:Main.main") == {"Shop/Data.hs:Shop.Data.save": "exact", "Shop/Data.hs:Shop.Data.check": "exact"}
    assert graph.out("Open.hs:Open.run") == {"Shop/Data.hs:Shop.Data.save": "exact"}


def test_elixir_knows_modules_by_their_name_and_their_alias() -> None:
    graph = Graph(
        {
            "lib/store.ex": "defmodule Shop.Store do\n  def save(x), do: check(x)\n  defp check(x), do: x\nend\n",
            "lib/main.ex": """
            defmodule Main do
              alias Shop.Store
              alias Shop.Store, as: S
              import Shop.Store
              def a(x), do: Store.save(x)
              def b(x), do: S.save(x)
              def c(x), do: Shop.Store.save(x)
              def d(x), do: save(x)
            end
            """,
        }
    )
    assert graph.out("lib/store.ex:Shop.Store.save") == {"lib/store.ex:Shop.Store.check": "exact"}
    for name in "abcd":
        assert graph.out(f"lib/main.ex:Main.{name}") == {"lib/store.ex:Shop.Store.save": "exact"}


def test_zig_imports_a_file() -> None:
    graph = Graph(
        {
            "src/base.zig": "pub const Base = struct {\n    pub fn run(self: *Base) void {}\n};\npub fn make() Base { return Base{}; }\n",
            "src/main.zig": """
            const base = @import("base.zig");
            const Base = @import("base.zig").Base;
            fn start() void { base.make(); }
            fn stop() void { return Base{}; }
            """,
        }
    )
    assert graph.out("src/main.zig:start") == {"src/base.zig:make": "exact"}
    assert graph.out("src/main.zig:stop", "instantiates") == {"src/base.zig:Base": "exact"}
