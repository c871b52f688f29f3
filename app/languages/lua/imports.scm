((variable_declaration (assignment_statement
    (variable_list . name: (identifier) @alias)
    (expression_list . value: (function_call name: (identifier) @_require arguments: (arguments . (string content: (_) @module) .)))))
  (#eq? @_require "require")) @import
((variable_declaration (assignment_statement
    (variable_list . name: (identifier) @alias)
    (expression_list . value: (dot_index_expression
      table: (function_call name: (identifier) @_require arguments: (arguments . (string content: (_) @module) .))
      field: (identifier) @name))))
  (#eq? @_require "require")) @import
((function_call name: (identifier) @_require arguments: (arguments . (string content: (_) @module) .))
  (#eq? @_require "require") (#set! fallback)) @import
