# Sourced by the scripts beside it. `use_venv EXTRA...` makes the project's virtual environment (VENV, by default .venv), installs the
# project with these extras into it, and puts its python first on the path. Quick when nothing changed since. `help_at_once
# "MODULE WORD..." ARGUMENT...`: where an argument asks for help, the bare Python prints the module's, and nothing is installed.
# shellcheck shell=bash

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; }

if [ -n "${PYTHON:-}" ] && ! is_new_enough "$PYTHON"; then
    echo "PYTHON names $PYTHON, which is no command that runs Python 3.11 or later." >&2
    exit 1
elif [ -z "${PYTHON:-}" ]; then
    for PYTHON in python3 python3.14 python3.13 python3.12 python3.11 none; do
        is_new_enough "$PYTHON" && break
    done
fi
if [ "$PYTHON" = none ]; then
    echo "pykbroker needs Python 3.11 or later, and none was found. Install it (on Debian: apt-get install python3)," \
        "or name one: PYTHON=/path/to/python3.12 $0" >&2
    exit 1
fi

help_at_once() { # "MODULE WORD..." ARGUMENT...
    local command argument
    read -ra command <<< "$1"
    for argument in "${@:2}"; do
        case $argument in
            -h | --help) cd "$project" && PYTHONDONTWRITEBYTECODE=1 exec "$PYTHON" -m "${command[@]}" --help ;;
        esac
    done
}

use_venv() { # EXTRA...
    local wanted extras stamp venv="${VENV:-$project/.venv}"
    extras=$(IFS=,; echo "$*")
    wanted=$(cat "$project/pyproject.toml" "$project/scripts/venv.sh" | cksum)
    stamp="$venv/.installed-${extras:-none}"
    [ -x "$venv/bin/python" ] || "$PYTHON" -m venv "$venv" || {
        echo "The virtual environment could not be made (on Debian: apt-get install python3-venv)." >&2
        exit 1
    }
    if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
        echo "Installing pykbroker${extras:+[$extras]} into ${venv#"$project/"} (once) ..." >&2
        export PIP_DISABLE_PIP_VERSION_CHECK=1
        # Older ones compare each file of a package's page with all tags: 43 s of a processor for the tests, not 17.
        "$venv/bin/python" -m pip install --quiet "pip>=25.1" >&2 || true # they can install, too
        case ",$extras," in
            *,spark,* | *,demo,*) # pip makes a wheel of it, 430 MB that it would compress: 16 s of a processor, not 7
                "$venv/bin/python" -m pip install --quiet --config-settings=--build-option=--compression=stored \
                    "$(grep -om 1 'pyspark==[0-9.]*' "$project/pyproject.toml")" >&2 || true # what comes next says why
                ;;
        esac
        "$venv/bin/python" -m pip install --quiet --editable "$project${extras:+[$extras]}" >&2 || {
            echo "Installing failed; what pip said stands above. Mend it and run this again." >&2
            exit 1
        }
        "$venv/bin/python" -m compileall -q -x /tests/ "$project/pykbroker" "$project/wire" # the first start should be quick, too
        echo "$wanted" > "$stamp"
    fi
    unset PYTHONDONTWRITEBYTECODE # compiling the sources anew costs every start half a second
    export VIRTUAL_ENV="$venv" PATH="$venv/bin:$PATH"
}
