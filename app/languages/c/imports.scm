(preproc_include path: (system_lib_string) @module (#set! name "*")) @import
(preproc_include path: (string_literal (string_content) @module) (#set! name "*")) @import
