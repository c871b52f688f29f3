(import module: (module) @module "hiding" (#set! name "*")) @import
(import "qualified" module: (module) @module alias: (module) @alias) @import
(import module: (module) @module "qualified" alias: (module) @alias) @import
(import "qualified" module: (module) @module @alias (#set! fallback)) @import
(import module: (module) @module names: (import_list name: (import_name [
  variable: (variable) @name
  type: (name) @name
  operator: (prefix_id (operator) @name)
])) (#set! fallback)) @import
(import module: (module) @module !names (#set! fallback) (#set! name "*")) @import
