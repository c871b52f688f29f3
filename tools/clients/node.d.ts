// What the examples use of node: its own types would take the compiler longer than all the rest.
declare const process: { argv: string[] };
declare module "node:fs" {
  export function readFileSync(path: string, encoding: "utf8"): string;
}
