(import_statement (import_require_clause (identifier) @alias source: (string (string_fragment) @module))) @import
(export_statement "=" (identifier) @name (#set! module "") (#set! local "default") (#set! reexport)) @import
