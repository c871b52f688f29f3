#!/bin/sh
# Dumps the database, encrypts the dump and keeps the last fourteen.
set -eu

target=${1:?usage: backup.sh DIRECTORY}
name="ferry-$(date +%Y%m%d-%H%M).dump.age"

dump_database() {
    pg_dump --format=custom "$FERRY_DATABASE_URL"
}

remove_old_backups() {
    ls -1t "$target"/ferry-*.dump.age | tail -n +15 | xargs -r rm --
}

dump_database | age --recipients-file /etc/ferry/backup.keys > "$target/$name.part"
mv "$target/$name.part" "$target/$name"
remove_old_backups
