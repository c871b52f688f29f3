"""The shapes of requests and answers on the wire, as the OpenAPI document shows them."""
