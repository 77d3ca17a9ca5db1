/**
 * Decides which network addresses a fetch may connect to: those of the public internet, and those that the author allows.
 *
 * The ranges come from IANA's registries of special-purpose addresses (RFC 6890), and from the clouds' metadata services.
 */
import { BlockList, isIP, isIPv4 } from "node:net";
import { PawlError } from "../../errors.js";

const blockedV4Ranges: readonly string[] = [
  "0.0.0.0/8", // this network
  "10.0.0.0/8", // private
  "100.64.0.0/10", // carrier-grade NAT, and Alibaba's metadata
  "127.0.0.0/8", // loopback
  "168.63.129.16/32", // Azure's metadata
  "169.254.0.0/16", // link-local, and most clouds' metadata
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments, and Oracle's metadata
  "192.0.2.0/24", // documentation
  "192.88.99.0/24", // 6to4 relays
  "192.168.0.0/16", // private
  "198.18.0.0/15", // benchmarks
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, and broadcast
];

/** The only public IPv6 addresses. Loopback, link-local, private, mapped and multicast addresses are outside of this range. */
const publicV6Range = "2000::/3";
/** Addresses in that range that are not public, or that stand for an IPv4 address. */
const blockedV6Ranges: readonly string[] = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];

export type AddressRules = { readonly isAllowed: (address: string) => boolean };

/**
 * @param allowed addresses, or ranges such as `10.1.0.0/16`, that may be reached although they are not public
 * @throws PawlError `bad_configuration` for an entry that is neither an address nor a range
 */
export function createAddressRules(allowed: readonly string[]): AddressRules {
  const allowedList = createBlockList(allowed);
  // Creating these lists takes longer than the rest of a tool, and most agents never fetch.
  let blockedList: BlockList | undefined;
  let publicV6List: BlockList | undefined;
  return {
    isAllowed(address) {
      const plain = toPlainIpv4(address);
      const family = isIPv4(plain) ? "ipv4" : "ipv6";
      if (isIP(plain) === 0) return false;
      if (allowedList.check(plain, family)) return true;
      blockedList ??= createBlockList([...blockedV4Ranges, ...blockedV6Ranges]);
      publicV6List ??= createBlockList([publicV6Range]);
      return !blockedList.check(plain, family) && (family === "ipv4" || publicV6List.check(plain, family));
    },
  };
}

/** Whether the text is an address, or a range such as `10.1.0.0/16`. */
export const isAddressRange = (text: string) => readRange(text) !== null;

function readRange(text: string) {
  const [address = "", bits, ...rest] = text.split("/");
  const family = isIPv4(address) ? ("ipv4" as const) : ("ipv6" as const);
  const maxPrefix = family === "ipv4" ? 32 : 128;
  const prefix = bits === undefined ? maxPrefix : Number(bits);
  const isValidPrefix = /^\d{1,3}$/.test(bits ?? "0") && prefix <= maxPrefix && rest.length === 0;
  return isIP(address) === 0 || !isValidPrefix ? null : { address, prefix, family };
}

function createBlockList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const found = readRange(String(range));
    if (found === null)
      throw new PawlError(
        "bad_configuration",
        `Invalid entry ${JSON.stringify(range)} in allowAddresses: expected an address such as "10.1.2.3", or a range such as "10.1.0.0/16".`,
      );
    list.addSubnet(found.address, found.prefix, found.family);
  }
  return list;
}

/** IPv6 can represent an IPv4 address: `::ffff:127.0.0.1`, or `::ffff:7f00:1`. */
function toPlainIpv4(address: string): string {
  const [, dotted] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  if (dotted !== undefined) return dotted;
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(address) ?? [];
  if (high === undefined || low === undefined) return address;
  const [first, second] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [first >> 8, first & 255, second >> 8, second & 255].join(".");
}
