const major = Number(process.versions.node.split(".")[0]);

/**
 * Node options of processes that run for seconds. Node 20 has no cheap optimizing compiler: it spends a tenth to a sixth of
 * such a process's time on optimized code that the process hardly uses. So a function must run about three times as
 * much before it is optimized. Later versions have such a compiler, and refuse the option.
 */
export const lateOptimization: readonly string[] = major < 22 ? ["--interrupt-budget=400000"] : [];
