(import_spec !name path: (interpreted_string_literal (interpreted_string_literal_content) @module)) @import
(import_spec name: (package_identifier) @alias path: (interpreted_string_literal (interpreted_string_literal_content) @module)) @import
(import_spec name: (dot) path: (interpreted_string_literal (interpreted_string_literal_content) @module) (#set! name "*")) @import
(import_spec name: (blank_identifier) path: (interpreted_string_literal (interpreted_string_literal_content) @module) (#set! unbound)) @import
