#!/bin/sh
# setup.sh [go] [node] [java]   Bring what the client tests of these kinds need.
# When none is named: every kind whose program is here, and what cannot be had is only said (its tests are then left out).
# Idempotent; quick when there is nothing to do. Results: .tools/clients/go-checks, .tools/clients/java (classes), tests/clients/node/node_modules.
# Java needs the jars of Apache Kafka's tools and of Kafka Streams in TAPELOG_KAFKA_LIB (default .tools/kafka/lib); absent ones are fetched with Maven.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
tools="$root/.tools"
out="$tools/clients"
jars=${TAPELOG_KAFKA_LIB:-$tools/kafka/lib}
mkdir -p "$out"
if [ $# -gt 0 ] && command -v flock >/dev/null; then # two test workers may ask at once
    exec 9>"$out/lock"
    flock 9
fi

newer() { # newer TARGET SOURCE...: whether the target exists and no source is younger
    target=$1
    shift
    [ -e "$target" ] && [ -z "$(find "$@" -newer "$target" 2>/dev/null | head -n 1)" ]
}

setup_go() {
    newer "$out/go-checks" "$here/go" && return 0
    (cd "$here/go" && go build -o "$out/go-checks.new" . && mv "$out/go-checks.new" "$out/go-checks")
}

setup_node() {
    newer "$out/node-ready" "$here/node/package.json" "$here/node/package-lock.json" && [ -d "$here/node/node_modules/kafkajs" ] && return 0
    (cd "$here/node" && npm ci --silent --no-audit --no-fund)
    touch "$out/node-ready"
}

setup_java() {
    if ! ls "$jars"/kafka-tools-*.jar >/dev/null 2>&1 || ! ls "$jars"/kafka-streams-*.jar >/dev/null 2>&1; then
        mkdir -p "$jars"
        mvn -q -B -f "$here/java/pom.xml" dependency:copy-dependencies "-DoutputDirectory=$jars"
    fi
    newer "$out/java/ready" "$here/java" && return 0
    mkdir -p "$out/java"
    javac -nowarn -cp "$jars/*" -d "$out/java" "$here"/java/*.java
    touch "$out/java/ready"
}

if [ $# -gt 0 ]; then
    for kind in "$@"; do "setup_$kind"; done
else
    for kind in go node java; do
        command -v "$kind" >/dev/null || continue
        # not `if setup_…`: that would switch off set -e inside
        sh "$0" "$kind" || echo "client tests: $kind could not be set up; its tests will be left out" >&2
    done
fi
