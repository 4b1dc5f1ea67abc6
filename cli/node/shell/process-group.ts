/** Time between SIGTERM and SIGKILL, ms. */
const killGraceMs = 250;

/** The processes of a child that was spawned with `detached`: itself, and all that it started. */
export class ProcessGroup {
  readonly #child: { pid?: number | undefined };
  #isGone = false;

  constructor(child: { pid?: number | undefined }) {
    this.#child = child;
  }

  /** Whether any process of the group is alive. */
  get alive(): boolean {
    return this.signal(0);
  }

  /** Sends SIGTERM, and SIGKILL after 250 ms. */
  async end(): Promise<void> {
    this.signal("SIGTERM");
    const deadline = Date.now() + killGraceMs;
    while (this.alive && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 10));
    this.signal("SIGKILL");
  }

  /**
   * Signals the group. Never does so after its last process has ended, because the system may reuse its id.
   * @returns whether it has a process
   */
  signal(signal: NodeJS.Signals | 0): boolean {
    if (this.#child.pid === undefined || this.#isGone) return false;
    try {
      return process.kill(-this.#child.pid, signal);
    } catch (error) {
      this.#isGone = (error as NodeJS.ErrnoException).code === "ESRCH";
      return false;
    }
  }
}
