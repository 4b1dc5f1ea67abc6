import type { DeliveryCase } from "./deliveries/draw-delivery.ts";
import type { FrameCase } from "./frames/draw-frame.ts";

/** A violation, and the case in which it was seen. */
export interface Violation {
  what: string;
  /** `frame:N` or `delivery:N`, as for `--only`; absent if it was seen at the end. */
  case?: string;
  detail: string;
  /** The frame or request as it was sent. */
  input?: string;
}

/** Violations of one kind that are listed; further ones are only counted. */
const shownOfEach = 5;

const longest = 2000;

/** Counts of requests and answers, and the violations. */
export class Report {
  readonly frames: Record<string, number> = {};
  readonly deliveries: Record<string, number> = {};
  /** Answers to frames by error code, `ok` or `closed`, and to deliveries by HTTP status. */
  readonly answers: Record<string, number> = {};
  readonly violations: Violation[] = [];
  readonly violationCounts: Record<string, number> = {};
  slowestMs = 0;

  sent({ mode, kind }: Pick<FrameCase, "mode" | "kind">): void {
    count(this.frames, `${mode}/${kind}`);
  }

  delivered({ platform, kind }: Pick<DeliveryCase, "platform" | "kind">): void {
    count(this.deliveries, `${platform}/${kind}`);
  }

  answered(how: string): void {
    count(this.answers, how);
  }

  waited(ms: number): void {
    this.slowestMs = Math.max(this.slowestMs, Math.round(ms));
  }

  violation(what: string, one: FrameCase | DeliveryCase | undefined, detail: unknown): void {
    if (count(this.violationCounts, what) > shownOfEach) return;
    const text = typeof detail === "string" ? detail : JSON.stringify(detail);
    const place = one && {
      case: `${"mode" in one ? "frame" : "delivery"}:${one.index}`,
      input: inputOf(one).slice(0, longest),
    };
    this.violations.push({ what, ...place, detail: (text ?? "").slice(0, longest) });
  }
}

function inputOf(one: FrameCase | DeliveryCase): string {
  if ("mode" in one) return `${one.mode} ${one.text}`;
  const { method, path, headers, body } = one.request;
  return `${one.platform} ${method} ${path} ${JSON.stringify(headers)} ${body.toString("utf8")}`;
}

function count(counts: Record<string, number>, name: string): number {
  const now = (Object.hasOwn(counts, name) ? (counts[name] ?? 0) : 0) + 1;
  counts[name] = now;
  return now;
}
