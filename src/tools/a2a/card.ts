/**
 * The card of a remote agent: what it does, and where it is reached. It is untrusted: it is checked and bounded here.
 */
import type { AgentCard } from "@a2a-js/sdk";
import { shortenUntrusted } from "../mcp/shorten-untrusted.js";
import type { A2aSdk } from "./import-sdk.js";
import { type A2aAgentOptions, isHttpUrl } from "./options.js";

export type RemoteCard = {
  /** What the agent says that it does. */
  readonly description: string;
  /** The card as the library needs it: with the interface that is used only. */
  readonly card: AgentCard;
};

/** Unchecked data of an agent. */
type Untrusted = { readonly [field: string]: unknown };

const protocolBinding = "JSONRPC";
const protocolVersion = "1.0";
const maxDescription = 8_192;
const maxSkills = 32;

/** @throws Error if the card cannot be read, or names no endpoint that may be used */
export async function fetchCard(
  { client }: A2aSdk,
  { url, endpoint }: Pick<A2aAgentOptions, "url" | "endpoint">,
  fetchImpl: typeof fetch,
): Promise<RemoteCard> {
  const resolver = new client.DefaultAgentCardResolver({ fetchImpl });
  const isCard = new URL(url).pathname.endsWith(".json");
  const base = isCard || url.endsWith("/") ? url : `${url}/`;
  const untrusted: unknown = await resolver.resolve(base, isCard ? "" : undefined);
  const { name, description, skills, supportedInterfaces } = Object(untrusted) as Untrusted;
  const found = readArray(supportedInterfaces).find(isUsable);
  if (found === undefined)
    throw new Error(`its card names no endpoint for ${protocolBinding} of A2A ${protocolVersion}`);
  const used = endpoint ?? checkEndpoint(found.url, url);
  const supported = { url: used, protocolBinding, protocolVersion, tenant: readText(found.tenant) };
  // The library reads nothing else.
  const card = { supportedInterfaces: [supported] } as Partial<AgentCard> as AgentCard;
  return { description: describe({ name, description, skills }), card };
}

function isUsable(one: unknown): one is Untrusted {
  const { protocolBinding: binding, protocolVersion: version } = Object(one) as Untrusted;
  return readText(binding).toUpperCase() === protocolBinding && version === protocolVersion;
}

/** An agent cannot choose where requests go: their headers may be secrets, and this process may reach what the agent cannot. */
function checkEndpoint(endpoint: unknown, url: string): string {
  if (isHttpUrl(endpoint) && new URL(endpoint).origin === new URL(url).origin) return endpoint;
  const shown = shortenUntrusted(JSON.stringify(readText(endpoint)), 200);
  throw new Error(
    `its card names the endpoint ${shown}, which is on another origin. If it is right, set the option endpoint`,
  );
}

function describe({ name, description, skills }: Untrusted): string {
  const shownSkills = readArray(skills)
    .slice(0, maxSkills)
    .map((one) => {
      const skill = Object(one) as Untrusted;
      return `- ${readText(skill.name)}: ${readText(skill.description)}`;
    });
  const lines = [`${readText(name)}: ${readText(description)}`, ...shownSkills];
  return shortenUntrusted(lines.join("\n"), maxDescription);
}

function readArray(untrusted: unknown): readonly unknown[] {
  return Array.isArray(untrusted) ? untrusted : [];
}

function readText(untrusted: unknown): string {
  return typeof untrusted === "string" ? untrusted : "";
}
