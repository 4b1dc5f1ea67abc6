import { BlockList, isIP } from "node:net";

/**
 * Addresses that are not publicly reachable, or that are mapped to other addresses: the special-purpose
 * registries of IANA (https://www.iana.org/assignments/iana-ipv4-special-registry,
 * …/iana-ipv6-special-registry) and multicast.
 */
const special4 = [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"],
  ...["192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"],
  ...["198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"],
];

/** Within 2000::/3: protocol assignments with Teredo, documentation, 6to4. */
const special6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];

/** The IPv6 range of public unicast addresses. Mapped, translated and local addresses are outside of it. */
const unicast6 = ["2000::/3"];

const refused4 = blockList("ipv4", special4);
const refused6 = blockList("ipv6", special6);
const allowed6 = blockList("ipv6", unicast6);

/**
 * Whether an IP address is one of the public Internet. False for loopback, private, link-local (with the
 * metadata services of clouds), shared, multicast, unspecified and reserved addresses, for IPv6 forms that
 * contain an IPv4 address, for addresses with a zone, and for text that is not an address.
 */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !refused4.check(address, "ipv4");
    case 6:
      return !address.includes("%") && allowed6.check(address, "ipv6") && !refused6.check(address, "ipv6");
    default:
      return false;
  }
}

function blockList(family: "ipv4" | "ipv6", networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", prefix] = network.split("/");
    list.addSubnet(address, Number(prefix), family);
  }
  return list;
}
