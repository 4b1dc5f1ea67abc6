import { openSigned, rpcRequest, type SendSigned } from "../../../shared/aws/signed-request.ts";
import { type Prices, prices as published } from "../../bench/deployed/prices.ts";
import type { PriceList } from "../place.ts";

/** Where AWS's price list has a price: the service, and the end of the usage type, after a region's prefix such as `EUC1-`. */
const places: Partial<Record<keyof Prices, readonly [service: string, usage: string]>> = {
  lambdaGbSecond: ["AWSLambda", "Lambda-GB-Second-ARM"],
  lambdaInvocation: ["AWSLambda", "Request-ARM"],
  dynamodbWrite: ["AmazonDynamoDB", "WriteRequestUnits"],
  dynamodbRead: ["AmazonDynamoDB", "ReadRequestUnits"],
  webSocketMessage: ["AmazonApiGateway", "ApiGatewayMessage"],
  webSocketMinute: ["AmazonApiGateway", "ApiGatewayMinute"],
  s3Put: ["AmazonS3", "Requests-Tier1"],
  s3Get: ["AmazonS3", "Requests-Tier2"],
  logsGb: ["AmazonCloudWatch", "DataProcessing-Bytes"],
};

/** A product of the price list, as far as it is read. */
interface Product {
  product: { attributes: { usagetype?: string } };
  terms: {
    OnDemand?: Record<
      string,
      { priceDimensions: Record<string, { beginRange?: string; pricePerUnit: { USD?: string } }> }
    >;
  };
}

/** The Price List API answers in this region about all others. */
const home = "us-east-1";

/**
 * The prices of a region. A price that AWS's list does not have exactly once is the published one of us-east-1.
 * @param endpoint replaces the API's address
 */
export async function listPrices(region: string, endpoint?: string): Promise<PriceList> {
  const send = openSigned(endpoint ?? `https://api.pricing.${home}.amazonaws.com`);
  const services = [...new Set(Object.values(places).map(([service]) => service))];
  const read = async (service: string) => [service, await productsOf(send, service, region)] as const;
  const products = new Map(await Promise.all(services.map(read)));
  const prices: Prices = { ...published };
  const listed: (keyof Prices)[] = [];
  for (const [name, [service, usage]] of Object.entries(places) as [
    keyof Prices,
    readonly [string, string],
  ][]) {
    const price = priceOf(products.get(service) ?? [], usage);
    if (price === undefined) continue;
    prices[name] = price;
    listed.push(name);
  }
  return { prices, listed };
}

/** A service's products in a region; none when the credentials may not read the list. */
async function productsOf(send: SendSigned, ServiceCode: string, region: string): Promise<Product[]> {
  const found: Product[] = [];
  const Filters = [{ Type: "TERM_MATCH", Field: "regionCode", Value: region }];
  let NextToken: string | undefined;
  try {
    do {
      const input = { ServiceCode, Filters, FormatVersion: "aws_v1", NextToken };
      const request = { region: home, ...rpcRequest("pricing", "AWSPriceListService.GetProducts", input) };
      const page = JSON.parse(await send(request)) as { PriceList?: string[]; NextToken?: string };
      found.push(...(page.PriceList ?? []).map((one) => JSON.parse(one) as Product));
      NextToken = page.NextToken;
    } while (NextToken);
    return found;
  } catch {
    return [];
  }
}

/** The price on demand of the first paid tier of the only product with this usage. */
function priceOf(products: readonly Product[], usage: string): number | undefined {
  const pattern = new RegExp(`^((?!IA-)[A-Z]+\\d*-)?${usage}$`);
  const [found, ...others] = products.filter(({ product }) =>
    pattern.test(product.attributes.usagetype ?? ""),
  );
  if (found === undefined || others.length > 0) return undefined;
  const tiers = Object.values(found.terms.OnDemand ?? {}).flatMap((term) =>
    Object.values(term.priceDimensions),
  );
  return tiers
    .sort((one, other) => Number(one.beginRange) - Number(other.beginRange))
    .map(({ pricePerUnit }) => Number(pricePerUnit.USD))
    .find((price) => price > 0);
}
