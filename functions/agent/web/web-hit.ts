/** Max results of a search. */
export const maxHits = 8;

/** Maximum length of a result's title and text, and of a model's answer, in characters. */
const [maxTitle, maxSnippet, maxAnswer] = [200, 500, 4000];

/** A result of a search. */
export interface WebHit {
  title: string;
  url: string;
  snippet: string;
  /** When the page was published, as the service says it. */
  published?: string;
}

/** A result as a service sends it. */
export interface RawHit {
  url: string;
  title?: string | null | undefined;
  snippet?: string | undefined;
  published?: string | null | undefined;
}

/** The results of a search, best first. `answer`: what a model has written about them. */
export interface WebResults {
  answer?: string;
  results: WebHit[];
}

/** Results of the web, each address once, within the limits. */
export function webResults(hits: readonly RawHit[], answer = ""): WebResults {
  const byUrl = new Map(hits.filter(({ url }) => /^https?:\/\//i.test(url)).map((hit) => [hit.url, hit]));
  const results = [...byUrl.values()].slice(0, maxHits).map(toHit);
  return { ...(answer === "" ? {} : { answer: cut(answer, maxAnswer) }), results };
}

function toHit({ title, url, snippet, published }: RawHit): WebHit {
  return {
    title: cut(title ?? "", maxTitle),
    url,
    snippet: cut(snippet ?? "", maxSnippet),
    ...(published ? { published: cut(published, maxTitle) } : {}),
  };
}

const cut = (text: string, max: number) => text.slice(0, max).toWellFormed();
