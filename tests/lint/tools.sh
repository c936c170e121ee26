#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The checks that need a tool: formatting, shell, spelling, grammar of the XML, static analysis. A missing tool is a skip. TAP.
set -u
: "${G_TEST_SRCDIR:=.}" "${G_TEST_BUILDDIR:=.}"
number=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$G_TEST_SRCDIR" || exit 1

say ()
{
  number=$((number + 1))
  code=$1
  shift
  [ "$code" -eq 0 ] && echo "ok $number - $*" && return
  head -n 80 "$work/out" | sed 's/^/# /'
  echo "not ok $number - $*"
}

skip () { number=$((number + 1)); echo "ok $number - $1 # SKIP $2"; }

has () { command -v "$1" >/dev/null 2>&1; }

# What git knows, or in a tarball what is there.
sources ()
{
  if [ -e .git ] && has git; then
    git -c safe.directory='*' ls-files --cached --others --exclude-standard
  else
    find bench bridge common doc engine engine-client po schemas tests .ci bootstrap README.md CONTRIBUTING.md SECURITY.md -type f
  fi
}
sources | sort >"$work/files"

format=
for candidate in clang-format-14 clang-format; do
  if [ -z "$format" ] && has "$candidate" && "$candidate" --version | grep -q 'version 14\.'; then format=$candidate; fi
done
if [ -n "$format" ]; then
  grep '\.[ch]$' "$work/files" | xargs "$format" --dry-run -Werror --ferror-limit=1 >"$work/out" 2>&1
  say $? 'clang-format 14 changes nothing (make format)'
else
  skip 'clang-format 14 changes nothing' 'no clang-format 14'
fi

if has shellcheck; then
  while IFS= read -r file; do
    case $file in *.sh) echo "$file" ;; *.c|*.h|*.xml|*.json*|*.txt|*.po|*.gz) ;;
      *) head -n 1 "$file" 2>/dev/null | tr -d '\0' | grep -qE '^#!.*\b(ba)?sh\b' && echo "$file" ;; esac
  done <"$work/files" | xargs shellcheck >"$work/out" 2>&1
  say $? 'shellcheck'
else
  skip shellcheck 'no shellcheck'
fi

if has codespell; then
  # Not the tests: they misspell on purpose.
  grep -vE '^tests/|^po/.*\.po$|\.(gz|crt|key)$' "$work/files" |
    xargs codespell --ignore-words=tests/lint/spelling >"$work/out" 2>&1
  say $? 'codespell'
else
  skip codespell 'no codespell'
fi

if has xmllint; then
  code=0
  for file in schemas/*.xml doc/*.xml; do
    [ -e "$file" ] || continue
    xmllint --nonet --noout --relaxng schemas/catalogue.rng "$file" >>"$work/out" 2>&1 || code=1
  done
  say $code 'catalogues are valid by catalogue.rng'
  xmllint --nonet --noout schemas/catalogue.rng schemas/catalogue.its schemas/catalogue.loc >"$work/out" 2>&1
  say $? 'the grammar and the rules for gettext are XML'
else
  skip 'catalogues are valid by catalogue.rng' 'no xmllint'
fi

if has cppcheck; then
  # Bounded by what it looks at: our three parts, one configuration, no system headers.
  cppcheck --quiet --std=c11 --enable=warning,portability,performance --inline-suppr --error-exitcode=1 -j 2 \
    --max-configs=1 --library=posix --library=gnu --library=gtk -D'G_DEFINE_QUARK(a,b)=' \
    -D'G_GNUC_PRINTF(a,b)=' -D'json_object_foreach(o,k,v)=if(k=(char*)o,v=o,k)' --suppressions-list=tests/lint/cppcheck \
    --template='{file}:{line}: {id}: {message}' \
    -Icommon -Ibridge -Iengine -Iengine-client bridge common engine engine-client >"$work/out" 2>&1
  say $? 'cppcheck: warnings, portability, performance'
else
  skip cppcheck 'no cppcheck'
fi
echo "1..$number"
