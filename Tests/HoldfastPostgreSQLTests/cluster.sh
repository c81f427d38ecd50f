#!/bin/sh
# A private PostgreSQL server for tests, in a folder of its own and on a Unix socket in it, run by the user postgres where root
# asks for it:
#
#     cluster.sh start FOLDER [PROCESS]    makes the folder and the cluster where they are missing; prints the URL of its
#                                  database. A cluster that was made is stopped when the process of this number has ended
#     cluster.sh pool FOLDER       starts a pgbouncer in front of it, which gives out connections by transaction; prints its URL
#     cluster.sh crash FOLDER      kills all of its processes; what they wrote to files stays, so that nothing need be synced
#     cluster.sh pause FOLDER      stops all of its processes in the middle of what they do
#     cluster.sh resume FOLDER     has them go on
#     cluster.sh restart FOLDER    ends its sessions, and starts it anew
#     cluster.sh stop FOLDER       and removes the folder
#
# HOLDFAST_SERVER_SETTINGS: more options of it, such as "-c fsync=on".
set -eu

folder=$2
port=5432
data=$folder/data
programs=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
[ -n "$programs" ] || programs=$(dirname "$(command -v initdb)")

as_owner() {
    if [ "$(id -u)" -eq 0 ]; then setpriv --reuid=postgres --regid=postgres --init-groups "$@"; else "$@"; fi
}

# The server's processes, of which each is a child of the first.
processes() {
    server=$(head -n 1 "$data/postmaster.pid")
    # awk would end at the first of a process that has ended meanwhile.
    echo "$server" "$(cat /proc/[0-9]*/stat 2> /dev/null | awk -v parent="$server" '$4 == parent { print $1 }' || true)"
}

start() {
    as_owner "$programs/pg_ctl" --pgdata="$data" --log="$folder/log" --wait --silent \
        --options="-c listen_addresses= -c unix_socket_directories=$folder -c port=$port -c max_connections=200 \
        -c fsync=off -c shared_buffers=16MB -c max_wal_size=256MB ${HOLDFAST_SERVER_SETTINGS-}" "$@" > /dev/null
}

case $1 in
start)
    mkdir -p "$folder"
    if [ $# -gt 2 ] && [ ! -e "$data" ]; then
        # Also of a program that is killed nothing stays.
        (trap '' INT HUP; while kill -0 "$3"; do sleep 1; done; "$0" stop "$folder") < /dev/null > /dev/null 2>&1 &
    fi
    if [ "$(id -u)" -eq 0 ]; then chown postgres "$folder"; fi
    if [ ! -e "$data" ]; then
        as_owner "$programs/initdb" --pgdata="$data" --username=postgres --auth=trust --encoding=UTF8 --locale=C \
            --no-sync > /dev/null
        # One role has to know a password.
        as_owner sed -i '1i local all guarded scram-sha-256' "$data/pg_hba.conf"
    fi
    rm -f "$data/postmaster.pid"
    start start
    # Percent-encoded: a folder is no host name otherwise.
    echo "postgresql://postgres@$(echo "$folder" | sed 's|/|%2F|g'):$port/postgres"
    ;;
pool)
    pool=$folder/pool
    as_owner mkdir "$pool"
    # Fewer connections than clients, so that those wait for each other's transactions to end; but as many as a store's
    # open snapshots and its writer may hold.
    echo '"postgres" ""' | as_owner tee "$pool/users" > /dev/null
    as_owner tee "$pool/settings" > /dev/null << END
[databases]
* = host=$folder port=$port
[pgbouncer]
listen_addr =
listen_port = $port
unix_socket_dir = $pool
auth_type = trust
auth_file = $pool/users
pool_mode = transaction
default_pool_size = 40
max_client_conn = 500
logfile = $pool/log
pidfile = $pool/pid
END
    as_owner "$(command -v pgbouncer || echo /usr/sbin/pgbouncer)" --quiet --daemon "$pool/settings"
    until [ -S "$pool/.s.PGSQL.$port" ]; do sleep 0.01; done
    echo "postgresql://postgres@$(echo "$pool" | sed 's|/|%2F|g'):$port/postgres"
    ;;
crash)
    # All at once, before it starts others anew.
    all=$(processes)
    # shellcheck disable=SC2086
    kill -9 $all 2> /dev/null || true
    for process in $all; do
        while kill -0 "$process" 2> /dev/null; do sleep 0.01; done
    done
    ;;
pause | resume)
    if [ "$1" = pause ]; then signal=STOP; else signal=CONT; fi
    # shellcheck disable=SC2046
    kill -$signal $(processes) 2> /dev/null || true
    ;;
restart)
    start --mode=fast restart
    ;;
stop)
    if [ -e "$folder/pool/pid" ]; then kill -9 "$(cat "$folder/pool/pid")" 2> /dev/null || true; fi
    if [ -e "$data/postmaster.pid" ]; then
        as_owner "$programs/pg_ctl" --pgdata="$data" --mode=immediate --wait --silent stop > /dev/null || true
    fi
    rm -rf "$folder"
    ;;
esac
