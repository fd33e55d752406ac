#!/usr/bin/env bash
# Compares everything that is known of torch on the CPU with a GPU, and writes what came of it to a file:
#
#     benchmarks/gpu_check.sh [SUMMARY]
#
#   1. verify: the model of strides, views and dtypes against torch, on random cases
#   2. harvest --diff: what each operator does with out= and layouts, against the table that ships
#   3. the findings of all sample programs in fixtures/, replayed
#
# On a GPU this takes less than 8 minutes. Settings, from the environment:
#   DEVICE   cuda (default) or cpu
#   CASES    random cases of verify (default 200000)
#   SECONDS_EACH  time limit of each step (default 150)
#   OPERATORS     names of operators to measure (default: all)
set -uo pipefail
cd "$(dirname "$0")/.."
device=${DEVICE:-cuda}
cases=${CASES:-200000}
limit=${SECONDS_EACH:-150}
summary=${1:-gpu_check.txt}
stridelint=stridelint
[ -x .venv/bin/stridelint ] && stridelint=.venv/bin/stridelint
python=python3
[ -x .venv/bin/python ] && python=.venv/bin/python
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

step() { # NAME ACCEPTED_STATUSES COMMAND...
  local name=$1 accepted=$2 start=$SECONDS status=0
  shift 2
  timeout "$limit" "$@" >"$work/out" 2>&1 || status=$?
  local verdict=ok
  case " $accepted " in *" $status "*) ;; *) verdict="FAILED (status $status)" && failed=1 ;; esac
  [ "$status" = 124 ] && verdict="STOPPED after $limit s" && failed=1
  {
    echo "== $name: $verdict, $((SECONDS - start)) s"
    echo "   $*"
    [ "$name" = "replay of fixtures/" ] || tail -n "${LINES_EACH:-40}" "$work/out" | sed 's/^/   /'
  } | tee -a "$summary"
}

: >"$summary"
"$python" - "$device" <<'PYTHON' | tee -a "$summary" || exit 2
import sys
import torch
device = sys.argv[1]
if device.startswith("cuda") and not torch.cuda.is_available():
    sys.exit("gpu_check: torch sees no CUDA device here (DEVICE=cpu runs the same steps on the CPU)")
name = torch.cuda.get_device_name() if device.startswith("cuda") else "the CPU"
print(f"torch {torch.__version__} on {device}: {name}")
PYTHON
[ "${PIPESTATUS[0]}" = 0 ] || exit 2
step "verify" "0" "$stridelint" probe verify --device "$device" --cases "$cases"
# Differences are what this step is for; only a failure to measure is one.
# shellcheck disable=SC2086
step "harvest --diff" "0 1" "$stridelint" probe harvest --device "$device" --jobs "${JOBS:-$(nproc)}" --diff ${OPERATORS:-}
"$stridelint" check --isolated --format json --output "$work/findings.json" --exit-zero fixtures
step "replay of fixtures/" "0 1" "$stridelint" probe "$work/findings.json" --device "$device" --format json
"$python" - "$work/out" <<'PYTHON' | tee -a "$summary" || failed=1
import json
import sys
from collections import Counter
findings = json.load(open(sys.argv[1]))["findings"]
verdicts = Counter(each["probe"]["verdict"] for each in findings)
print(f"== {len(findings)} findings replayed: " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())))
for each in findings:
    if each["probe"]["verdict"] == "refuted":
        print(f"   refuted: {each['path']}:{each['line']}: {each['code']} {each['message']}\n      {each['probe']['reason']}")
sys.exit(1 if verdicts["refuted"] else 0)
PYTHON
[ "${PIPESTATUS[0]}" = 0 ] || failed=1
echo "== $((SECONDS)) s in all; $([ $failed = 0 ] && echo "nothing failed" || echo "something failed")" | tee -a "$summary"
exit $failed
