/** The region of a gateway on AWS; undefined for a local gateway, and for one with a custom domain. */
export function regionOf(url: string): string | undefined {
  return /\.execute-api\.([a-z0-9-]+)\.amazonaws\.com/.exec(url)?.[1];
}
