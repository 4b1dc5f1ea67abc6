/** A class of attack, and where a test tries it. */
export interface AttackClass {
  /** The name of the test file is this name. */
  name: string;
  /** What the attacker does. */
  attack: string;
  /**
   * Public advisories about agent gateways of this class, or the number of the weakness (cwe.mitre.org) if none fits.
   * Each was looked up.
   */
  advisories: readonly string[];
  /** Relative to `test/security/`. */
  file: string;
}

/** Every class of attack that a test tries. `classes.test.ts` compares this table with the folder. */
export const attackClasses: readonly AttackClass[] = [
  {
    name: "token-in-url",
    attack: "uses a token or secret that is part of an address, which logs and histories store",
    advisories: ["CVE-2026-25253", "CWE-598"],
    file: "door/token-in-url.test.ts",
  },
  {
    name: "auth-by-presence",
    attack: "sends a credential that is present but invalid",
    advisories: ["CVE-2026-28472"],
    file: "door/auth-by-presence.test.ts",
  },
  {
    name: "self-declared-scope",
    attack: "claims in `connect` or in params to have rights that its token does not have",
    advisories: ["GHSA-rqpp-rjj8-7wv8", "GHSA-4jpw-hj22-2xmc"],
    file: "door/self-declared-scope.test.ts",
  },
  {
    name: "approval-reuse",
    attack: "uses a one-time permission again, elsewhere, or as another peer",
    advisories: ["GHSA-hjvp-qhm6-wrh2"],
    file: "door/approval-reuse.test.ts",
  },
  {
    name: "fail-open-webhook",
    attack: "calls a webhook whose secret is not configured",
    advisories: ["GHSA-xh72-v6v9-mwhc (CVE-2026-44109)"],
    file: "door/fail-open-webhook.test.ts",
  },
  {
    name: "ssrf",
    attack: "makes the gateway fetch an address that only it can reach",
    advisories: ["CVE-2026-28467"],
    file: "inside/ssrf.test.ts",
  },
  {
    name: "traversal",
    attack: "leaves a folder with a crafted path or id",
    advisories: ["GHSA-5xfq-5mr7-426q"],
    file: "inside/traversal.test.ts",
  },
  {
    name: "loopback-browser",
    attack: "uses what listens on the owner's machine from a web page in the owner's browser",
    advisories: ["CWE-350", "CWE-1385"],
    file: "door/loopback-browser.test.ts",
  },
  {
    name: "replay",
    attack: "replays another sender's signed request",
    advisories: ["CWE-294"],
    file: "door/replay.test.ts",
  },
  {
    name: "stale-secret",
    attack: "uses a secret after it was replaced",
    advisories: ["GHSA-q8ff-7ffm-m3r9 (CVE-2026-45005)", "GHSA-xmxx-7p24-h892"],
    file: "door/stale-secret.test.ts",
  },
  {
    name: "cost-by-strangers",
    attack: "makes the gateway work, and its owner pay, without a token",
    advisories: ["GHSA-qcc3-jqwp-5vh2", "GHSA-rm59-992w-x2mv"],
    file: "door/cost-by-strangers.test.ts",
  },
  {
    name: "mutable-identity",
    attack: "chooses or writes an id that is taken for another user's",
    advisories: ["GHSA-4cqv-h74h-93j4", "CWE-290"],
    file: "inside/mutable-identity.test.ts",
  },
  {
    name: "terminal-escapes",
    attack: "sends text that controls the terminal of its reader",
    advisories: ["CWE-150"],
    file: "inside/terminal-escapes.test.ts",
  },
  {
    name: "revocation",
    attack: "continues to use a token, or its socket, after the token was revoked",
    advisories: ["CVE-2026-34503"],
    file: "door/revocation.test.ts",
  },
  {
    name: "id-takeover",
    attack: "connects under the id of somebody else's node or client",
    advisories: ["CVE-2026-32014"],
    file: "door/id-takeover.test.ts",
  },
  {
    name: "own-property",
    attack: "uses a name that every JavaScript object has, such as `constructor`, as an id",
    advisories: ["CWE-1321"],
    file: "inside/own-property.test.ts",
  },
  {
    name: "standing-skill",
    attack: "makes the agent write a skill that all later prompts list",
    advisories: ["CWE-94"],
    file: "inside/standing-skill.test.ts",
  },
  {
    name: "approval-bypass",
    attack: "has something run that the owner did not allow, or that is not what they allowed",
    advisories: [
      ...["GHSA-hjvp-qhm6-wrh2", "GHSA-xvhf-x56f-2hpp", "GHSA-796m-2973-wc5q"],
      ...["CVE-2026-29607", "CVE-2026-32065"],
    ],
    file: "inside/approval-bypass.test.ts",
  },
  {
    name: "obedient-model",
    attack: "has a model that obeys every page, file, memory, job, skill and message act without a question",
    advisories: ["CWE-1427"],
    file: "inside/obedient-model.test.ts",
  },
  {
    name: "hidden-text",
    attack: "hides words or characters from the person who reads a request or a skill",
    advisories: ["CVE-2021-42574", "CWE-451"],
    file: "inside/hidden-text.test.ts",
  },
  {
    name: "export-redaction",
    attack: "finds a secret in a conversation that was exported without secrets",
    advisories: ["CWE-212"],
    file: "inside/export-redaction.test.ts",
  },
  {
    name: "queued-rights",
    attack: "has a message answered with the rights of the message that it waited behind",
    advisories: ["CWE-863"],
    file: "inside/queued-rights.test.ts",
  },
  {
    name: "non-owner-exec",
    attack: "has commands run on the owner's machines, or uses the owner's commands, as a guest",
    advisories: ["GHSA-c28g-vh7m-fm7v", "GHSA-39mp-545q-w789"],
    file: "non-owner-exec.test.ts",
  },
  {
    name: "config-by-channel-users",
    attack: "reads or changes the configuration by messages on a channel",
    advisories: ["GHSA-r7vr-gr74-94p8"],
    file: "config-by-channel-users.test.ts",
  },
  {
    name: "cross-session-leakage",
    attack: "learns in one conversation what was said in another",
    advisories: ["CWE-488"],
    file: "cross-session-leakage.test.ts",
  },
  {
    name: "private-strings",
    attack: "learns in a group the contents of the owner's files, conversations and configuration",
    advisories: ["CWE-200"],
    file: "private-strings.test.ts",
  },
];
