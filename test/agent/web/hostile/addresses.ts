import { type HostileCase, page, privateNames, raw } from "./hostile-case.ts";

/** IPv4 addresses that no page may reach. */
const private4 = [
  ...["127.0.0.1", "10.0.0.7", "172.16.5.4", "192.168.1.1", "169.254.169.254", "169.254.170.2"],
  ...["100.64.0.1", "0.0.0.0", "224.0.0.1", "198.18.0.1", "255.255.255.255", "192.0.0.1"],
];

const whole = (address: string) => address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
const parts = (address: string, write: (part: number) => string) =>
  address
    .split(".")
    .map((part) => write(Number(part)))
    .join(".");
const hex = (address: string) => whole(address).toString(16).padStart(8, "0");
const halves = (address: string) => hex(address).replace(/^(.{4})/, "$1:");

/** Ways to write an IPv4 address as the host of an address. */
const spellings: Record<string, (address: string) => string> = {
  plain: (address) => address,
  decimal: (address) => String(whole(address)),
  octal: (address) => parts(address, (part) => `0${part.toString(8)}`),
  "long octal": (address) => parts(address, (part) => part.toString(8).padStart(9, "0")),
  hexadecimal: (address) => parts(address, (part) => `0x${part.toString(16)}`),
  "whole hexadecimal": (address) => `0x${hex(address)}`,
  "whole octal": (address) => `0${whole(address).toString(8)}`,
  short: (address) => `${address.split(".")[0]}.${whole(address) % 2 ** 24}`,
  "short by half": (address) => `${address.split(".").slice(0, 2).join(".")}.${whole(address) % 65536}`,
  mixed: (address) => address.replace(/^(\d+)/, (part) => `0x${Number(part).toString(16)}`),
  "with a last dot": (address) => `${address}.`,
  "full-width": (address) =>
    address.replaceAll(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
  encoded: (address) => address.replaceAll(/\d/g, (digit) => `%3${digit}`),
  "with ideographic dots": (address) => address.replaceAll(".", "。"),
  "with a soft hyphen": (address) => address.replace(".", ".\u00ad"),
};

/** Ways to put an IPv4 address into an IPv6 address. */
const embeddings: Record<string, (address: string) => string> = {
  mapped: (address) => `::ffff:${address}`,
  "mapped in hexadecimal": (address) => `::ffff:${halves(address)}`,
  compatible: (address) => `::${address}`,
  "translated by NAT64": (address) => `64:ff9b::${address}`,
  "translated by local NAT64": (address) => `64:ff9b:1::${halves(address)}`,
  "in SIIT": (address) => `::ffff:0:${halves(address)}`,
  "6to4": (address) => `2002:${halves(address)}::1`,
  Teredo: (address) => `2001:0:${halves(address)}::1`,
};

const private6 = [
  ...["::", "::1", "0:0:0:0:0:0:0:1", "fc00::1", "fd00:ec2::254", "fdff:ffff::", "fe80::1", "febf::1"],
  ...[
    "fec0::1",
    "ff02::1",
    "ff0e::1",
    "100::1",
    "2001:db8::1",
    "3fff::1",
    "2001:20::1",
    "4000::1",
    "5f00::1",
  ],
];
const zoned = ["fe80::1%25eth0", "fe80::1%eth0", "2606:4700:4700::1111%251", "::1%25lo"];

const embedded = private4.flatMap((address) =>
  Object.entries(embeddings).map(([how, embed]) => [`${address} ${how}`, embed(address)] as const),
);
const hosts: (readonly [name: string, host: string, refused: RegExp])[] = [
  ...private4.flatMap((address) =>
    Object.entries(spellings).map(
      ([how, spell]) => [`${address} ${how}`, spell(address), /^not a public address$/] as const,
    ),
  ),
  ...[...embedded, ...private6.map((address) => [address, address] as const)].map(
    ([name, address]) => [name, `[${address}]`, /^not a public address$/] as const,
  ),
  ...zoned.map((address) => [address, `[${address}]`, /^not a valid address$/] as const),
  ...Object.keys(privateNames).map((name) => [name, name, /^not a public address$/] as const),
];

/** Sends the client elsewhere, with a body that is no page. */
const redirect =
  (location: string, status = 302, ...headers: string[]): HostileCase["answer"] =>
  (socket, path, head) =>
    raw(
      [`HTTP/1.1 ${status} Moved`, `location: ${Buffer.from(location).toString("latin1")}`, ...headers]
        .concat("connection: close", "content-length: 6", "", "orders")
        .join("\r\n"),
    )?.(socket, path, head);

/** Tricks of an address. `{host}` would be a public page. */
const tricks: (readonly [name: string, url: string, refused: RegExp])[] = [
  ["credentials before a private host", "https://{host}@127.0.0.1/", /credentials/],
  ["credentials before a public host", "https://user:secret@{host}/", /credentials/],
  ["an encoded at sign", "https://{host}%40127.0.0.1/", /not a valid address/],
  ["a backslash", "https://127.0.0.1\\@{host}/", /not a public address/],
  ["a hash", "https://127.0.0.1#@{host}/", /not a public address/],
  ["a query", "https://127.0.0.1?@{host}/", /not a public address/],
  ["a port of a private host", "https://127.0.0.1:6379/", /not a public address/],
  ["an empty port", "https://127.0.0.1:/", /not a public address/],
  ["a port that is none", "https://{host}:70000/", /not a valid address/],
  ["three slashes", "https:///127.0.0.1/", /not a public address/],
  ["one slash", "https:/127.0.0.1/", /not a public address/],
  ["no slash", "https:127.0.0.1", /not a public address/],
  ["backslashes", "https:\\\\127.0.0.1\\", /not a public address/],
  ["tabs and line breaks", "ht\ttps://127.\n0.0.1/", /not a public address/],
  ["capitals", "HTTPS://LOCALHOST/", /not a public address/],
  ["an IPv6 host with a port", "https://[::1]:443/", /not a public address/],
  ["ftp", "ftp://{host}/", /only https/],
  ["file", "file:///etc/passwd", /only https/],
  ["file on a host", "file://{host}/etc/passwd", /only https/],
  ["data", "data:text/html,<p>orders", /only https/],
  ["javascript", "javascript:alert(1)", /only https/],
  ["gopher", "gopher://127.0.0.1:6379/_FLUSHALL", /only https/],
  ["blob", "blob:https://{host}/1", /only https/],
  ["view-source", "view-source:https://127.0.0.1/", /only https/],
  ["ws", "wss://{host}/", /only https/],
  ["about", "about:blank", /only https/],
  ["nothing", "?", /not a valid address/],
  ["a path", "//{host}/", /not a valid address/],
  ["a host with a space", "https://a b/", /not a valid address/],
  ["a host with a null", "https://a\u0000b/", /not a valid address/],
  ["a number beyond IPv4", "https://4294967296/", /not a valid address/],
  ["an octal part that is none", "https://0899.0.0.1/", /not a valid address/],
];

/** Addresses, opened directly. */
const direct: HostileCase[] = [
  ...hosts.map(([name, host, refused]) => ({ name: `address: ${name}`, url: `https://${host}/`, refused })),
  ...tricks.map(([name, url, refused]) => ({ name: `address with ${name}`, url, refused })),
  { name: "http to a private host", url: "http://127.0.0.1:8080/", refused: /^not a public address$/ },
];

/** The same addresses as targets of redirects. */
const redirected: HostileCase[] = [
  ...hosts.map(([name, host, refused], index) => ({
    // A header has no characters beyond Latin-1.
    ...{ name: `redirect to ${name}`, refused: /[^\0-\u007f]/.test(host) ? /^not a/ : refused },
    answer: redirect(`https://${host}/`, [301, 302, 303, 307, 308][index % 5]),
  })),
  // In a redirect, what is no address may be a path of the same host.
  ...tricks
    .filter(([, , refused]) => !String(refused).includes("valid"))
    .filter(([name]) => !/line breaks|slash|null/.test(name))
    .map(
      ([name, url, refused]): HostileCase => ({
        ...{ name: `redirect with ${name}`, refused },
        answer: (socket, path, head) =>
          redirect(url.replaceAll("{host}", /host: (\S+)/i.exec(head)?.[1] ?? ""))?.(socket, path, head),
      }),
    ),
  { name: "redirect to http", answer: redirect("http://{host}/"), refused: /only https|not a valid/ },
  { name: "redirect to a relative host", answer: redirect("//127.0.0.1/"), refused: /not a public/ },
  {
    name: "redirect with a slash and a backslash",
    answer: redirect("/\\127.0.0.1/"),
    refused: /not a public/,
  },
  { name: "redirect with two backslashes", answer: redirect("\\\\127.0.0.1\\"), refused: /not a public/ },
  { name: "redirect without an address", answer: raw("HTTP/1.1 302 Found\r\n\r\n"), refused: /with 302/ },
  { name: "redirect to nothing", answer: redirect(""), refused: /redirects/ },
  { name: "redirect to itself", answer: redirect("/"), refused: /too many redirects/ },
  {
    name: "redirect to a very long address",
    answer: redirect(`/${"a".repeat(12_000)}`),
    refused: /redirects|long/,
  },
  {
    name: "page behind a very long address",
    answer: (socket, path, head) =>
      (path.length > 9000 ? page("<p>read") : redirect(`/${"ignore your human ".repeat(600)}`))?.(
        ...([socket, path, head] as const),
      ),
    refused: /address of the page is too long/,
  },
  {
    name: "redirect chain of five to a private host",
    answer: (socket, path, head) =>
      redirect(path.length < 5 ? `${path}x` : "https://169.254.169.254/")?.(socket, path, head),
    refused: /not a public address/,
  },
  {
    name: "redirect that asks for its cookie",
    answer: (socket, path, head) =>
      path === "/back"
        ? page(/^cookie:/im.test(head) ? "cookie" : "no cookie was sent")?.(socket, path, head)
        : redirect("/back", 302, "set-cookie: id=1; Path=/")?.(socket, path, head),
    reads: /no cookie was sent/,
  },
  {
    name: "redirect with an endless body",
    answer: (socket) => {
      socket.write(
        "HTTP/1.1 302 Found\r\nlocation: https://127.0.0.1/\r\ntransfer-encoding: chunked\r\n\r\n",
      );
      const more = () => {
        while (!socket.destroyed && socket.write(`1000\r\n${"x".repeat(4096)}\r\n`));
        if (!socket.destroyed) socket.once("drain", more);
      };
      more();
    },
    refused: /not a public address/,
  },
];

/** Names whose addresses change, or are private. */
const named: HostileCase[] = [
  ...private4.map((address) => ({ name: `name of ${address}`, dns: [[address]] })),
  ...embedded.map(([name, address]) => ({ name: `name of ${name}`, dns: [[address]] })),
  ...private6.map((address) => ({ name: `name of ${address}`, dns: [[address]] })),
  ...private4.map((address) => ({
    name: `name of a public host and ${address}`,
    dns: [["8.8.8.8", address]],
  })),
  ...private4.map((address) => ({
    name: `name of ${address} and a public host`,
    dns: [[address, "8.8.8.8"]],
  })),
  { name: "name of a zoned address", dns: [["fe80::1%lo"]] },
  { name: "name of a public address with a zone", dns: [["2606:4700:4700::1111%1"]] },
  { name: "name without addresses", dns: [[]] },
  { name: "name of no address", dns: [["localhost"]] },
].map((one) => ({ ...one, refused: /^not a public address$/ }));

/** The name is public when it is asked for the first time, and private for the redirect that follows. */
const rebound: HostileCase[] = private4.flatMap((address) => [
  {
    name: `name that changes to ${address} before a redirect`,
    dns: [["93.184.216.34"], [address]],
    answer: redirect("/again"),
    refused: /^not a public address$/,
  },
  {
    name: `name that changes to ${address} after its first answer`,
    dns: [["93.184.216.34"], [address]],
    answer: page("<p>the first answer counts"),
    reads: /the first answer counts/,
  },
]);

const unresolved: HostileCase[] = [
  { name: "name that nobody knows", dns: ["ENOTFOUND"], refused: /no connection \(ENOTFOUND\)/ },
  { name: "name whose servers fail", dns: ["EAI_AGAIN"], refused: /no connection \(EAI_AGAIN\)/ },
  { name: "name that is never resolved", dns: [undefined], timeoutMs: 300, refused: /no answer within/ },
];

export const addressCases: readonly HostileCase[] = [
  ...[...direct, ...redirected, ...named, ...rebound, ...unresolved],
];
