import type { OutboundFile } from "../../../shared/channels/channel.ts";
import { styleOf, textOf } from "../../../shared/channels/outbound/leaves.ts";
import { splitText } from "../../../shared/channels/outbound/split.ts";
import { log } from "../../../shared/runtime/log.ts";
import type { Run } from "../../../shared/session/run.ts";
import type { Agent } from "../agent.ts";
import { maxSpoken } from "../model/speech.ts";
import { payingFor } from "../payer.ts";

/** Time limit of speaking an answer, in milliseconds. */
const speakMs = 60_000;

/** The voice message that follows an answer to a voice message, if speech is switched on. A failure is only logged: there is the text. */
export async function voiceAnswer(
  agent: Pick<Agent, "configuration" | "speak">,
  sessionKey: string,
  run: Run,
  answer: string,
): Promise<OutboundFile | undefined> {
  if (!run.isVoice || run.origin.kind !== "channel") return undefined;
  const configuration = await agent.configuration.load();
  if (!configuration.speech.enabled) return undefined;
  const text = await spokenText(answer);
  if (text === "") return undefined;
  const speech = await agent.speak(text, speakMs, payingFor(configuration, run, sessionKey));
  if (speech.status === "spoken")
    return { filename: "answer.ogg", mimeType: "audio/ogg", body: speech.audio };
  log("speech.none", { sessionKey, runId: run.runId, ...speech });
  return undefined;
}

/** What is read aloud of an answer: its beginning, without marks, addresses, tables and code. */
export async function spokenText(markdown: string): Promise<string> {
  const { markdownLeaves } = await import("../../../shared/channels/outbound/markdown-leaves.ts");
  const leaves = markdownLeaves(markdown, { tableColumns: Number.POSITIVE_INFINITY, bullet: "" });
  const text = textOf(leaves.filter((leaf) => !styleOf(leaf, "pre")));
  return splitText(text.replace(/\n{3,}/g, "\n\n").trim(), maxSpoken)[0] ?? "";
}
