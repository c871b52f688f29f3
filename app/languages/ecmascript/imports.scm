; import … from

(import_statement (import_clause (identifier) @alias) source: (string (string_fragment) @module) (#set! name "default")) @import
(import_statement
  (import_clause (named_imports (import_specifier name: (_) @name !alias)))
  source: (string (string_fragment) @module)) @import
(import_statement
  (import_clause (named_imports (import_specifier name: _ @name alias: (identifier) @alias)))
  source: (string (string_fragment) @module)) @import
(import_statement (import_clause (namespace_import (identifier) @alias)) source: (string (string_fragment) @module)) @import
(import_statement source: (string (string_fragment) @module) (#set! fallback)) @import

; export … from

(export_statement
  (export_clause (export_specifier name: _ @name !alias))
  source: (string (string_fragment) @module)
  (#set! reexport)) @import
(export_statement
  (export_clause (export_specifier name: _ @name alias: _ @alias))
  source: (string (string_fragment) @module)
  (#set! reexport)) @import
(export_statement (namespace_export (_) @alias) source: (string (string_fragment) @module) (#set! reexport)) @import
(export_statement source: (string (string_fragment) @module) (#set! fallback) (#set! name "*") (#set! reexport)) @import

; Own definitions under another name: the module is empty

(export_statement
  !source
  (export_clause (export_specifier name: _ @name alias: _ @alias))
  (#set! module "") (#set! reexport)) @import
(export_statement
  "default"
  value: (identifier) @name
  (#set! module "") (#set! local "default") (#set! reexport)) @import
(export_statement
  "default"
  declaration: (_ name: (_) @name)
  (#set! module "") (#set! local "default") (#set! reexport)) @import
((assignment_expression left: (member_expression) @_exports right: (identifier) @name) @import
  (#eq? @_exports "module.exports")
  (#set! module "") (#set! local "default") (#set! reexport))

; require(…) and import(…)

((variable_declarator
  name: (object_pattern [
    (shorthand_property_identifier_pattern) @name
    (object_assignment_pattern left: (shorthand_property_identifier_pattern) @name)
    (pair_pattern key: (property_identifier) @name value: (identifier) @alias)
  ])
  value: [
    (call_expression function: [(identifier) (import)] @_load arguments: (arguments . (string (string_fragment) @module)))
    (await_expression (call_expression function: (import) @_load arguments: (arguments . (string (string_fragment) @module))))
  ]) @import
  (#any-of? @_load "require" "import"))
((variable_declarator
  name: (identifier) @alias
  value: [
    (call_expression function: [(identifier) (import)] @_load arguments: (arguments . (string (string_fragment) @module)))
    (await_expression (call_expression function: (import) @_load arguments: (arguments . (string (string_fragment) @module))))
  ]) @import
  (#any-of? @_load "require" "import"))
((variable_declarator
  name: (identifier) @alias
  value: (member_expression
    object: (call_expression function: (identifier) @_load arguments: (arguments . (string (string_fragment) @module)))
    property: (property_identifier) @name)) @import
  (#eq? @_load "require"))
((assignment_expression
  left: (member_expression object: (_) @_exports property: (property_identifier) @alias)
  right: (call_expression function: (identifier) @_load arguments: (arguments . (string (string_fragment) @module)))) @import
  (#any-of? @_exports "exports" "module.exports") (#eq? @_load "require")
  (#set! reexport))
((assignment_expression
  left: (member_expression) @_exports
  right: (call_expression function: (identifier) @_load arguments: (arguments . (string (string_fragment) @module)))) @import
  (#eq? @_exports "module.exports") (#eq? @_load "require")
  (#set! name "*") (#set! reexport))
((call_expression function: [(identifier) (import)] @_load arguments: (arguments . (string (string_fragment) @module))) @import
  (#any-of? @_load "require" "import")
  (#set! fallback))
