/**
 * Rules about web addresses: a host, or `*.host` for its subdomains, optionally with a scheme and a port. Rules that ask or deny
 * also accept IP addresses and ranges.
 */
import { BlockList, isIP, isIPv4 } from "node:net";
import type { CreateRuleError, Verdict } from "./rule-types.js";

export type HostTest = (url: URL) => boolean;

export function createHostTest(text: string, verdict: Verdict, createError: CreateRuleError): HostTest {
  const [, scheme, host = "", port] =
    /^(?:(https?):\/\/)?(\[[^\]]+\]|[^:/]+(?:\/\d{1,3})?|[0-9a-f:]+\/\d{1,3})(?::(\d{1,5}))?\/?$/i.exec(text.trim()) ??
    [];
  if (host === "") throw createError("write a host, such as api.example.org or *.example.org");
  const matchesHost = createHostNameTest(host.toLowerCase(), verdict, createError);
  return (url) => {
    if (scheme !== undefined && url.protocol !== `${scheme.toLowerCase()}:`) return false;
    // Without a port, a rule that allows a host allows only its default port, and a rule that denies it denies every port.
    const matchesPort = port === undefined ? verdict !== "allow" || url.port === "" : portOf(url) === port;
    return matchesPort && matchesHost(normalizeHost(url, verdict));
  };
}

function createHostNameTest(host: string, verdict: Verdict, createError: CreateRuleError): (host: string) => boolean {
  const plain = host.replace(/^\[(.*)\]$/, "$1");
  const [address = "", bits] = plain.split("/");
  if (isIP(address) !== 0) return createAddressTest(address, bits, verdict, createError);
  if (bits !== undefined) throw createError("a rule for the web names a host, not a path");
  if (plain === "*") return () => true;
  const [, star, name = ""] = /^(\*\.)?(.*)$/.exec(plain) ?? [];
  const canonical = URL.canParse(`http://${name}/`) ? new URL(`http://${name}/`).hostname : "";
  if (canonical === "" || name.includes("*")) throw createError("a * is allowed only at the beginning: *.example.org");
  return star === undefined ? (hostName) => hostName === canonical : (hostName) => hostName.endsWith(`.${canonical}`);
}

function createAddressTest(
  address: string,
  bits: string | undefined,
  verdict: Verdict,
  createError: CreateRuleError,
): (host: string) => boolean {
  const family = isIPv4(address) ? "ipv4" : "ipv6";
  const maxPrefix = family === "ipv4" ? 32 : 128;
  const prefix = bits === undefined ? maxPrefix : Number(bits);
  if (prefix > maxPrefix)
    throw createError(`an ${family === "ipv4" ? "IPv4" : "IPv6"} range has at most /${maxPrefix}`);
  if (verdict === "allow" && prefix !== maxPrefix) throw createError("a range of addresses can be denied, not allowed");
  const list = new BlockList();
  list.addSubnet(address, prefix, family);
  return (hostName) => isIP(hostName) !== 0 && list.check(hostName, isIPv4(hostName) ? "ipv4" : "ipv6");
}

/** The URL parser has already normalized case, punycode and the form of IP addresses. */
function normalizeHost({ hostname }: URL, verdict: Verdict): string {
  const plain = hostname.replace(/^\[(.*)\]$/, "$1");
  return verdict === "allow" ? plain : plain.replace(/\.$/, "");
}

function portOf({ port, protocol }: URL): string {
  return port === "" ? (protocol === "https:" ? "443" : "80") : port;
}
