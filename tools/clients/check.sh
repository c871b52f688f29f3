#!/bin/sh
# Makes a Python and a TypeScript client of the interface's document and runs the documents' examples with both:
#     tools/clients/check.sh http://127.0.0.1:8000 /path/to/the/flask/that/the/service/may/index
# Needs node, npm and a package index; nothing that it makes is kept.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

maker=openapi-python-client==0.29.1
"$root/.venv/bin/uv" tool run --quiet --from "$maker" openapi-python-client generate \
	--path "$root/openapi/openapi.json" --output-path "$work/made_client" --meta none >"$work/made.log" || { cat "$work/made.log"; exit 1; }
PYTHONPATH="$work:$root" "$root/.venv/bin/uv" run --quiet --no-project --with "$maker" python "$root/tools/clients/examples.py" "$1" "$2"

cp "$root/tools/clients/examples.ts" "$work"
cd "$work"
echo '{"private": true, "type": "module"}' >package.json
npm install --silent openapi-fetch@0.17 openapi-typescript@7 typescript@5 @types/node@22
npx openapi-typescript "$root/openapi/openapi.json" --default-non-nullable=false -o schema.d.ts
npx tsc --strict --module nodenext --moduleResolution nodenext --rewriteRelativeImportExtensions --target es2022 --types node examples.ts
node examples.js "$1"
