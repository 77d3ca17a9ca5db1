/**
 * The provider interface of the MCP library for a login, and how a login is stored.
 */
import type * as Sdk from "@modelcontextprotocol/client";
import type { Json } from "../../../core/data/message.js";
import { PawlError } from "../../../errors.js";
import type { McpLogin, PersonLogin } from "./contract.js";
import type { McpCredentials, McpStoredLogin } from "./credentials.js";

import type { LoginMemory } from "./remote-login.js";

type Tokens = Sdk.StoredOAuthTokens;
type Client = Sdk.StoredOAuthClientInformation & { readonly redirect_uris?: readonly string[] };

export function createPersonProvider(
  url: string,
  login: PersonLogin,
  redirectUrl: string,
  state: string,
  show: (page: URL) => void | Promise<void>,
  memory: LoginMemory = createMemory(),
): Sdk.OAuthClientProvider {
  const registration = {
    redirect_uris: [redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
  return {
    ...createProvider(url, login, registration, memory),
    redirectUrl,
    ...(login.clientMetadataUrl === undefined ? {} : { clientMetadataUrl: login.clientMetadataUrl }),
    state: () => state,
    redirectToAuthorization: show,
  };
}

export function createMemory(): LoginMemory {
  return { verifier: "", registered: undefined, discovered: undefined };
}

/**
 * The MCP library's provider interface for a login. It returns no tokens, because the library would refresh them without a lock.
 * Registration and discovery stay in memory until the tokens are stored.
 */
export function createProvider(
  url: string,
  login: McpLogin,
  registration: Omit<Sdk.OAuthClientMetadata, "redirect_uris"> & { redirect_uris: string[] },
  memory: LoginMemory = createMemory(),
): Sdk.OAuthClientProvider {
  const { credentials, scope } = login;
  const known = getConfiguredClient(login);
  const [redirect] = registration.redirect_uris;
  return {
    redirectUrl: redirect,
    clientMetadata: { client_name: "Pawl", ...registration, ...(scope === undefined ? {} : { scope }) },
    async clientInformation() {
      if (known !== undefined || memory.registered !== undefined) return known ?? memory.registered;
      const stored = readClient(await credentials.read(url));
      // Not every authorization server ignores the port, so a registration is for one redirect address.
      return stored?.redirect_uris?.some((uri) => uri === redirect) === true ? stored : undefined;
    },
    ...(known === undefined
      ? {
          async saveClientInformation(client: Client) {
            memory.registered = client;
          },
        }
      : {}),
    tokens: () => undefined,
    async saveTokens(tokens: Tokens) {
      // Without a new registration, the stored client got the tokens, and refreshes them.
      const isRegistered = known === undefined && memory.registered !== undefined;
      await updateLogin(credentials, url, { tokens, ...(isRegistered ? { client: memory.registered } : {}) });
    },
    redirectToAuthorization() {
      throw createLoginNeededError(url);
    },
    saveCodeVerifier(given) {
      memory.verifier = given;
    },
    codeVerifier: () => memory.verifier,
    saveDiscoveryState(found) {
      memory.discovered = found;
    },
    discoveryState: () => memory.discovered,
  };
}

export function getConfiguredClient({ client }: McpLogin): Client | undefined {
  if (client === undefined) return undefined;
  return { client_id: client.id, ...(client.secret === undefined ? {} : { client_secret: client.secret }) };
}

export function readTokens({ tokens }: McpStoredLogin): Tokens | undefined {
  const { access_token: token } = Object(tokens) as { readonly access_token?: unknown };
  return typeof token === "string" ? (tokens as unknown as Tokens) : undefined;
}

export function readClient({ client }: McpStoredLogin): Client | undefined {
  const { client_id: id } = Object(client) as { readonly client_id?: unknown };
  return typeof id === "string" ? (client as unknown as Client) : undefined;
}

export async function updateLogin(
  credentials: McpCredentials,
  url: string,
  changes: { readonly [name: string]: unknown },
): Promise<void> {
  const next = { ...(await credentials.read(url)), ...changes };
  const stored = Object.entries(next).filter(([, value]) => value !== undefined);
  await credentials.write(url, Object.fromEntries(stored) as { [name: string]: Json });
}

export function createLoginNeededError(url: string, howToLogIn?: string): PawlError {
  const more = howToLogIn === undefined ? "" : ` ${howToLogIn}`;
  return new PawlError("login_needed", `The MCP server at ${url} requires a login.${more}`);
}
