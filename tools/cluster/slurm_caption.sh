#!/usr/bin/env bash
# Captions an archive with a Slurm job array, one task a shard, and merges the manifests when all have ended.
#   tools/cluster/slurm_caption.sh SHARDS OUT PATH... [options of longview caption]
# Prints the two job numbers. A task that fails is tried again (LONGVIEW_TRIES, 3 times in all), and requeued by Slurm where
# its node fails; either way it goes on where it was stopped. Options for sbatch: SBATCH_PARTITION and the like.
set -euo pipefail

# One task of the array: this same script, started by Slurm with --task.
if [ "${1:-}" = --task ]; then
  out=$2 longview=$3
  shift 3
  shard="$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT"
  export LONGVIEW_LIBRARY="$out/.longview-libraries/$SLURM_ARRAY_TASK_ID-of-$SLURM_ARRAY_TASK_COUNT"
  code=0
  for ((try = 1; try <= ${LONGVIEW_TRIES:-3}; ++try)); do
    code=0
    "$longview" caption "$@" --out "$out" --shard "$shard" --log-json || code=$?
    # 0: done; 2: wrong usage, the same the next time.
    if [ "$code" = 0 ] || [ "$code" = 2 ]; then break; fi
    echo "shard $shard, try $try: exit code $code" >&2
  done
  exit "$code"
fi

if [ $# -lt 3 ]; then
  sed -n '2,5s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
shards=$1 out=$2
shift 2
longview=${LONGVIEW:-$(command -v longview)} || {
  echo "longview is not in PATH; set LONGVIEW to the program" >&2
  exit 3
}
mkdir -p "$out/.longview-logs" "$out/.longview-libraries"
out=$(realpath "$out")
# Slurm copies a script away when it is submitted; the tasks run this very file.
self=$(realpath "$0")
quote() { printf '%q ' "$@"; }

array=$(sbatch --parsable --job-name=longview --array="1-$shards" --requeue --open-mode=append --chdir="$PWD" \
  --output="$out/.longview-logs/%A_%a.log" --wrap "exec $(quote "$self" --task "$out" "$longview" "$@")")
merge=$(sbatch --parsable --job-name=longview-merge --dependency="afterany:$array" --chdir="$PWD" \
  --output="$out/.longview-logs/%j_merge.log" \
  --wrap "exec $(quote "$longview" manifest merge "$out" --out "$out/longview-batch.json")")
echo "$array $merge"
