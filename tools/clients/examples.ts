// The examples of the documents, asked with a client whose types were made from the document.
import createClient from "openapi-fetch";
import type { paths } from "./schema.d.ts";

const client = createClient<paths>({ baseUrl: process.argv[2] });
const expect = (what: string, ok: boolean) => { if (!ok) throw new Error(what); console.log("ok", what); };

const link = await client.GET("/v1/search", { params: { query: { q: "who calls full_dispatch_request", repositories: ["flask"] } } });
expect("search by link", link.data!.results[0].path === "src/flask/app.py" && link.data!.relevance === "strong");
const posted = await client.POST("/v1/search", { body: { query: "where is url_for defined", filters: { languages: ["python"] }, explain: true } });
expect("search", posted.data!.results[0].path === "src/flask/helpers.py");
const repository = await client.GET("/v1/repositories/{name}", { params: { path: { name: "flask" } } });
expect("repository", repository.data!.coverage.files > 0);
const read = await client.POST("/v1/classify", { body: { query: "full_dispatch_request 在哪里定义" } });
expect("classify", read.data!.intent === "find_definition");
const symbols = await client.GET("/v1/symbols", { params: { query: { name: "Flask.full_dispatch_request", repositories: ["flask"] } } });
const id = symbols.data!.symbols[0].id;
const callers = await client.GET("/v1/symbols/{id}/callers", { params: { path: { id } } });
expect("callers", callers.data!.total.exact >= 1);
const impact = await client.GET("/v1/symbols/{id}/impact", { params: { path: { id }, query: { depth: 3 } } });
if (typeof impact.data !== "object") throw new Error("impact");
expect("impact", impact.data.summary.symbols.certain >= 1);
const batch = await client.POST("/v1/search/batch", { body: { searches: [{ query: "url_for" }] } });
expect("batch", batch.data!.answers[0].status === 200);
const file = await client.GET("/v1/files", { params: { query: { repository: "flask", path: "src/flask/helpers.py", lines: "1-2" } } });
expect("file", file.data!.text.startsWith("def url_for"));
const why = await client.GET("/v1/why-not", { params: { query: { q: "where is url_for defined", repository: "flask", path: "src/flask/app.py" } } });
expect("why-not", why.data!.gate.length > 0);
const none = await client.GET("/v1/repositories/{name}", { params: { path: { name: "none" } } });
expect("problem", none.error!.type === "urn:fourfold:problem:repository_not_found");
