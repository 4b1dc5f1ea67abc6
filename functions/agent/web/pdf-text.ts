import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parentPort, Worker, workerData } from "node:worker_threads";
import type { PageText } from "./page-text.ts";

/**
 * A few kilobytes of a PDF can expand to gigabytes, in more ways than a check of the file finds. So a process of its own reads
 * it, in a thread whose memory the process watches. It ends itself when it has grown by 96 MB, seen every 5 ms, and is killed
 * after 15 seconds. Its memory is then free again; that of a thread in this process would not be.
 */
const maxGrowthMb = 96;
const watchMs = 5;
const timeoutMs = 15_000;

/** Max pages that are read. */
const maxPages = 200;

/**
 * This module, which is also the program of the process and of the thread. Destructured, because the build of a checkout replaces
 * the words `import.meta.url` by the address of the source.
 */
const { url: self } = import.meta;

/** Argument of the process, and its exit code when it needs too much memory. */
const role = "read-pdf";
const tooLarge = 3;

type Read = PageText | { error: string };

/** What the process and the thread are given. */
interface Task {
  pdf: Uint8Array;
  /** Max characters of the text. */
  max: number;
}

/**
 * The text of a PDF, page by page.
 * @param max its length in characters
 * @returns the text, which is empty if the pages are pictures, or why there is none
 */
export function pdfText(pdf: Buffer, max: number, signal?: AbortSignal): Promise<Read> {
  return new Promise((done) => {
    const child = fork(fileURLToPath(self), [role], {
      // No credentials for code that reads a file of a stranger.
      ...{ env: {}, serialization: "advanced", stdio: ["ignore", "ignore", "ignore", "ipc"] },
    });
    const end = (read: Read) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
      child.kill("SIGKILL");
      done(read);
    };
    const stop = () => end({ error: "it was stopped" });
    const timer = setTimeout(
      () => end({ error: `the PDF is not read within ${timeoutMs / 1000} s` }),
      timeoutMs,
    );
    signal?.addEventListener("abort", stop);
    child.on("message", (read) => end(read as Read));
    child.on("error", () => end({ error: "no process could be started for the PDF" }));
    child.on("exit", (code) =>
      end({
        error: code === tooLarge ? "the PDF needs too much memory" : "the process that reads the PDF failed",
      }),
    );
    child.send({ pdf, max } satisfies Task, () => {});
    if (signal?.aborted) stop();
  });
}

/** The process: starts the thread, and watches its memory. */
function watchThread(task: Task): void {
  const before = process.memoryUsage.rss();
  const worker = new Worker(new URL(self), {
    ...{ workerData: task, env: {} },
    resourceLimits: { maxOldGenerationSizeMb: maxGrowthMb, maxYoungGenerationSizeMb: 16 },
  });
  setInterval(() => {
    if (process.memoryUsage.rss() - before > maxGrowthMb * 1024 * 1024) process.exit(tooLarge);
  }, watchMs);
  worker.on("message", (read) => process.send?.(read, () => process.exit()));
  worker.on("error", ({ code }: NodeJS.ErrnoException) =>
    process.exit(code === "ERR_WORKER_OUT_OF_MEMORY" ? tooLarge : 1),
  );
  process.on("disconnect", () => process.exit());
}

/** The thread: reads the PDF. */
async function readPdf({ pdf, max }: Task): Promise<PageText> {
  const { getDocumentProxy } = await import("unpdf");
  const document = await getDocumentProxy(new Uint8Array(pdf));
  const { info } = await document.getMetadata();
  const { Title: title } = info as { Title?: unknown };
  let text = "";
  for (let number = 1; number <= Math.min(document.numPages, maxPages) && text.length < max; number++) {
    const page = await document.getPage(number);
    const reader = page.streamTextContent().getReader();
    for (let part = await reader.read(); !part.done && text.length < max; part = await reader.read())
      for (const item of part.value.items as { str?: string; hasEOL?: boolean }[])
        text += `${item.str ?? ""}${item.hasEOL ? "\n" : ""}`;
    text = `${text.trimEnd()}\n\n`;
  }
  return { title: typeof title === "string" ? title : "", text: text.slice(0, max).trim() };
}

/** The reader's message may contain words of the file. */
const failureOf = ({ name }: Error): Read => ({
  error: name === "PasswordException" ? "the PDF needs a password" : "the PDF is damaged",
});

const task = workerData as Task | null;
if (parentPort && task?.pdf instanceof Uint8Array)
  void readPdf(task)
    .catch(failureOf)
    .then((read) => parentPort?.postMessage(read));
else if (process.send && process.argv[2] === role) process.once("message", watchThread);
