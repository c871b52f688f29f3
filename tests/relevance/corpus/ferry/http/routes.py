"""The endpoints: what a browser or an app may ask."""

from datetime import datetime

from ferry.auth import login
from ferry.bookings import cancel_booking, create_booking
from ferry.errors import FerryError
from ferry.http.middleware import rate_limited, with_request_id
from ferry.timetable import next_sailing

ROUTES = {}


def route(method: str, path: str):
    def register(handler):
        ROUTES[method, path] = with_request_id(rate_limited(handler))
        return handler

    return register


@route("GET", "/departures/next")
def get_next_departure(request):
    sailing = next_sailing(request.app.lines, request.query["from"], datetime.now())
    return {"departs_at": sailing.departs_at.isoformat(), "ship": sailing.ship} if sailing else {}


@route("POST", "/bookings")
def post_booking(request):
    booking = create_booking(request.app.sailing(request.json["sailing"]), request.passengers(), request.json["card"], request.app.deck)
    request.app.store.save(booking)
    return {"reference": booking.reference, "price": str(booking.price)}


@route("DELETE", "/bookings/{reference}")
def delete_booking(request, reference: str):
    booking = request.app.store.find(reference)
    refunded = cancel_booking(booking, datetime.now())
    request.app.store.save(booking)
    return {"refunded": str(refunded)}


@route("POST", "/login")
def post_login(request):
    token = login(request.app.users, request.json["name"], request.json["password"])
    return {"token": token} if token else (401, {"error": "wrong name or password"})


def render_error(error: FerryError):
    """Every error of ours as JSON with its code; anything else is a 500 without details."""
    return 409, {"error": str(error), "code": error.code}
