#!/usr/bin/env bash
# The lint step of the GitHub Action (action.yml). Needs: TERRA_PATHS and TERRA_ARGS, one item a line, and what every step has: RUNNER_TEMP,
# GITHUB_OUTPUT, GITHUB_STEP_SUMMARY. Gives: annotations on standard output, the summary of the step, a SARIF file, and the exit code of lint.
set -uo pipefail

items() { # the lines of a text that are not empty, as the array ITEMS
  ITEMS=()
  while IFS= read -r line || [ -n "$line" ]; do
    [ -n "$line" ] && ITEMS+=("$line")
  done <<< "$1"
}

items "${TERRA_PATHS:-.}"
paths=("${ITEMS[@]+"${ITEMS[@]}"}")
items "${TERRA_ARGS:-}"
options=("${ITEMS[@]+"${ITEMS[@]}"}")
folder="${RUNNER_TEMP:-${TMPDIR:-/tmp}}"
sarif="$folder/terra-refactor.sarif"
summary="$folder/terra-refactor.md"
lines="$folder/terra-refactor.jsonl"
rm -f "$sarif" "$summary" "$lines"

terra-refactor lint --quiet --format github --output "sarif:$sarif" --output "markdown:$summary" --output "jsonl:$lines" \
  "${options[@]+"${options[@]}"}" -- "${paths[@]}"
code=$?

if [ -f "$summary" ] && [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
  cat "$summary" >> "$GITHUB_STEP_SUMMARY"
fi
if [ -f "$sarif" ] && [ -n "${GITHUB_OUTPUT:-}" ]; then
  echo "sarif=$sarif" >> "$GITHUB_OUTPUT"
  echo "findings=$(grep -c '^{"type": "diagnostic"' "$lines")" >> "$GITHUB_OUTPUT"
fi
exit "$code"
