#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: lint.sh SOURCE
#
# What a reader would have to look for, looked for by a machine; TAP. A tool that is not installed
# makes its check a skip; ./bootstrap deps installs them all.
set -uo pipefail
# `report` counts at the end of a pipe: it must not be a process of its own.
shopt -s lastpipe

cd "${1:?usage: lint.sh SOURCE}" || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
count=0

# Everything that is ours: what git knows, or in a tarball what is not built.
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
  git ls-files >"$scratch/all"
else
  find . -type f ! -path './build/*' ! -path './autom4te.cache/*' ! -path './m4/*' ! -path './build-aux/*' ! -name '*.o' \
    ! -name configure ! -name aclocal.m4 ! -name Makefile.in ! -name config.h.in -printf '%P\n' >"$scratch/all"
fi
while IFS= read -r file; do
  [ -f "$file" ] && printf '%s\n' "$file"
done <"$scratch/all" | sort >"$scratch/ours"

ours () { grep -E "$1" "$scratch/ours"; }

# report NAME: ok when standard input is empty, else not ok with what came.
report ()
{
  local found
  count=$((count + 1))
  found=$(head -n 60)
  if [ -z "$found" ]; then
    printf 'ok %d - %s\n' "$count" "$1"
  else
    printf 'not ok %d - %s\n' "$count" "$1"
    printf '%s\n' "$found" | sed 's/^/# /'
  fi
}

skip ()
{
  count=$((count + 1))
  printf 'ok %d - %s # SKIP no %s\n' "$count" "$1" "$2"
}

have () { command -v "$1" >/dev/null; }

scripts ()
{
  local file
  while IFS= read -r file; do
    head -n 1 "$file" | grep -aqE '^#!.*\b(ba)?sh$' && printf '%s\n' "$file"
  done < <(grep -vE '\.(jsonl?|txt|golden|bin)$|/corpus/|/golden/' "$scratch/ours")
}

# includes FOLDER PATTERN: the lines of FOLDER that include what it must not know.
includes ()
{
  local -a files
  mapfile -t files < <(ours "^$1/.*\.[ch]$")
  grep -nE "^#include [<\"]($2)" "${files[@]}" /dev/null
}

mapfile -t c_files < <(ours '\.[ch]$')
mapfile -t program < <(ours '^(bridge|common|engine-client)/.*\.[ch]$')
# One of the lab's Dags is broken on purpose.
mapfile -t python < <(ours '\.py$' | grep -v '/broken_syntax\.py$')
mapfile -t shell < <(scripts)
mapfile -t xml < <(ours '^schemas/.*\.(xml|rng|its)$')
mapfile -t text < <(ours '\.(c|h|am|ac|py|sh|xml|rng|md|yaml)$|^bootstrap$|^\.ci/run$|/(airflow-lab|install-clients|check-all)$' |
  grep -vE '/corpus/|/golden/|/bad/|^tests/data/|^tests/protocol/.*jsonl$')

grep -L 'SPDX-License-Identifier: Apache-2.0' "${text[@]}" | report 'every source file names its licence'
for file in "${c_files[@]}"; do
  case $file in *.c) ;; *) continue ;; esac
  [ "$(grep -m1 '^#include' "$file")" = '#include "config.h"' ] || printf '%s\n' "$file"
done | report 'config.h comes first in every .c'
grep -nE '\bgoto\b|\b(sprintf|vsprintf|strcpy|strcat|strtok|gets|alloca|g_alloca|atoi|atol|setjmp|longjmp|system|popen|tmpnam|mktemp) \(' \
  "${program[@]}" | grep -vE '^[^:]+:[0-9]+: *(/?\*|//)' | report 'no goto and none of the calls that nobody should make'
includes '(bridge|common|engine-client)' 'gio/' | report 'no GIO in the program'
includes common '(eng|dbr-(tool|catalogue|answer|call|server|stdio|gate|backend))-?|curl/' | report 'common knows nobody'
includes engine-client 'dbr-(tool|catalogue|answer|template|call|server|stdio|message|gate|backend|host)' |
  report 'engine-client knows nothing of MCP, catalogues and text'
includes 'bridge/catalogue' 'eng-|curl/|sys/socket' | report 'catalogue knows no sockets'
includes 'bridge/protocol' 'eng-|curl/|dbr-(catalogue|answer|template)' | report 'protocol knows no HTTP'
includes 'bridge/answer' 'eng-|curl/|dbr-(server|stdio|message|framer)' | report 'answer knows neither protocol nor network'
grep -nP '\t| +$' "${c_files[@]}" "${python[@]}" "${shell[@]}" | report 'no tabs, no blanks at the end of a line'
for file in "${text[@]}"; do
  [ ! -s "$file" ] || [ -z "$(tail -c 1 "$file")" ] || printf '%s\n' "$file"
done | report 'every file ends with a newline'
grep -nE '(deb\.debian|pypi\.|pythonhosted|npmjs|registry\.)[a-z.]+|/(work|home|root)/[a-z]' "${text[@]}" | grep -v '^tests/lint/lint.sh' |
  report 'no registry host and no path of one machine'

if have clang-format-14; then
  clang-format-14 --dry-run "${c_files[@]}" 2>&1 | grep -oE '^[^: ]+:[0-9]+:[0-9]+: (warning|error)' | cut -d: -f1 | sort | uniq -c | report 'C is laid out as .clang-format says'
else
  skip 'C is laid out as .clang-format says' clang-format-14
fi
if have shellcheck; then
  shellcheck --format=gcc "${shell[@]}" 2>&1 | report 'shellcheck finds nothing'
else
  skip 'shellcheck finds nothing' shellcheck
fi
if have python3; then
  PYTHONPYCACHEPREFIX=$scratch/py python3 -W error -m py_compile "${python[@]}" 2>&1 | report 'Python compiles without a warning'
else
  skip 'Python compiles without a warning' python3
fi
if have xmllint; then
  xmllint --nonet --noout "${xml[@]}" 2>&1 | report 'XML is well-formed'
  if [ -e schemas/catalogue.rng ]; then
    xmllint --nonet --noout --relaxng schemas/catalogue.rng schemas/airflow.xml 2>&1 | grep -v ' validates$' |
      report 'the shipped catalogue is valid for another checker too'
  fi
else
  skip 'XML is well-formed' xmllint
fi
if have codespell; then
  codespell --ignore-words-list="nd,te,ist,fo,als,inout,ths,unparseable,ue,ba,crate,nam,gets,get's,auhtor" "${text[@]}" 2>&1 | report 'codespell finds nothing'
else
  skip 'codespell finds nothing' codespell
fi
if have cppcheck; then
  cppcheck --quiet --enable=warning,portability --inline-suppr --suppress=missingInclude --suppress=unknownMacro \
    --suppress=nullPointerRedundantCheck --std=c11 --max-configs=1 -DG_GNUC_PRINTF\(a,b\)= -j2 \
    "${program[@]}" 2>&1 | grep -E 'error|warning|portability' | report 'cppcheck finds nothing'
else
  skip 'cppcheck finds nothing' cppcheck
fi
printf '1..%d\n' "$count"
