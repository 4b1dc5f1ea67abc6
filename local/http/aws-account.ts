/** The fake AWS account of the local cloud. */
export const region = "us-east-1";
export const accountId = "000000000000";

/** `arn:aws:{service}:us-east-1:000000000000:{resource}` */
export function arn(service: string, resource: string): string {
  return `arn:aws:${service}:${region}:${accountId}:${resource}`;
}

/** IAM is global: its ARNs have no region. */
export function roleArn(name: string): string {
  return `arn:aws:iam::${accountId}:role/${name}`;
}
