"""The rules of each family of languages: packages, namespaces, barrels, includes, and types that are written in several places."""

from app.domain.code import EdgeKind
from app.indexing.resolve import DefinitionIndex, resolve_file
from tests.unit.resolve_cases import Graph, facts

# JavaScript and TypeScript


def test_barrel_with_renamed_and_default_exports() -> None:
    graph = Graph(
        {
            "src/net/client.ts": """
            export default class Client { send(): void {} }
            export function connect(): Client { return new Client() }
            """,
            "src/net/index.ts": "export { connect as open, default as NetClient } from './client'\nexport * from './tools'\n",
            "src/net/tools.ts": "export const retry = () => 1\nfunction hidden() {}\n",
            "src/main.ts": """
            import { open, NetClient as C, retry as again } from './net'
            import * as net from './net/index.js'
            import Client from './net/client'

            function a() { open(); again() }
            function b() { new C(); net.retry() }
            function c(client: Client) { client.send(); new Client() }
            """,
        }
    )
    assert graph.out("src/main.ts:a") == {"src/net/client.ts:connect": "exact", "src/net/tools.ts:retry": "exact"}
    assert graph.out("src/main.ts:b", "instantiates") == {"src/net/client.ts:Client": "exact"}
    assert graph.out("src/main.ts:b") == {"src/net/tools.ts:retry": "exact"}
    assert graph.out("src/main.ts:c", "instantiates") == {"src/net/client.ts:Client": "exact"}
    assert graph.out("src/main.ts:c") == {"src/net/client.ts:Client.send": "likely"}


def test_barrels_that_export_each_other_end() -> None:
    graph = Graph(
        {
            "a.ts": "export * from './b'\nexport function f() {}\n",
            "b.ts": "export * from './a'\n",
            "c.ts": "import { f, g } from './b'\nfunction h() { f(); g() }\n",
        }
    )
    assert graph.out("c.ts:h") == {"a.ts:f": "exact"}


def test_require_of_a_function_and_of_its_parts() -> None:
    graph = Graph(
        {
            "lib/make.js": "function make() {}\nfunction part() {}\nmodule.exports = make\nmodule.exports.part = part\n",
            "app.js": "const make = require('./lib/make')\nconst { part } = require('./lib/make')\nfunction f() { make(); part() }\n",
        }
    )
    assert graph.out("app.js:f") == {"lib/make.js:make": "exact", "lib/make.js:part": "exact"}
    assert graph.out("app.js", "imports") == {"lib/make.js": "exact", "lib/make.js:part": "exact"}


def test_a_package_is_not_a_file_of_the_same_name() -> None:
    graph = Graph({"lodash.js": "export function chunk() {}\n", "a.js": "import { chunk } from 'lodash'\nfunction f() { chunk() }\n"})
    assert graph.out("a.js:f") == {}


def test_this_and_super_in_a_class_hierarchy() -> None:
    graph = Graph(
        {
            "base.ts": "export class Base { run() {} stop() {} }\n",
            "leaf.ts": """
            import { Base } from './base'
            export class Leaf extends Base {
              run() { super.run(); this.stop() }
            }
            """,
            "other.ts": "export class Other { run() {} stop() {} }\n",
        }
    )
    assert graph.out("leaf.ts:Leaf.run") == {"base.ts:Base.run": "exact", "base.ts:Base.stop": "exact"}
    assert graph.out("leaf.ts:Leaf.run", "overrides") == {"base.ts:Base.run": "exact"}


# Go


def test_go_names_are_shared_within_a_package_only() -> None:
    graph = Graph(
        {
            "net/a.go": "package net\n\nfunc Dial() { helper() }\n",
            "net/b.go": "package net\n\nfunc helper() {}\n",
            "disk/c.go": "package disk\n\nfunc helper() {}\n",
            "main.go": 'package main\n\nimport "example.com/app/net"\n\nfunc main() { net.Dial(); helper() }\n',
        }
    )
    assert graph.out("net/a.go:Dial") == {"net/b.go:helper": "exact"}
    assert graph.out("main.go:main") == {"net/a.go:Dial": "exact"}
    assert graph.out("main.go", "imports") == {"net/a.go": "exact"}


