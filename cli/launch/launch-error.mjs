// @ts-check

/** Why the program cannot be built or found, in one line for the user. */
export class LaunchError extends Error {}
