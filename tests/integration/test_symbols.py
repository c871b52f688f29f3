"""Symbols by name and id, their uses, callers and callees, on a real index."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.domain.code import EdgeClass
from app.domain.errors import CursorExpired, InvalidRequest, SymbolNotFound
from app.domain.symbols import ImpactRequest, NameMatch, SymbolDetails, SymbolsRequest, UsesRequest
from tests.integration.conftest import Bench, write_tree

pytestmark = pytest.mark.anyio

BANK = {
    "bank/__init__.py": "",
    "bank/account.py": (
        '"""Accounts."""\n\nfrom bank.audit import record\n\n\nclass Account:\n    """Holds money."""\n\n'
        "    def __init__(self, owner: str) -> None:\n        self.owner = owner\n        record('open')\n\n"
        "    def deposit(self, amount: int) -> None:\n        record('deposit')\n        self.check(amount)\n\n"
        "    def check(self, amount: int) -> None:\n        if amount < 0:\n            raise ValueError(amount)\n"
    ),
    "bank/audit.py": (
        "def record(event: str) -> None:\n    print(event)\n\n\ndef Record() -> None:\n    record('twice')\n    record('twice')\n"
    ),
    "bank/teller.py": (
        "from bank.account import Account\nfrom bank.audit import record\n\n\ndef open_account(owner: str) -> Account:\n"
        "    account = Account(owner)\n    record('teller')\n    return account\n\n\n"
        "def anything(thing):\n    thing.deposit(1)\n    len([])\n"
    ),
    "tests/test_account.py": "from bank.account import Account\n\n\ndef test_open():\n    assert Account('ada').owner == 'ada'\n",
}


@pytest.fixture
async def bank(bench: Bench, tmp_path: Path) -> Bench:
    await bench.index(write_tree(tmp_path / "bank", BANK), "bank")
    return bench


async def one(bench: Bench, name: str, **wanted: object) -> SymbolDetails:
    page = await bench.service.symbols.find(SymbolsRequest(name, **wanted))  # type: ignore[arg-type]
    assert len(page.symbols) == page.total == 1, page.symbols
    return page.symbols[0]


async def names(bench: Bench, name: str | None = None, **wanted: object) -> list[str]:
    page = await bench.service.symbols.find(SymbolsRequest(name, **wanted))  # type: ignore[arg-type]
    return [symbol.qualified for symbol in page.symbols]


async def test_a_symbol_has_its_details(bank: Bench) -> None:
    found = await one(bank, "Account.deposit")
    assert (found.name, found.qualified, found.kind, found.container) == ("deposit", "Account.deposit", "method", "Account")
    assert found.signature == "def deposit(self, amount: int) -> None"
    assert found.place is not None
    assert (found.place.repository, found.place.path, found.place.start_line, found.place.language) == (
        "bank",
        "bank/account.py",
        13,
        "python",
    )
    account = await one(bank, "Account")
    assert account.doc == "Holds money."
    assert account.centrality > 0
    answer = await bank.service.symbols.get(account.id)
    assert answer.symbol == account
    assert [member.name for member in answer.members] == ["__init__", "owner", "deposit", "check"]
    assert {member.container_id for member in answer.members} == {account.id}


async def test_names_are_found_exactly_by_beginning_and_by_likeness(bank: Bench) -> None:
    assert await names(bank, "record") == ["record"]
    assert await names(bank, "Record") == ["Record"], "as written, there is another of that name in another case"
    assert await names(bank, "DEPOSIT") == ["Account.deposit"], "nobody bears it as written"
    assert await names(bank, "Account::deposit") == ["Account.deposit"]
    assert await names(bank, "Nobody.deposit") == []
    assert await names(bank, "open", match=NameMatch.PREFIX) == ["open_account"]
    assert (await names(bank, "open_acount", match=NameMatch.FUZZY))[0] == "open_account"
    assert await names(bank, "*_account") == ["open_account"]
    assert await names(bank, "100%_") == []


async def test_filters_that_leave_no_file_are_told(bank: Bench) -> None:
    async def told(**wanted: object) -> list[str]:
        page = await bank.service.symbols.find(SymbolsRequest(**wanted))  # type: ignore[arg-type]
        assert page.symbols == ()
        return [notice.code for notice in page.warnings]

    assert await told(languages=("klingon",)) == ["unknown_language", "no_file_matches"]
    assert await told(paths=("src/**",)) == ["no_file_matches"]
    assert await told(name="nobody", languages=("python",)) == await told(name="nobody") == []


async def test_patterns_may_name_parents(bank: Bench) -> None:
    assert set(await names(bank, "Account.*")) == {"Account.__init__", "Account.owner", "Account.deposit", "Account.check"}
    assert await names(bank, "Acc*.dep*") == await names(bank, "account::DEP*") == ["Account.deposit"]
    assert await names(bank, "Account.dep", match=NameMatch.PREFIX) == ["Account.deposit"]
    assert await names(bank, "count.*") == await names(bank, "Nobody.*") == await names(bank, "Account.x*") == []


async def test_all_are_listed_the_most_central_first(bank: Bench) -> None:
    every = (await bank.service.symbols.find(SymbolsRequest(limit=100))).symbols
    assert len(every) == 10
    source = [symbol.centrality for symbol in every if symbol.place is not None and symbol.place.path.startswith("bank/")]
    assert source == sorted(source, reverse=True)
    assert every[0].qualified == "record"
    assert every[-1].qualified == "test_open", "tests come last"
    page = await bank.service.symbols.find(SymbolsRequest("*", limit=2))
    assert (page.symbols, page.total) == (every[:2], 10)


async def test_filters(bank: Bench) -> None:
    assert await names(bank, kinds=("class",)) == ["Account"]
    assert await names(bank, kinds=("function",), paths=("tests/**",)) == ["test_open"]
    assert await names(bank, kinds=("function",), paths=("!tests/**", "!bank/teller.py")) == ["record", "Record"]
    assert await names(bank, languages=("go",)) == []


async def test_pages_of_symbols_follow_one_another(bank: Bench) -> None:
    every = await names(bank, limit=100)
    seen: list[str] = []
    cursor = None
    while True:
        page = await bank.service.symbols.find(SymbolsRequest(limit=2, cursor=cursor))
        seen += [symbol.qualified for symbol in page.symbols]
        assert page.total == len(every)
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == every


async def test_references_are_lines_with_their_relation(bank: Bench) -> None:
    record = await one(bank, "record")
    page = await bank.service.symbols.references(UsesRequest(record.id))
    found = [(use.path, use.site.line, use.site.relation, use.symbol.qualified) for use in page.part.items]
    assert found == [
        ("bank/account.py", 3, "imports", "bank/account.py"),
        ("bank/account.py", 11, "calls", "Account.__init__"),
        ("bank/account.py", 14, "calls", "Account.deposit"),
        ("bank/audit.py", 6, "calls", "Record"),
        ("bank/audit.py", 7, "calls", "Record"),
        ("bank/teller.py", 2, "imports", "bank/teller.py"),
        ("bank/teller.py", 7, "calls", "open_account"),
    ]
    assert page.part.items[1].site.text == "        record('open')"
    assert page.part.counts[EdgeClass.EXACT] == 7
    assert (page.part.complete, page.next_cursor, page.snapshot.repository) == (True, None, "bank")


async def test_callers_are_grouped_and_the_possible_ones_come_last(bank: Bench) -> None:
    record = await bank.service.symbols.callers(UsesRequest((await one(bank, "record")).id))
    by_name = {caller.symbol.qualified: [site.line for site in caller.sites] for caller in record.part.items}
    assert by_name == {"Account.__init__": [11], "Account.deposit": [14], "Record": [6, 7], "open_account": [7]}

    deposit = await one(bank, "deposit")
    page = await bank.service.symbols.callers(UsesRequest(deposit.id))
    (last,) = [caller for caller in page.part.items if caller.symbol.qualified == "anything"]
    assert last is page.part.items[-1]
    assert last.edge_class in (EdgeClass.POSSIBLE, EdgeClass.LIKELY)
    account = await bank.service.symbols.callers(UsesRequest((await one(bank, "Account")).id))
    assert {caller.symbol.qualified for caller in account.part.items} == {"open_account", "test_open"}
    assert {site.relation for caller in account.part.items for site in caller.sites} == {"instantiates"}


async def test_possible_uses_can_be_left_out(bank: Bench, tmp_path: Path) -> None:
    tree = {f"m{i}.py": f"class C{i}:\n    def run(self):\n        pass\n" for i in range(3)} | {"use.py": "def go(x):\n    x.run()\n"}
    await bank.index(write_tree(tmp_path / "runs", tree), "runs")
    run = (await bank.service.symbols.find(SymbolsRequest("C1.run"))).symbols[0]
    page = await bank.service.symbols.callers(UsesRequest(run.id))
    assert [(c.symbol.qualified, c.edge_class, c.sites[0].text) for c in page.part.items] == [("go", EdgeClass.POSSIBLE, "    x.run()")]
    assert page.part.counts == {EdgeClass.EXACT: 0, EdgeClass.LIKELY: 0, EdgeClass.POSSIBLE: 1}
    certain = await bank.service.symbols.callers(UsesRequest(run.id, classes=(EdgeClass.EXACT, EdgeClass.LIKELY)))
    assert certain.part.items == ()


async def test_who_hands_a_function_on_may_call_it(bench: Bench, tmp_path: Path) -> None:
    tree = {"m.py": "def job():\n    pass\n\n\ndef start(run):\n    run(job)\n\n\ndef both(run):\n    run(job)\n    job()\n"}
    await bench.index(write_tree(tmp_path / "jobs", tree), "jobs")
    job = await one(bench, "job")
    page = await bench.service.symbols.callers(UsesRequest(job.id))
    found = [(caller.symbol.qualified, caller.edge_class, [site.line for site in caller.sites]) for caller in page.part.items]
    assert found == [("both", EdgeClass.EXACT, [11]), ("start", EdgeClass.POSSIBLE, [6])]
    assert page.part.counts[EdgeClass.POSSIBLE] == 1
    certain = await bench.service.symbols.callers(UsesRequest(job.id, classes=(EdgeClass.EXACT,)))
    assert [caller.symbol.qualified for caller in certain.part.items] == ["both"]


async def test_callees_with_the_calls_that_lead_nowhere(bank: Bench) -> None:
    deposit = await one(bank, "Account.deposit")
    page = await bank.service.symbols.callees(UsesRequest(deposit.id))
    assert [(callee.symbol.qualified, callee.sites[0].line) for callee in page.part.items] == [("record", 14), ("Account.check", 15)]
    anything = await one(bank, "anything")
    page = await bank.service.symbols.callees(UsesRequest(anything.id))
    unresolved = {call.name: (call.receiver, call.line, call.candidates) for call in page.unresolved}
    assert unresolved["len"] == (None, 13, 0)
    whole_class = await bank.service.symbols.callees(UsesRequest((await one(bank, "Account")).id))
    assert {callee.symbol.qualified for callee in whole_class.part.items} == {"record", "Account.check"}


async def test_a_file_is_a_symbol_too(bank: Bench) -> None:
    page = await bank.service.symbols.references(UsesRequest((await one(bank, "record")).id))
    module = page.part.items[0].symbol
    assert (module.kind, module.name, module.qualified) == ("module", "account.py", "bank/account.py")
    answer = await bank.service.symbols.get(module.id)
    assert [member.name for member in answer.members] == ["Account"]
    assert answer.symbol.place is not None
    assert (answer.symbol.place.start_line, answer.symbol.place.end_line) == (1, 19)
    callees = await bank.service.symbols.callees(UsesRequest(module.id))
    assert {callee.symbol.qualified for callee in callees.part.items} == {"record", "Account.check"}


async def test_pages_of_callers_follow_one_another(bench: Bench, tmp_path: Path) -> None:
    tree = {"hub.py": "class Hub:\n    def hub(self):\n        pass\n\n\nclass Other:\n    def hub(self):\n        pass\n"}
    tree |= {f"a{i:02}.py": f"from hub import Hub\n\n\ndef sure_{i:02}():\n    Hub.hub(None)\n" for i in range(7)}
    tree |= {f"b{i:02}.py": f"def unsure_{i:02}(x):\n    x.hub()\n" for i in range(5)}
    await bench.index(write_tree(tmp_path / "t", tree), "t")
    hub = await one(bench, "Hub.hub")
    seen: list[tuple[str, EdgeClass]] = []
    cursor = None
    while True:
        page = await bench.service.symbols.callers(UsesRequest(hub.id, limit=3, cursor=cursor))
        assert page.part.counts == {EdgeClass.EXACT: 7, EdgeClass.LIKELY: 0, EdgeClass.POSSIBLE: 5}
        seen += [(caller.symbol.name, caller.edge_class) for caller in page.part.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == 12
    assert [edge_class for _, edge_class in seen] == [EdgeClass.EXACT] * 7 + [EdgeClass.POSSIBLE] * 5
    first = await bench.service.symbols.callers(UsesRequest(hub.id, limit=3))
    with pytest.raises(InvalidRequest, match="belongs to another question"):
        await bench.service.symbols.references(UsesRequest(hub.id, limit=3, cursor=first.next_cursor))


async def test_a_page_stays_in_its_generation(bench: Bench, tmp_path: Path) -> None:
    tree = {"hub.py": "def hub():\n    pass\n"} | {f"a{i}.py": f"from hub import hub\n\n\ndef use_{i}():\n    hub()\n" for i in range(4)}
    root = write_tree(tmp_path / "t", tree)
    await bench.index(root, "t")
    hub = await one(bench, "hub")
    first = await bench.service.symbols.callers(UsesRequest(hub.id, limit=2))
    (root / "a3.py").unlink()
    await bench.index(root, "t")
    second = await bench.service.symbols.callers(UsesRequest(hub.id, limit=2, cursor=first.next_cursor))
    assert (first.snapshot.generation, second.snapshot.generation) == (1, 1)
    callers = {caller.symbol.name for page in (first, second) for caller in page.part.items}
    assert callers == {"use_0", "use_1", "use_2", "use_3"}
    now = await bench.service.symbols.callers(UsesRequest(hub.id))
    assert (now.snapshot.generation, {caller.symbol.name for caller in now.part.items}) == (2, {"use_0", "use_1", "use_2"})
    await bench.service.repositories.delete("t")
    with pytest.raises(CursorExpired):
        await bench.service.symbols.callers(UsesRequest(hub.id, limit=2, cursor=first.next_cursor))


async def test_an_id_survives_edits_elsewhere_and_ends_with_its_symbol(bench: Bench, tmp_path: Path) -> None:
    root = write_tree(tmp_path / "t", {"a.py": "def first():\n    pass\n\n\ndef second():\n    first()\n"})
    await bench.index(root, "t")
    second = await one(bench, "second")
    (root / "a.py").write_text("import os\n\n\ndef first():\n    return os\n\n\ndef second():\n    first()\n")
    await bench.index(root, "t")
    moved = (await bench.service.symbols.get(second.id)).symbol
    assert moved.place is not None
    assert moved.place.start_line == 8
    (root / "a.py").write_text("def first():\n    pass\n")
    await bench.index(root, "t")
    with pytest.raises(SymbolNotFound):
        await bench.service.symbols.get(second.id)


async def test_copies_of_a_repository_share_ids(bank: Bench, tmp_path: Path) -> None:
    await bank.index(write_tree(tmp_path / "copy", BANK), "copy")
    record = (await bank.service.symbols.find(SymbolsRequest("record", repositories=("bank",)))).symbols[0]
    with pytest.raises(InvalidRequest, match="name one of bank, copy"):
        await bank.service.symbols.get(record.id)
    for name in ("bank", "copy"):
        assert (await bank.service.symbols.get(record.id, name)).snapshot.repository == name
        page = await bank.service.symbols.references(UsesRequest(record.id, name))
        assert page.part.counts[EdgeClass.EXACT] == 7


async def test_what_a_library_defines_has_users_too(bench: Bench, tmp_path: Path) -> None:
    tree = {
        "a.py": "import json\n\n\ndef load(text):\n    return json.loads(text)\n",
        "b.py": "from a import load\n\n\ndef main():\n    load('{}')\n",
    }
    await bench.index(write_tree(tmp_path / "t", tree), "t")
    page = await bench.service.symbols.callees(UsesRequest((await one(bench, "load")).id))
    (loads,) = [callee.symbol for callee in page.part.items]
    assert (loads.name, loads.qualified, loads.kind, loads.place) == ("loads", "json.loads", "external", None)
    callers = await bench.service.symbols.callers(UsesRequest(loads.id))
    assert [caller.symbol.qualified for caller in callers.part.items] == ["load"]
    assert callers.symbol == loads
    assert [await one(bench, name) for name in ("json.loads", "loads")] == [loads, loads]
    reached = await bench.service.impact.of_symbol(ImpactRequest(symbol_id=loads.id))
    assert {"load", "main"} <= {entry.symbol.qualified for entry in reached.impact.certain}
