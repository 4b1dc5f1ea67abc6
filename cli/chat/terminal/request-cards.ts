import { scopesOf } from "../../../shared/approvals/requester.ts";
import type { AnswerResult, AnswerScope, Approval } from "../../../shared/protocol/approvals.ts";
import { showHidden } from "../../../shared/runtime/hidden-characters.ts";
import { failureOf } from "../../app/failure.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";
import { followRequests, type RequestEnd } from "../open-requests.ts";
import { callLine, endText, requestText, resultText } from "../request-text.ts";

/** A letter alone in the prompt answers after this time without a further key, in ms; Enter answers at once. */
const settleMs = 1000;

type Answer = { decision: "allow" | "deny"; scope: AnswerScope };

const answers: Readonly<Record<string, Answer & { does: string }>> = {
  a: { decision: "allow", scope: "once", does: "allow once" },
  r: { decision: "allow", scope: "run", does: "in this run" },
  t: { decision: "allow", scope: "day", does: "for today" },
  w: { decision: "allow", scope: "always", does: "always exactly this" },
  d: { decision: "deny", scope: "once", does: "deny" },
};

/** What the cards need of the chat. */
interface CardPlace {
  /** Prints the whole text of a request above the prompt. */
  print(text: string): void;
  note(line: string): void;
  clearInput(): void;
  draw(): void;
}

/**
 * The requests that wait for the owner, in a chat: the oldest is printed whole, and a row below the prompt names the keys that
 * answer it. A message that begins with such a letter remains a message.
 */
export class RequestCards {
  readonly #gateway: Pick<Gateway, "request">;
  readonly #place: CardPlace;
  readonly #requests: ReturnType<typeof followRequests>;
  /** Oldest first. The first one is shown. */
  #open: Approval[] = [];
  #typed = "";
  /** The request that was shown when the letter in the prompt was typed. */
  #meant: Approval | undefined;
  #settling: NodeJS.Timeout | undefined;
  /** The request whose answer is on its way. */
  #answering: string | undefined;

  constructor(gateway: Pick<Gateway, "onEvent" | "request">, place: CardPlace) {
    this.#gateway = gateway;
    this.#place = place;
    this.#requests = followRequests(gateway, {
      requested: (request) => this.#add(request),
      reminded: (request) => place.note(`still waiting for your answer: ${callLine(request)}`),
      ended: (end) => this.#remove(end),
    });
    this.refresh();
  }

  /** Shows what began and ended while the connection was lost. A gateway of an earlier version has no requests. */
  refresh(): void {
    this.#requests.refresh().then(
      (line) => line !== undefined && this.#place.note(line),
      () => undefined,
    );
  }

  /** The row with the keys, for a terminal of `columns` columns; undefined when nothing waits. */
  get row(): string | undefined {
    const [first, ...others] = this.#open;
    if (!first) return undefined;
    const keys = Object.entries(answers).filter(([key]) => this.#answerOf(key) !== undefined);
    const count = others.length > 0 ? ` (1 of ${others.length + 1})` : "";
    return `${showHidden(first.tool)}${count}: ${keys.map(([key, { does }]) => `${key} ${does}`).join(" · ")}`;
  }

  /** Follows the input: a letter alone answers unless it becomes a message. */
  typed(text: string): void {
    if (text === this.#typed) return;
    this.#typed = text;
    clearTimeout(this.#settling);
    this.#meant = this.#answerOf(text) && this.#open[0];
    if (!this.#meant) return;
    this.#settling = setTimeout(() => {
      if (this.submit(text)) this.#place.clearInput();
    }, settleMs);
  }

  /** Whether an input is an answer to the request that was shown when it was typed. Then it is sent, if that one still waits. */
  submit(text: string): boolean {
    clearTimeout(this.#settling);
    const request = this.#meant;
    if (!request || text !== this.#typed) return false;
    const answer = this.#open[0] === request ? this.#answerOf(text) : undefined;
    if (answer) void this.#send(request, answer);
    else this.#place.note(`nothing was answered: that request has ended (${request.id})`);
    return true;
  }

  close(): void {
    clearTimeout(this.#settling);
    this.#requests.stop();
  }

  /** What a letter answers to the shown request; undefined for any other input, and while an answer is on its way. */
  #answerOf(text: string): Answer | undefined {
    const [first] = this.#open;
    if (!first || this.#answering === first.id || !Object.hasOwn(answers, text)) return undefined;
    const { decision, scope } = answers[text] as Answer;
    return decision === "deny" || scopesOf(first).includes(scope) ? { decision, scope } : undefined;
  }

  async #send({ id, hash, tool }: Approval, answer: Answer): Promise<void> {
    this.#answering = id;
    try {
      const result = await this.#gateway.request("approval.answer", { id, hash, ...answer });
      const isNews = this.#open.some((one) => one.id === id);
      if (isNews) this.#place.note(`${showHidden(tool)}: ${saidText(result, answer)} (${id})`);
      this.#drop(id);
    } catch (error) {
      this.#place.note(`not answered: ${failureOf(error).message}`);
    }
    this.#answering = undefined;
    this.#place.draw();
  }

  #add(request: Approval): void {
    this.#open.push(request);
    if (this.#open.length === 1) this.#place.print(requestText(request));
    this.#place.draw();
  }

  #remove(end: RequestEnd): void {
    if (this.#open.some(({ id }) => id === end.id)) this.#place.note(endText(end));
    this.#drop(end.id);
  }

  #drop(id: string): void {
    const [first] = this.#open;
    this.#open = this.#open.filter((one) => one.id !== id);
    const [next] = this.#open;
    if (next && next !== first) this.#place.print(requestText(next));
    this.#place.draw();
  }
}

function saidText(result: AnswerResult, { decision, scope }: Answer): string {
  if (result.status !== "answered") return resultText(result);
  const counts: Partial<Record<AnswerScope, string>> = { run: "in this run", day: "for today" };
  return decision === "deny" ? "denied" : `allowed ${counts[scope] ?? scope}`;
}
