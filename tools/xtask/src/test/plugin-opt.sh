# slimhlo-opt by a stock mlir-opt with the plugin; $mlir_opt and $plugin are set above.
#
# mlir-opt makes its flags for passes before it loads plugins, so it knows those of a plugin by --pass-pipeline
# alone. Passes given by flag become a pipeline here, in their order.
arguments=()
pipeline=()
for argument; do
  case $argument in
  --slimhlo-*=*)
    flag=${argument#--}
    pipeline+=("func.func(${flag%%=*}{${flag#*=}})")
    ;;
  --slimhlo-*) pipeline+=("func.func(${argument#--})") ;;
  --canonicalize | --cse | -canonicalize | -cse) pipeline+=("${argument##*-}") ;;
  *) arguments+=("$argument") ;;
  esac
done
if ((${#pipeline[@]})); then
  IFS=,
  arguments+=("--pass-pipeline=builtin.module(${pipeline[*]})")
fi
exec "$mlir_opt" --load-dialect-plugin="$plugin" --load-pass-plugin="$plugin" "${arguments[@]}"
