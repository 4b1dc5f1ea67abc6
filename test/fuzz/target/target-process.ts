import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type Addresses, startTarget, type Target } from "./target.ts";

type Question = "belongings" | "vitals" | "close";

/** Starts a gateway in a separate process, from the TypeScript sources. */
export async function forkTarget(dir: string): Promise<Target> {
  const child = fork(fileURLToPath(import.meta.url), [dir], {
    execArgv: ["--import", "tsx", "--expose-gc"],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  let ended: string | undefined;
  const exit = once(child, "exit").then(([code, signal]) => {
    ended = `the gateway ended with ${code ?? signal}`;
  });
  const answer = async (): Promise<unknown> => {
    const [message] = await Promise.race([once(child, "message"), exit.then(() => [undefined])]);
    if (ended !== undefined) throw new Error(ended);
    return message;
  };
  const ask = (question: Question): Promise<unknown> => {
    const answered = answer();
    if (ended === undefined) child.send(question);
    return answered;
  };
  const addresses = (await answer()) as Addresses;
  return {
    ...addresses,
    belongings: () => ask("belongings") as ReturnType<Target["belongings"]>,
    vitals: () => ask("vitals") as ReturnType<Target["vitals"]>,
    ended: () => ended,
    async close() {
      if (ended === undefined) await ask("close");
      child.disconnect();
      await exit;
    },
  };
}

/** The forked process: answers its parent's questions until the parent exits. */
async function serve(dir: string): Promise<void> {
  const { belongings, vitals, close, ended: _ended, ...addresses } = await startTarget(dir);
  const answers: Record<Question, () => Promise<unknown>> = {
    belongings,
    vitals,
    close: async () => {
      await close();
      return "closed";
    },
  };
  process.on("message", async (question: Question) => process.send?.(await answers[question]()));
  process.on("disconnect", () => process.exit());
  process.send?.(addresses);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await serve(process.argv[2] ?? "");
