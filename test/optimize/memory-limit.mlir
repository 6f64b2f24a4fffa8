// RUN: slimhlo-opt %S/gpu-again.mlir --slimhlo-optimize=memory-limit=100MiB --slimhlo-print-memory="plain=true top=0" -o /dev/null 2>&1 | FileCheck %s --check-prefix=AS-IT-CAME
// RUN: slimhlo-opt %S/gpu-again.mlir --slimhlo-optimize=memory-limit=60MiB --slimhlo-print-memory="plain=true top=0" -o /dev/null 2>&1 | FileCheck %s --check-prefix=FITS
// RUN: slimhlo-opt %S/gpu-again.mlir --slimhlo-optimize=memory-limit=15MiB --slimhlo-print-memory="plain=true top=0" -o /dev/null 2>&1 | FileCheck %s --check-prefix=SMALL

// What fits is made no smaller for its time,
// AS-IT-CAME: memory: peak 88735744 =
// what does not is made to fit, 36 of 60 MiB, for 1.1 times the time,
// FITS: memory: peak 38404096 =
// and at whatever price there is: 13 of 15 MiB, for 2.4 times the time.
// SMALL: memory: peak 13369344 =
