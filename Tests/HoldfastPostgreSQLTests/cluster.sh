#!/bin/sh
# A private PostgreSQL server for tests, in a folder of its own and on a Unix socket in it, run by the user postgres where root
# asks for it:
#
#     cluster.sh start FOLDER      makes the folder and the cluster where they are missing; prints the URL of its database
#     cluster.sh crash FOLDER      kills all of its processes; what they wrote to files stays, so that nothing need be synced
#     cluster.sh stop FOLDER       and removes the folder
set -eu

folder=$2
port=5432
data=$folder/data
programs=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
[ -n "$programs" ] || programs=$(dirname "$(command -v initdb)")

as_owner() {
    if [ "$(id -u)" -eq 0 ]; then setpriv --reuid=postgres --regid=postgres --init-groups "$@"; else "$@"; fi
}

case $1 in
start)
    mkdir -p "$folder"
    if [ "$(id -u)" -eq 0 ]; then chown postgres "$folder"; fi
    if [ ! -e "$data" ]; then
        as_owner "$programs/initdb" --pgdata="$data" --username=postgres --auth=trust --encoding=UTF8 --locale=C \
            --no-sync > /dev/null
        # One role has to know a password.
        as_owner sed -i '1i local all guarded scram-sha-256' "$data/pg_hba.conf"
    fi
    rm -f "$data/postmaster.pid"
    as_owner "$programs/pg_ctl" --pgdata="$data" --log="$folder/log" --wait --silent \
        --options="-c listen_addresses= -c unix_socket_directories=$folder -c port=$port -c max_connections=200 \
        -c fsync=off -c shared_buffers=16MB -c max_wal_size=256MB" start > /dev/null
    # Percent-encoded: a folder is no host name otherwise.
    echo "postgresql://postgres@$(echo "$folder" | sed 's|/|%2F|g'):$port/postgres"
    ;;
crash)
    server=$(head -n 1 "$data/postmaster.pid")
    # All at once, before it starts others anew.
    processes="$server $(awk -v parent="$server" '$4 == parent { print $1 }' /proc/[0-9]*/stat 2> /dev/null || true)"
    # shellcheck disable=SC2086
    kill -9 $processes 2> /dev/null || true
    for process in $processes; do
        while kill -0 "$process" 2> /dev/null; do sleep 0.01; done
    done
    ;;
stop)
    if [ -e "$data/postmaster.pid" ]; then
        as_owner "$programs/pg_ctl" --pgdata="$data" --mode=immediate --wait --silent stop > /dev/null || true
    fi
    rm -rf "$folder"
    ;;
esac
