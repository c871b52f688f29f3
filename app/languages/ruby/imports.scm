((call !receiver method: (identifier) @_load arguments: (argument_list . (string (string_content) @module))) @import
  (#any-of? @_load "require" "load") (#set! name "*"))
((call !receiver method: (identifier) @_load arguments: (argument_list . (string (string_content) @module))) @import
  (#eq? @_load "require_relative") (#set! name "*") (#set! prefix "./"))
((call !receiver method: (identifier) @_load arguments: (argument_list . (simple_symbol) @name . (string (string_content) @module))) @import
  (#eq? @_load "autoload"))
