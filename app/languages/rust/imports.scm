(use_declaration (visibility_modifier) argument: (_) @module (#set! tree) (#set! reexport)) @import
(use_declaration argument: (_) @module (#set! tree) (#set! fallback)) @import
(mod_item name: (identifier) @module @alias !body (#set! prefix "self::")) @import
(extern_crate_declaration name: (identifier) @module alias: (identifier) @alias) @import
(extern_crate_declaration name: (identifier) @module @alias (#set! fallback)) @import
