#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every corpus through its fuzzer once. TAP.
set -u
: "${G_TEST_SRCDIR:=.}" "${G_TEST_BUILDDIR:=.}"
number=0
for folder in "$G_TEST_SRCDIR"/tests/fuzz/corpus/*/; do
  name=$(basename "$folder")
  number=$((number + 1))
  case $name in
    srv-*)
      if [ ! -e "$G_TEST_BUILDDIR/tests/fuzz/fuzz-$name" ]; then
        echo "ok $number $name # SKIP built with --disable-engine"
        continue
      fi ;;
  esac
  # What a fuzzer can tell whether all of it was reached, does.
  if said=$(DBR_FUZZ_WHOLE=1 "$G_TEST_BUILDDIR/tests/fuzz/fuzz-$name" -runs=0 "$folder" 2>&1); then
    echo "ok $number $name"
  else
    echo "$said" | sed 's/^/# /'
    echo "not ok $number $name"
  fi
done
echo "1..$number"
