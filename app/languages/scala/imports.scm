(import_declaration (#set! tree)) @import
(export_declaration (#set! tree) (#set! reexport)) @import
