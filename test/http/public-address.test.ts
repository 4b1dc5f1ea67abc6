import { describe, expect, it } from "vitest";
import { isPublicAddress } from "../../shared/http/guarded-fetch.ts";

describe("an address that is not for everybody", () => {
  it.each([
    ["loopback", ["127.0.0.1", "127.255.255.254", "::1"]],
    ["private", ["10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1"]],
    ["link-local, with the metadata services of AWS", ["169.254.169.254", "169.254.170.2", "169.254.0.1"]],
    ["link-local in IPv6", ["fe80::1", "febf::1", "fe80::a9fe:a9fe"]],
    [
      "unique local, with the metadata service of AWS",
      ["fd00:ec2::254", "fd00:ec2::23", "fc00::1", "fdff::"],
    ],
    ["shared by a carrier", ["100.64.0.1", "100.127.255.255", "100.100.100.200"]],
    ["multicast", ["224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1"]],
    ["unspecified", ["0.0.0.0", "0.1.2.3", "::"]],
    ["broadcast or reserved", ["255.255.255.255", "240.0.0.1", "192.0.0.1", "198.18.0.1", "198.19.255.255"]],
    ["documentation", ["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1", "3fff:fff::1"]],
    ["mapped from IPv4", ["::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:7f00:1", "::ffff:8.8.8.8"]],
    ["compatible with IPv4", ["::127.0.0.1", "::a9fe:a9fe", "::ffff:0:127.0.0.1"]],
    ["translated from IPv4", ["64:ff9b::169.254.169.254", "64:ff9b::808:808", "64:ff9b:1::7f00:1"]],
    ["tunnelled by 6to4 or Teredo", ["2002:7f00:1::", "2002:a9fe:a9fe::1", "2001::1", "2001:0:4136:e378::"]],
    ["site-local, discarded or not given out", ["fec0::1", "100::1", "4000::1", "5f00::1", "e000::1"]],
    ["with a zone", ["fe80::1%eth0", "2606:4700:4700::1111%1"]],
    [
      "no address",
      ["", "localhost", "2130706433", "0x7f000001", "127.1", "0177.0.0.1", "8.8.8.8:443", "[::1]"],
    ],
  ])("is refused: %s", (_what, addresses) => {
    expect(addresses.filter(isPublicAddress)).toEqual([]);
  });
});

describe("an address of the public Internet", () => {
  it.each([
    ["IPv4", ["8.8.8.8", "1.1.1.1", "149.154.167.220", "9.255.255.255", "11.0.0.0", "223.255.255.255"]],
    [
      "IPv4 just outside of what is refused",
      ["100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0"],
    ],
    [
      "IPv4 beside link-local and loopback",
      ["169.253.255.255", "169.255.0.0", "126.255.255.255", "128.0.0.0"],
    ],
    [
      "IPv6",
      ["2606:4700:4700::1111", "2a00:1450:4001::200e", "2001:200::1", "2001:4860:4860::8888", "2003::1"],
    ],
  ])("is taken: %s", (_what, addresses) => {
    expect(addresses.filter((address) => !isPublicAddress(address))).toEqual([]);
  });
});
