import { spendingText } from "../../../shared/session/commands/cost-command.ts";
import { failureOf } from "../../app/failure.ts";
import { Conversation, type TurnOutcome } from "../../chat/conversation.ts";
import { openGateway } from "../../gateway/gateway-client.ts";

/** The session of the turn after a deployment, which is not one of the user's. */
const sessionKey = "deployment";

/** The answer to one message after a deployment: its time, and its cost if the gateway sent it; or why there is none. */
export type FirstAnswer = { ms: number; turn?: TurnOutcome["turn"]; error?: string };

/** Sends a message that a model answers with one word. A failure does not fail the deployment. */
export async function tryTurn(url: string, token: string): Promise<FirstAnswer> {
  const started = performance.now();
  const ms = () => Math.round(performance.now() - started);
  try {
    const gateway = await openGateway(url, token);
    const conversation = new Conversation(gateway, sessionKey);
    try {
      const {
        status,
        turn,
        error = status,
      } = await conversation.send("Answer with one word: ready", () => {});
      return status === "answered" ? { ms: ms(), turn } : { ms: ms(), error };
    } finally {
      conversation.close();
      await gateway.close();
    }
  } catch (error) {
    return { ms: ms(), error: failureOf(error).message };
  }
}

/** The answer as a line for people. */
export function answerText({ ms, turn, error }: FirstAnswer): string {
  if (error !== undefined) return `the model does not answer yet: ${error}`;
  return `${(ms / 1000).toFixed(1)} s${turn ? `, ${spendingText(turn)}` : ""}`;
}
