import type { Memory } from "../../../shared/protocol/memory-schemas.ts";
import { columns, visible } from "../../app/columns.ts";
import { usage } from "../../app/failure.ts";
import { type Invocation, text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";

const agentOf = ({ options }: Invocation) => ({ agentId: text(options.agent) });
const day = (at: number) => new Date(at).toISOString().slice(0, 16).replace("T", " ");

/** The memories of an agent, or those that fit a question. */
export const listMemories: Action = async (context, invocation) => {
  const limit = Number(text(invocation.options.limit) ?? 100);
  if (!Number.isInteger(limit) || limit < 1) throw usage("--limit is a whole number from 1 to 1000");
  const gateway = await context.gateway();
  const asked = { ...agentOf(invocation), query: invocation.args.join(" "), limit };
  const result = await gateway.request("memory.list", asked);
  const rows = result.memories.map((memory) => [memory.id, whereFrom(memory), visible(memory.text)]);
  const none = "(no memories: a reset and a compaction write them, and `gsv memory add`)";
  context.print(result, rows.length > 0 ? columns(["ID", "FROM", "MEMORY"], rows) : none);
};

/** Where a memory stands, where it came from, and what was said there. */
export const explainMemory: Action = async (context, invocation) => {
  const gateway = await context.gateway();
  const asked = { ...agentOf(invocation), id: invocation.args[0] ?? "" };
  const { memory, sources } = await gateway.request("memory.why", asked);
  const lines = [
    visible(memory.text),
    ...memory.places.map(({ path, line }) => `  in ${visible(path)}, line ${line}`),
    `  ${originText(memory)}`,
    ...sources.flatMap(({ at, role, sessionId, message, text: said }) => [
      `  ${day(at)}  ${role}  ${visible(sessionId)} message ${message}`,
      `    ${visible(said)}`,
    ]),
  ];
  context.print({ memory, sources }, lines.join("\n"));
};

/** Writes a memory down. */
export const addMemory: Action = async (context, invocation) => {
  const gateway = await context.gateway();
  const asked = { ...agentOf(invocation), text: invocation.args.join(" ") };
  const result = await gateway.request("memory.add", asked);
  context.print(result, `remembered ${result.memory.id}`);
};

/** Takes a memory out of every file, and out of the history when it is told so. */
export const forgetMemory: Action = async (context, invocation) => {
  const everywhere = invocation.options.everywhere === true;
  const gateway = await context.gateway();
  const asked = { ...agentOf(invocation), id: invocation.args[0] ?? "", everywhere };
  const result = await gateway.request("memory.forget", asked);
  const out = result.files.length > 0 ? `taken out of ${result.files.map(visible).join(", ")}` : "in no file";
  const history =
    result.commits === undefined
      ? "The history of the workspace keeps it; --everywhere takes it out of there too."
      : `${result.commits} commits of the history were written anew without it.`;
  const rest = "What was said in the conversation stays in its archive.";
  context.print(result, [`forgotten: ${out}`, history, rest].join("\n"));
};

/** Strikes a memory out, and writes down what holds instead. */
export const correctMemory: Action = async (context, invocation) => {
  const [id = "", ...words] = invocation.args;
  const gateway = await context.gateway();
  const asked = { ...agentOf(invocation), id, text: words.join(" ") };
  const result = await gateway.request("memory.correct", asked);
  const struck = result.files.map(visible).join(", ");
  context.print(result, `struck out in ${struck}; in its place: ${result.by.id} ${visible(result.by.text)}`);
};

function whereFrom({ record, places }: Memory): string {
  if (record?.sessionKey !== undefined) return `${day(record.at)} ${visible(record.sessionKey)}`;
  return record === undefined ? visible(places[0]?.path ?? "") : `${day(record.at)} you`;
}

function originText({ record }: Memory): string {
  if (!record) return "nobody has noted where it came from: it was written into the file";
  const how = {
    agent: "the agent was told to remember it",
    extraction: "picked out when its messages were archived",
    client: "you wrote it",
  };
  const session = record.sessionKey === undefined ? "" : ` in ${visible(record.sessionKey)}`;
  return `${how[record.by]}${session}, ${day(record.at)} UTC`;
}
