/** Bounds of the delay before a repeat, ms. It doubles with each one, and is random below that. */
const repeatMs = { first: 200, longest: 4000 };

interface InFlight {
  send(): void;
  repeats: number;
  /** While the request waits to be sent again. */
  timer?: NodeJS.Timeout;
}

/**
 * The requests of one connection that have no answer, by id. API Gateway says when it could not run the gateway's function
 * for a request, but not for which one. Each request gets either that or an answer: once as many were not executed as are in
 * flight, all of these are sent again.
 */
export class RequestsInFlight {
  readonly #requests = new Map<string, InFlight>();
  /** Requests in flight that were not executed. */
  #failed = 0;

  /** Sends a request, and again whenever it was not executed. @throws what `send` throws */
  add(id: string, send: () => void): void {
    send();
    this.#requests.set(id, { send, repeats: 0 });
  }

  answered(id: string): void {
    clearTimeout(this.#requests.get(id)?.timer);
    if (this.#requests.delete(id)) this.#repeat();
  }

  /** Forgets a request without an answer. If others were not executed, it counts as one of them. */
  abandon(id: string): void {
    const request = this.#requests.get(id);
    if (request && !request.timer && this.#failed > 0) this.#failed -= 1;
    this.answered(id);
  }

  /** API Gateway said that a request was not executed (`isNotExecuted`). */
  notExecuted(): void {
    this.#failed += 1;
    this.#repeat();
  }

  clear(): void {
    for (const { timer } of this.#requests.values()) clearTimeout(timer);
    this.#requests.clear();
    this.#failed = 0;
  }

  #repeat(): void {
    const sent = [...this.#requests.values()].filter(({ timer }) => timer === undefined);
    if (sent.length > this.#failed) return;
    this.#failed = 0;
    for (const request of sent) {
      const longest = Math.min(repeatMs.longest, repeatMs.first * 2 ** request.repeats++);
      request.timer = setTimeout(() => {
        request.timer = undefined;
        request.send();
      }, Math.random() * longest);
    }
  }
}
