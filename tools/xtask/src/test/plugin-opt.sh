# slimhlo-opt by a stock mlir-opt with the plugin; $mlir_opt and $plugin are set above.
#
# mlir-opt makes its flags for passes before it loads plugins, so it knows those of a plugin by --pass-pipeline
# alone. Passes given by flag become a pipeline here, in their order.
arguments=()
pipeline=()
# Adds a pass, where it runs: on the module or on its functions.
add() {
  case $1 in
  slimhlo-optimize* | slimhlo-exchange-shards* | slimhlo-gather-results* | slimhlo-merge-shards* | slimhlo-print-memory*) pipeline+=("$1") ;;
  slimhlo-to-* | slimhlo-form-kernels* | slimhlo-plan-buffers* | slimhlo-emit-gpu* | slimhlo-kernels-to-host*) pipeline+=("$1") ;;
  *) pipeline+=("func.func($1)") ;;
  esac
}
for argument; do
  case $argument in
  --slimhlo-*=*)
    flag=${argument#--}
    add "${flag%%=*}{${flag#*=}}"
    ;;
  --slimhlo-*) add "${argument#--}" ;;
  --inline | --symbol-dce) pipeline+=("${argument#--}") ;;
  --canonicalize | --cse | -canonicalize | -cse) pipeline+=("${argument##*-}") ;;
  *) arguments+=("$argument") ;;
  esac
done
if ((${#pipeline[@]})); then
  IFS=,
  arguments+=("--pass-pipeline=builtin.module(${pipeline[*]})")
fi
exec "$mlir_opt" --load-dialect-plugin="$plugin" --load-pass-plugin="$plugin" "${arguments[@]}"
