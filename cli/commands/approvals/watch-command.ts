import type { Approval } from "../../../shared/protocol/approvals.ts";
import type { Action } from "../../app/program.ts";
import { untilSignal } from "../../app/signals.ts";
import { followRequests } from "../../chat/open-requests.ts";
import { endText, requestText } from "../../chat/request-text.ts";

export const watchApprovals: Action = async (context) => {
  const gateway = await context.gateway();
  const show = (request: Approval, start = "") => {
    const { id } = request;
    const answer = `answer: gsv approvals allow ${id}, or gsv approvals deny ${id}`;
    context.print({ event: "requested", ...request }, `${start}${requestText(request)}\n${answer}\n`);
  };
  const requests = followRequests(gateway, {
    requested: (request) => show(request),
    reminded: (request) => show(request, "Still waiting: "),
    ended: (end) => context.print({ event: "resolved", ...end }, `${endText(end)}\n`),
  });
  const signal = untilSignal();
  const refused = new Promise<never>((_, reject) => {
    gateway.onState((state) => {
      // If the connection is lost again, the next one reads.
      if (state.status === "connected") requests.refresh().catch(() => undefined);
      if (state.status === "closed" && state.error) reject(state.error);
    });
  });
  refused.catch(() => undefined);
  try {
    const line = await requests.refresh();
    if (line !== undefined) context.note(`gsv: ${line}`);
    if (!context.json) context.note("gsv: requests appear here; Ctrl-C ends");
    await Promise.race([signal.received, refused]);
  } finally {
    signal.dispose();
    requests.stop();
  }
};
