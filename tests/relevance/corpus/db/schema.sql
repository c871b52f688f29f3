CREATE TABLE ship (
    name text PRIMARY KEY,
    places integer NOT NULL CHECK (places > 0),
    lane_metres numeric NOT NULL
);

CREATE TABLE booking (
    reference text PRIMARY KEY,
    ship text NOT NULL REFERENCES ship (name),
    departs_at timestamptz NOT NULL,
    price numeric(10, 2) NOT NULL,
    payment_id text NOT NULL UNIQUE,
    cancelled_at timestamptz
);

CREATE INDEX booking_departure ON booking (ship, departs_at) WHERE cancelled_at IS NULL;

CREATE VIEW occupancy AS
SELECT b.ship, b.departs_at, count(*)::numeric / s.places AS share
FROM booking b JOIN ship s ON s.name = b.ship
WHERE b.cancelled_at IS NULL
GROUP BY b.ship, b.departs_at, s.places;
