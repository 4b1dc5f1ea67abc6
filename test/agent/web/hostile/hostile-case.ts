import type { Socket } from "node:net";

/** An address that the agent opens, and what its host does. */
export interface HostileCase {
  name: string;
  /** `{host}` is the case's own name, which resolves to a public address. Default: the root of that host. */
  url?: string;
  /** What the resolver answers for the case's own name: one item a question, the last one for all later questions. */
  dns?: readonly DnsAnswer[];
  /** Answers a request. */
  answer?: (socket: Socket, path: string, head: string) => void;
  /** Speaks on the bare connection, without TLS. */
  bare?: (socket: Socket) => void;
  /** Time limit of the fetch in milliseconds. Default: that of the tool. */
  timeoutMs?: number;
  /** It runs alone, so that its memory and time are its own. */
  isHeavy?: boolean;
  /** The cause that the refusal names, without "The page was not read: ". */
  refused?: RegExp;
  /** What the result says. Neither of both: a parser may decide, and only the limits count. */
  reads?: RegExp;
}

/** Addresses, or an error's code, or no answer at all. */
export type DnsAnswer = readonly string[] | string | undefined;

/** The only public addresses of these tests. */
export const publicAddresses: readonly string[] = ["93.184.216.34", "8.8.8.8", "2606:4700:4700::1111"];

/** Names that everybody's machine or network gives a private address. */
export const privateNames: Readonly<Record<string, string>> = {
  localhost: "127.0.0.1",
  "localhost.": "127.0.0.1",
  "ip6-localhost": "::1",
  "localhost.localdomain": "127.0.0.1",
  "app.localhost": "127.0.0.1",
  "metadata.google.internal": "169.254.169.254",
  "instance-data.ec2.internal": "169.254.169.254",
  "router.local": "192.168.1.1",
  "intranet.": "10.0.0.7",
  "kubernetes.default.svc": "10.96.0.1",
  "127.0.0.1.nip.example": "127.0.0.1",
  "db.internal": "fd00::7",
};

/** The host of a case, and the case of a host. */
export const hostOf = (index: number) => `c${index}.hostile.example`;
export const indexOf = (host: string) => Number(/\bc(\d+)\w*\.hostile\.example/.exec(host)?.[1] ?? -1);

/** What became of a case. */
export interface Report {
  index: number;
  ok: boolean;
  /** The error, or the result as the model gets it. */
  said: string;
  /** Characters of the page's text and of its title as they are kept for a day. */
  kept: number;
  /** Addresses to which connections were opened. */
  dialled: string[];
  bytesRead: number;
  ms: number;
  /** Peak memory of the process until then, in bytes. */
  peak: number;
}

export const pageHead = (type = "text/html; charset=utf-8", ...headers: string[]) =>
  ["HTTP/1.1 200 OK", `content-type: ${type}`, "connection: close", ...headers, "", ""].join("\r\n");

/** Answers with a whole page. */
export const page =
  (body: string | Uint8Array, type?: string, ...headers: string[]): HostileCase["answer"] =>
  (socket) => {
    socket.write(pageHead(type, ...headers));
    socket.end(body);
  };

/** Answers with these bytes and nothing else. */
export const raw =
  (bytes: string | Uint8Array): HostileCase["answer"] =>
  (socket) =>
    void socket.end(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes);

/** Sends a beginning, and then the same piece as fast as the client reads. */
export const flood =
  (beginning: string, piece: string | Uint8Array): HostileCase["answer"] =>
  (socket) => {
    socket.write(beginning);
    const more = () => {
      while (!socket.destroyed && socket.write(piece));
      if (!socket.destroyed) socket.once("drain", more);
    };
    more();
  };

/** Sends a beginning, and then a piece every few milliseconds. */
export const drip =
  (beginning: string, piece: string): HostileCase["answer"] =>
  (socket) => {
    socket.write(beginning);
    const timer = setInterval(() => socket.write(piece), 20);
    socket.on("close", () => clearInterval(timer));
  };
