; A component is called by its element; lower-case elements are the page's own.

((jsx_opening_element name: (identifier) @reference.call) (#not-match? @reference.call "^(?![A-Z])"))
((jsx_self_closing_element name: (identifier) @reference.call) (#not-match? @reference.call "^(?![A-Z])"))
(jsx_opening_element name: (member_expression object: (_) @receiver property: (property_identifier) @reference.call))
(jsx_self_closing_element name: (member_expression object: (_) @receiver property: (property_identifier) @reference.call))
(jsx_expression (identifier) @reference.read)
(jsx_expression (member_expression object: (_) @receiver property: (property_identifier) @reference.read))
