"""The HTTP interface: validates requests, calls the service, renders answers."""
