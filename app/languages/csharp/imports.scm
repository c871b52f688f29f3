(using_directive name: (identifier) @alias (qualified_name qualifier: (_) @module name: (_) @name)) @import
(using_directive name: (identifier) @alias . (identifier) @module) @import
(using_directive !name [(qualified_name) (identifier)] @module (#set! name "*")) @import
