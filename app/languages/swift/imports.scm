(import_declaration (identifier) @module (#set! name "*")) @import