def test_go_methods_by_receiver_parameter_and_field() -> None:
    graph = Graph(
        {
            "s/server.go": "package s\n\ntype Server struct {\n\tstore *Store\n}\n\nfunc (s *Server) Run() { s.stop(); s.store.Put() }\n",
            "s/stop.go": "package s\n\nfunc (s *Server) stop() {}\n\ntype Other struct{}\n\nfunc (o Other) stop() {}\n",
            "s/store.go": "package s\n\ntype Store struct{}\n\nfunc (s *Store) Put() {}\n\nfunc (o Other) Put() {}\n",
            "s/use.go": "package s\n\nfunc use(srv *Server) { srv.Run() }\n",
        }
    )
    assert graph.out("s/server.go:Server.Run") == {"s/stop.go:Server.stop": "likely", "s/store.go:Store.Put": "likely"}
    assert graph.out("s/use.go:use") == {"s/server.go:Server.Run": "likely"}


def test_go_package_of_another_module_is_outside() -> None:
    graph = Graph(
        {
            "errors/e.go": "package errors\n\nfunc Wrap() {}\n",
            "log/l.go": "package log\n\nfunc Print() {}\n",
            "a/a.go": """
            package a

            import "example.com/app/log"
            import "github.com/pkg/errors"

            func f() { errors.Wrap(); log.Print() }
            """,
            "b/b.go": 'package b\n\nimport "example.com/app/log"\nimport "example.com/app/a"\n\nfunc g() { log.Print() }\n',
        }
    )
    assert graph.out("a/a.go:f") == {"log/l.go:Print": "exact"}


# Java, C#, PHP


def test_java_packages_imports_and_inherited_members() -> None:
    graph = Graph(
        {
            "src/com/x/Base.java": "package com.x;\npublic class Base { protected void log() {} }\n",
            "src/com/x/Near.java": "package com.x;\nclass Near { static void hit() {} }\n",
            "src/com/y/Far.java": "package com.y;\npublic class Far { public static void reach() {} public void go() {} }\n",
            "src/com/z/Far.java": "package com.z;\npublic class Far { public static void reach() {} public void go() {} }\n",
            "src/com/x/Leaf.java": """
            package com.x;
            import com.y.Far;
            public class Leaf extends Base {
              private Far far = new Far();
              void run(Far other) { log(); Near.hit(); Far.reach(); other.go(); far.go(); this.far.go(); }
            }
            """,
        }
    )
    assert graph.out("src/com/x/Leaf.java:Leaf.run") == {
        "src/com/x/Base.java:Base.log": "exact",
        "src/com/x/Near.java:Near.hit": "exact",
        "src/com/y/Far.java:Far.reach": "exact",
        "src/com/y/Far.java:Far.go": "likely",
    }
    assert graph.out("src/com/x/Leaf.java", "imports") == {"src/com/y/Far.java:Far": "exact"}


def test_csharp_namespaces() -> None:
    graph = Graph(
        {
            "Store.cs": "namespace Shop.Data;\npublic class Store { public void Put() {} public static Store Open() { return null; } }\n",
            "Other.cs": "namespace Shop.Other { public class Store { public void Put() {} } }\n",
            "Main.cs": "using Shop.Data;\nnamespace Shop.App { class Main { Store store; void Run() { Store.Open(); store.Put(); } } }\n",
        }
    )
    called = {target.rpartition(":")[0] for source, kind, target, _ in graph.edges if kind == "calls"}
    assert called == {"Store.cs"}


def test_php_namespaces_and_use() -> None:
    graph = Graph(
        {
            "src/Models/User.php": """<?php
            namespace App\\Models;
            class User { public function save() {} public static function find() {} }
            """,
            "src/Other/User.php": """<?php
            namespace App\\Other;
            class User { public function save() {} public static function find() {} }
            """,
            "src/Web.php": """<?php
            namespace App;
            use App\\Models\\User as Account;
            class Web {
              public function go(Account $account) { Account::find(); $account->save(); $this->back(); }
              private function back() {}
            }
            """,
        }
    )
    (go,) = {source for source, kind, _, _ in graph.edges if kind == "calls"}
    assert {target.rpartition(":")[0] for target in graph.out(go)} == {"src/Models/User.php", "src/Web.php"}
    assert sorted(graph.out(go).values()) == ["exact", "exact", "likely"]


# Rust


