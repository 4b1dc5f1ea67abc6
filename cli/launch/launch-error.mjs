// @ts-check

/** The program cannot be built or found. The message is one line for the user. */
export class LaunchError extends Error {}
