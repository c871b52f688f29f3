(using_declaration "namespace" [(identifier) (qualified_identifier) (nested_namespace_specifier)] @module (#set! name "*")) @import
(using_declaration . (qualified_identifier scope: (_) @module name: [(identifier) (type_identifier)] @name)) @import
