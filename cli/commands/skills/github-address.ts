/** A skill's place on GitHub. */
export interface GitHubAddress {
  owner: string;
  repo: string;
  /** Folder of the skill in the repository; "" when the repository has to be searched. */
  path: string;
  /** Branch, tag or commit. Absent: the default branch. */
  ref?: string;
}

const name = "[A-Za-z0-9_][\\w.-]*";
const shortForm = new RegExp(`^(${name})/(${name})((?:/[^/@]+)*)/?(?:@(.+))?$`);
const pageForm = new RegExp(
  `^https://github\\.com/(${name})/(${name}?)(?:\\.git)?(?:/(?:tree|blob)/([^/]+)((?:/[^/]+)*))?/?$`,
);

/** Reads `owner/repo[/path][@ref]`, or the address of a page of github.com. Undefined for anything else. */
export function parseGitHub(source: string): GitHubAddress | undefined {
  const short = shortForm.exec(source);
  const page = short ? null : pageForm.exec(source);
  const [owner, repo, path = "", ref] = short
    ? [short[1], short[2], short[3], short[4]]
    : [page?.[1], page?.[2], page?.[4], page?.[3]];
  if (owner === undefined || repo === undefined) return undefined;
  const folder = path.replace(/\/SKILL\.md$/, "").replace(/^\//, "");
  return { owner, repo, path: decodeURI(folder), ...(ref === undefined ? {} : { ref }) };
}

/** The address as a person writes it. */
export function gitHubText({ owner, repo, path, ref }: GitHubAddress): string {
  return `${owner}/${repo}${path === "" ? "" : `/${path}`}${ref === undefined ? "" : `@${ref}`}`;
}

/** The address of the repository's archive. */
export function archiveUrl({ owner, repo, ref = "HEAD" }: GitHubAddress): string {
  const encoded = ref.split("/").map(encodeURIComponent).join("/");
  return `https://codeload.github.com/${owner}/${repo}/tar.gz/${encoded}`;
}
