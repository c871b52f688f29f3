(import_declaration (scoped_identifier) @module (asterisk) (#set! name "*")) @import
(import_declaration (scoped_identifier scope: (_) @module name: (identifier) @name) .) @import
