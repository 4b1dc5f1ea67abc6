/** The ends of a transfer as texts. */
interface Copy {
  source: string;
  destination: string;
}

/** Transfers that the agent begins. */
export const agentCopies: Copy[] = [
  { source: "n:/a", destination: "gsv:files/a" },
  { source: "gsv:files/b", destination: "n:/b" },
];

/** Transfers that the client begins, also of its own files. */
export const clientCopies: Copy[] = [
  ...agentCopies,
  { source: ":/c", destination: "gsv:files/b" },
  { source: "n:/a", destination: ":/d" },
  { source: "gsv:files/a", destination: "gsv:files/d" },
];
