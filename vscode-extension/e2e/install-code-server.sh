#!/usr/bin/env bash
# Installs a real VS Code workbench (code-server) into the folder $1, from the npm registry and Debian's packages alone. Native modules
# are built here: their install scripts would fetch prebuilt programs. Does nothing if the workbench is there already. Ends with 75 where
# something that it is made of cannot be had or built here (no network, no right to install packages): that says nothing about the extension.
set -euo pipefail
folder=${1:?a folder is needed}
version=4.100.0 # the newest that runs on Node 20
entry=$folder/node_modules/code-server/out/node/entry.js
if [ -f "$folder/complete" ]; then
    exit 0
fi
missing() {
    echo "the workbench cannot be installed here: $*" >&2
    exit 75
}
fetch() { # what the network gives, or does not give, in ten minutes
    timeout --kill-after=30 600 "$@" < /dev/null || missing "'$*' failed"
}
packages=()
command -v chromium > /dev/null || packages+=(chromium)
command -v rg > /dev/null || packages+=(ripgrep)
[ -e /usr/include/krb5.h ] || packages+=(libkrb5-dev)
command -v g++ > /dev/null || packages+=(build-essential)
if [ ${#packages[@]} -gt 0 ]; then
    { [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; } || missing "${packages[*]} must be installed first"
    export DEBIAN_FRONTEND=noninteractive
    fetch apt-get update -qq
    fetch apt-get install -y -qq "${packages[@]}" > /dev/null
fi
mkdir -p "$folder"
cd "$folder"
npm_flags=(--no-audit --no-fund --ignore-scripts --loglevel=error)
fetch npm install "${npm_flags[@]}" "code-server@$version"
code=$PWD/node_modules/code-server/lib/vscode
(cd "$code" && fetch npm install "${npm_flags[@]}" --omit=dev)
(cd "$code/extensions" && fetch npm install "${npm_flags[@]}" --omit=dev)
gyp=$(dirname "$(readlink -f "$(command -v npm)")")/../node_modules/node-gyp/bin/node-gyp.js
headers=$(dirname "$(dirname "$(readlink -f "$(command -v node)")")")
[ -d "$headers/include/node" ] || headers=/usr
[ -d "$headers/include/node" ] || missing "the headers of Node are not there"
for module in node-pty native-watchdog @vscode/spdlog @parcel/watcher kerberos; do
    (cd "$code/node_modules/$module" && node "$gyp" rebuild --nodedir="$headers" > build.log 2>&1) || {
        tail -20 "$code/node_modules/$module/build.log" >&2
        missing "could not build $module"
    }
done
(cd node_modules/argon2 && npm_config_node_gyp=$gyp npm_config_nodedir=$headers \
    node ../@mapbox/node-pre-gyp/bin/node-pre-gyp rebuild --build-from-source > build.log 2>&1) || {
    tail -20 node_modules/argon2/build.log >&2
    missing "could not build argon2"
}
mkdir -p "$code/node_modules/@vscode/ripgrep/bin"
ln -sf "$(command -v rg)" "$code/node_modules/@vscode/ripgrep/bin/rg"
node "$entry" --version || missing "it does not start"
touch "$folder/complete"
