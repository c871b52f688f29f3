((call target: (identifier) @_alias (arguments . (alias) @module (keywords (pair key: (keyword) @_as value: (alias) @alias))))
  (#any-of? @_alias "alias" "require") (#not-match? @_as "^(?!as:)")) @import
((call target: (identifier) @_alias (arguments . [(alias) (dot)] @module .))
  (#eq? @_alias "alias") (#set! tree) (#set! fallback)) @import
((call target: (identifier) @_import (arguments . (alias) @module))
  (#any-of? @_import "import" "use") (#set! name "*")) @import
((call target: (identifier) @_require (arguments . (alias) @module .))
  (#eq? @_require "require") (#set! fallback)) @import
