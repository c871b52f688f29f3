(import_header (identifier) (#set! tree)) @import