def test_rust_use_modules_and_impl_blocks() -> None:
    graph = Graph(
        {
            "src/lib.rs": "mod net;\nmod store;\npub fn start() { net::dial(); crate::net::dial() }\n",
            "src/net/mod.rs": "pub mod tls;\npub fn dial() { self::tls::wrap(); tls::wrap() }\n",
            "src/net/tls.rs": "use super::dial as again;\npub fn wrap() { again() }\n",
            "src/store.rs": """
            use crate::net::{dial, tls::{self, wrap as cover}};
            pub struct Store { inner: Inner }
            struct Inner;
            impl Inner { fn put(&self) {} }
            impl Store {
                pub fn new() -> Self { Store { inner: Inner } }
                pub fn run(&self) { self.step(); Self::new(); self.inner.put(); dial(); tls::wrap(); cover(); }
                fn step(&self) {}
            }
            pub struct Other;
            impl Other { pub fn new() -> Self { Other } fn step(&self) {} fn put(&self) {} }
            """,
        }
    )
    assert graph.out("src/lib.rs:start") == {"src/net/mod.rs:dial": "exact"}
    assert graph.out("src/net/mod.rs:dial") == {"src/net/tls.rs:wrap": "exact"}
    assert graph.out("src/net/tls.rs:wrap") == {"src/net/mod.rs:dial": "exact"}
    assert graph.out("src/store.rs:Store.run") == {
        "src/store.rs:Store.step": "exact",
        "src/store.rs:Store.new": "exact",
        "src/store.rs:Inner.put": "likely",
        "src/net/mod.rs:dial": "exact",
        "src/net/tls.rs:wrap": "exact",
    }


# C and C++


def test_c_calls_reach_the_definition_behind_the_header() -> None:
    graph = Graph(
        {
            "include/net.h": "int dial(int port);\n#define LIMIT 3\n",
            "src/net.c": '#include "net.h"\nint dial(int port) { return port; }\nstatic void local_helper(void) {}\n',
            "src/main.c": '#include "../include/net.h"\nint main(void) { return dial(1); }\n',
            "src/loose.c": "void loose(void) { dial(2); local_helper(); }\n",
        }
    )
    assert graph.out("src/main.c:main") == {"src/net.c:dial": "exact"}
    assert graph.out("src/loose.c:loose") == {"src/net.c:dial": "likely"}
    assert graph.out("src/main.c", "imports") == {"include/net.h": "exact"}


def test_cpp_members_written_outside_of_their_class() -> None:
    graph = Graph(
        {
            "shape.hpp": "class Shape { public: void draw(); void fill(); };\nclass Other { public: void fill(); };\n",
            "shape.cpp": """
            #include "shape.hpp"
            void Shape::draw() { fill(); this->fill(); }
            void Shape::fill() {}
            void Other::fill() {}
            """,
            "main.cpp": '#include "shape.hpp"\nvoid f(Shape &s) { s.draw(); }\n',
        }
    )
    assert graph.out("shape.cpp:Shape.draw") == {"shape.cpp:Shape.fill": "exact"}
    assert graph.out("main.cpp:f") == {"shape.cpp:Shape.draw": "likely"}


# Ruby


def test_ruby_requires_constants_and_own_methods() -> None:
    graph = Graph(
        {
            "lib/store.rb": "class Store\n  def self.open\n  end\n  def put\n    check_all\n  end\n  def check_all\n  end\nend\n",
            "lib/app.rb": "require_relative 'store'\n\nclass App\n  def run\n    Store.open\n    Store.new.put\n  end\nend\n",
            "lib/other.rb": "class Other\n  def put\n  end\n  def check_all\n  end\nend\n",
            "far.rb": "class Far\n  def run\n    Store.open\n  end\nend\n",
        }
    )
    assert graph.out("lib/store.rb:Store.put") == {"lib/store.rb:Store.check_all": "exact"}
    assert graph.out("lib/app.rb:App.run") == {"lib/store.rb:Store.open": "exact", "lib/store.rb:Store.put": "exact"}
    assert graph.out("lib/app.rb:App.run", "instantiates") == {"lib/store.rb:Store": "exact"}
    assert graph.out("far.rb:Far.run") == {"lib/store.rb:Store.open": "likely"}


# Blocks that are no symbols


def test_namesakes_in_anonymous_functions_are_told_apart_by_nearness() -> None:
    source = """
    describe('a', () => { function setup() {}
      it('x', () => { setup() }) })
    describe('b', () => { function setup() {}
      it('y', () => { setup() }) })
    """
    files = facts({"a.test.js": source})
    lines = dict(zip(files[0].symbol_ids, (symbol.name_line for symbol in files[0].symbols), strict=True))
    calls = {(edge.line, lines[edge.target]) for edge in resolve_file(files[0], DefinitionIndex(files)) if edge.kind is EdgeKind.CALLS}
    assert calls == {(3, 2), (5, 4)}
