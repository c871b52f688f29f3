(namespace_use_declaration (#set! tree)) @import
(include_expression (string (string_content) @module) (#set! name "*")) @import
(include_once_expression (string (string_content) @module) (#set! name "*")) @import
(require_expression (string (string_content) @module) (#set! name "*")) @import
(require_once_expression (string (string_content) @module) (#set! name "*")) @import
(include_expression (binary_expression right: (string (string_content) @module)) (#set! name "*") (#set! prefix ".")) @import
(include_once_expression (binary_expression right: (string (string_content) @module)) (#set! name "*") (#set! prefix ".")) @import
(require_expression (binary_expression right: (string (string_content) @module)) (#set! name "*") (#set! prefix ".")) @import
(require_once_expression (binary_expression right: (string (string_content) @module)) (#set! name "*") (#set! prefix ".")) @import
