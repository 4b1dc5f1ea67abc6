/** A section of MEMORY.md: its heading, and its bullets without their signs. */
export interface MemorySection {
  heading: string;
  bullets: string[];
}

/**
 * The sections of a MEMORY.md. `## ` opens one, `- ` and `* ` at the start of a line are its bullets. Bullets before the first
 * heading, sections without a heading and all other lines are left out.
 */
export function memorySections(text: string): MemorySection[] {
  const sections: MemorySection[] = [];
  let current: MemorySection | undefined;
  for (const line of text.split(/\r?\n/)) {
    const heading = /^## (.*)$/.exec(line)?.[1]?.trim();
    if (heading !== undefined) {
      current = heading === "" ? undefined : { heading, bullets: [] };
      if (current) sections.push(current);
      continue;
    }
    const bullet = /^[-*] (.*)$/.exec(line)?.[1]?.trim();
    if (bullet) current?.bullets.push(bullet);
  }
  return sections;
}
