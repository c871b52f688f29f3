// Asks with a client whose types were made from the document: some calls by their types, then each call of a file.
import createClient from "openapi-fetch";
import { readFileSync } from "node:fs";
import type { paths } from "./schema.d.ts";

const [url, calls] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: url });
let done = 0;
const expect = (what: string, ok: boolean) => { if (!ok) throw new Error(what); done++; };

const link = await client.GET("/v1/search", { params: { query: { q: "who calls full_dispatch_request", repositories: ["flask"] } } });
expect("search by link", link.data!.results[0].path === "src/flask/app.py" && link.data!.relevance === "strong");
const posted = await client.POST("/v1/search", { body: { query: "where is url_for defined", filters: { languages: ["python"] }, explain: true } });
expect("search", posted.data!.results[0].path === "src/flask/helpers.py" && posted.data!.total.relation === "exact");
const repository = await client.GET("/v1/repositories/{name}", { params: { path: { name: "flask" } } });
expect("repository", repository.data!.coverage.files > 0);
const read = await client.POST("/v1/classify", { body: { query: "full_dispatch_request 在哪里定义" } });
expect("classify", read.data!.intent === "find_definition");
const symbols = await client.GET("/v1/symbols", { params: { query: { name: "Flask.full_dispatch_request", repositories: ["flask"] } } });
const id = symbols.data!.symbols[0].id;
expect("symbols", symbols.data!.total.results === 1);
const callers = await client.GET("/v1/symbols/{id}/callers", { params: { path: { id } } });
expect("callers", callers.data!.total.exact >= 1);
const impact = await client.GET("/v1/symbols/{id}/impact", { params: { path: { id }, query: { depth: 3 } } });
expect("impact", typeof impact.data === "object" && "summary" in impact.data && impact.data.summary.symbols.certain >= 1);
// @ts-expect-error: the types forbid what the service would tell in the second answer
const batch = await client.POST("/v1/search/batch", { body: { searches: [{ query: "url_for" }, { query: "url_for", limit: "ten" }] } });
expect("batch", batch.data!.answers[0].status === 200 && batch.data!.answers[1].problem!.errors![0].field === "limit");
const file = await client.GET("/v1/files", { params: { query: { repository: "flask", path: "src/flask/helpers.py", lines: "1-2" } } });
expect("file", file.data!.text.startsWith("def url_for"));
const why = await client.GET("/v1/why-not", { params: { query: { q: "where is url_for defined", repository: "flask", path: "src/flask/app.py" } } });
expect("why-not", why.data!.gate.length > 0);
const none = await client.GET("/v1/repositories/{name}", { params: { path: { name: "none" } } });
expect("problem", none.error!.type === "urn:fourfold:problem:repository_not_found");

interface Call { method: string; template: string; path: object; query: object; body: object | null }
interface Answer { data?: unknown; error?: unknown }
const untyped = client as unknown as Record<string, (template: string, options: object) => Promise<Answer>>;
for (const call of JSON.parse(readFileSync(calls, "utf8")) as Call[]) {
  const answer = await untyped[call.method](call.template, { params: { path: call.path, query: call.query }, body: call.body ?? undefined });
  expect(`${call.method} ${call.template}: ${JSON.stringify(answer.error)}`, answer.error === undefined && answer.data !== undefined);
}
console.log(`${done} calls answered`);

