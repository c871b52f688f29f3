"""Schema migrations, run by ``fourfold migrate`` (app.storage.migrate)."""
