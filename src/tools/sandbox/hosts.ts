/**
 * The hosts that commands in the sandbox may reach: names, wildcards, addresses, and presets for well-known services.
 *
 * 1. A name is normalized once, by the WHATWG URL parser. Only the normalized name is compared, resolved and connected to.
 * 2. An allowing pattern without a port allows ports 80 and 443. A denying pattern covers every port unless it has one.
 */
import { isIP } from "node:net";
import { getHost } from "../../platform/url-host.js";

/** Presets for the hosts of well-known services. docs/guide/sandbox.md has the same lists. */
export const hostPresets = {
  npm: ["registry.npmjs.org", "registry.yarnpkg.com", "nodejs.org"],
  pypi: ["pypi.org", "files.pythonhosted.org"],
  github: [
    "github.com",
    "api.github.com",
    "codeload.github.com",
    "raw.githubusercontent.com",
    "objects.githubusercontent.com",
    "release-assets.githubusercontent.com",
  ],
  gitlab: ["gitlab.com"],
  crates: ["crates.io", "index.crates.io", "static.crates.io"],
  go: ["proxy.golang.org", "sum.golang.org"],
  maven: ["repo.maven.apache.org", "repo1.maven.org", "plugins.gradle.org", "plugins-artifacts.gradle.org"],
  debian: ["deb.debian.org", "security.debian.org"],
  playwright: ["cdn.playwright.dev", "playwright.download.prss.microsoft.com"],
} as const satisfies { readonly [name: string]: readonly string[] };

/** The host and port of a connection. */
export type HostTarget = {
  /** Normalized: lower case, punycode, no trailing dot; an address in its canonical form, without brackets. */
  readonly name: string;
  /** The port, from 1 to 65,535. */
  readonly port: number;
};

export type HostPattern = {
  /** The original text. */
  readonly text: string;
  readonly allows: (target: HostTarget) => boolean;
  readonly denies: (target: HostTarget) => boolean;
  /** Whether the pattern allows everything that another pattern allows. */
  readonly covers: (other: HostPattern) => boolean;
  /** Whether the pattern denies something that another pattern allows. */
  readonly deniesPartOf: (other: HostPattern) => boolean;
  readonly parts: readonly HostPart[];
};

/** A single host, or all hosts below it. */
export type HostPart = {
  readonly name: string;
  readonly isWildcard: boolean;
  /** The port; null for ports 80 and 443. */
  readonly port: number | null;
};

const webPorts: ReadonlySet<number> = new Set([80, 443]);
const maxPatternCharacters = 300;

/**
 * Reads `npm`, `example.org`, `*.example.org`, `db.example.org:5432`, `10.1.2.3:8080` or `[2001:db8::1]:443`.
 * @returns the pattern, or the problem as part of a sentence
 */
export function readHostPattern(text: string): HostPattern | string {
  if (text.length > maxPatternCharacters) return `it has more than ${maxPatternCharacters} characters`;
  const preset = Object.hasOwn(hostPresets, text) ? hostPresets[text as keyof typeof hostPresets] : null;
  if (preset !== null)
    return createPattern(
      text,
      preset.map((name) => ({ name, isWildcard: false, port: null })),
    );
  const part = readPart(text);
  return typeof part === "string" ? part : createPattern(text, [part]);
}

function readPart(text: string): HostPart | string {
  const [, wildcard, bracketed, bare = "", portText] =
    /^(\*\.)?(?:\[([0-9a-f:.]+)\]|([^\s:/@[\]?#\\]+))(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const written = bracketed ?? bare;
  const name = normalizeHost(bracketed === undefined ? written : `[${written}]`);
  if (written === "" || name === null || written.includes("*"))
    return "write a host, such as api.example.org, *.example.org or db.example.org:5432";
  const port = portText === undefined ? null : Number(portText);
  if (port !== null && (port < 1 || port > 65_535)) return "the port must be a number from 1 to 65535";
  const isWildcard = wildcard !== undefined;
  const isAddress = isIP(name) !== 0;
  if (isWildcard && isAddress) return "a wildcard must be followed by a name, not an address";
  if (!isWildcard && !isAddress && !name.includes(".") && port === null)
    return `there is no preset ${JSON.stringify(text)}: the presets are ${Object.keys(hostPresets).join(", ")}. Any other host needs a dot or a port`;
  // "*.com" would allow half of the internet, and is almost certainly a mistake.
  if (isWildcard && !name.includes(".")) return "a wildcard must be followed by at least two labels";
  return { name, isWildcard, port };
}

function createPattern(text: string, parts: readonly HostPart[]): HostPattern {
  const allowed = (port: number | null) => (one: number) => (port === null ? webPorts.has(one) : one === port);
  return {
    text,
    parts,
    allows: ({ name, port }) => parts.some((part) => matchesName(part, name) && allowed(part.port)(port)),
    denies: ({ name, port }) =>
      parts.some((part) => matchesName(part, name) && (part.port === null || part.port === port)),
    covers: (other) =>
      other.parts.every((one) =>
        parts.some((part) => {
          const ports = one.port === null ? [...webPorts] : [one.port];
          const fits = one.isWildcard
            ? part.isWildcard && isBelowOrSame(part.name, one.name)
            : matchesName(part, one.name);
          return fits && ports.every(allowed(part.port));
        }),
      ),
    deniesPartOf: (other) =>
      other.parts.some((one) =>
        parts.some((part) => {
          const ports = one.port === null ? [...webPorts] : [one.port];
          return overlaps(part, one) && (part.port === null || ports.includes(part.port));
        }),
      ),
  };
}

function matchesName({ name, isWildcard }: HostPart, given: string): boolean {
  return isWildcard ? isIP(given) === 0 && given.endsWith(`.${name}`) : given === name;
}

/** Whether a name can match both. */
function overlaps(one: HostPart, other: HostPart): boolean {
  if (!one.isWildcard) return matchesName(other, one.name);
  if (!other.isWildcard) return matchesName(one, other.name);
  return isBelowOrSame(one.name, other.name) || isBelowOrSame(other.name, one.name);
}

const isBelowOrSame = (name: string, given: string) => given === name || given.endsWith(`.${name}`);

/** The preset that contains a host; null if none does. */
export function findPreset({ parts }: HostPattern): string | null {
  const [part, ...others] = parts;
  if (part === undefined || others.length > 0 || part.isWildcard || (part.port !== null && !webPorts.has(part.port)))
    return null;
  const found = Object.entries(hostPresets).find(([, names]) => names.some((name) => name === part.name));
  return found?.[0] ?? null;
}

/** The canonical form of a host name or address; null if the host is neither. */
export function normalizeHost(host: string): string | null {
  if (host === "" || host.length > maxPatternCharacters || /[\s/@?#\\]/.test(host)) return null;
  const colons = host.startsWith("[") ? host : isIP(host) === 6 ? `[${host}]` : host;
  const url = URL.canParse(`http://${colons}/`) ? new URL(`http://${colons}/`) : null;
  if (url === null || url.port !== "" || url.username !== "") return null;
  const name = getHost(url).replace(/\.$/, "");
  return name === "" || name.endsWith(".") ? null : name;
}

/** `host:port`, with brackets around an IPv6 address. */
export function formatTarget({ name, port }: HostTarget): string {
  return `${isIP(name) === 6 ? `[${name}]` : name}:${port}`;
}
