/**
 * Logs in to an MCP server: OAuth 2.1, as protocol 2026-07-28 has it. The MCP library discovers servers, registers clients, checks
 * issuers and exchanges codes. This module stores what it learns, refreshes tokens, and lets one process at a time do so.
 *
 * 1. Tokens belong to the address of the MCP server, and to the issuer that gave them. A refresh token goes to that issuer only.
 * 2. A request that is refused is sent again after a refresh, and once more after a login. After four times the answer stands.
 * 3. A refresh that fails for lack of a network is an error. Only a refusal by the issuer ends a login.
 * 4. Without somebody who can log in, nothing is registered and no page is made.
 */
import { randomBytes } from "node:crypto";
import type * as Sdk from "@modelcontextprotocol/client";
import type { Json } from "../../../core/data/message.js";
import { PawlError } from "../../../errors.js";
import type { McpCredentials, McpStoredLogin } from "./credentials.js";
import { boundedFetch } from "./login-fetch.js";
import { openLoopback } from "./loopback.js";

/** How Pawl logs in to a server at an address. */
export type McpLogin = {
  /** Where the login is stored: `fileCredentials(path)`. */
  readonly credentials: McpCredentials;
  /** The scopes to ask for if the server names none. Default: those that the server supports. */
  readonly scope?: string;
  /** A client that the authorization server knows. Default: it is registered, or described by `clientMetadataUrl`. */
  readonly client?: { readonly id: string; readonly secret?: string };
} & (
  | {
      /** The program itself logs in, without a person. `client` needs a secret. */
      readonly as: "client";
    }
  | {
      /** A person logs in. */
      readonly as: "person";
      /**
       * Shows a person the page to log in at. The person's browser has to run on this machine. Default: a call that needs a login fails with
       * `login_needed`.
       */
      readonly show?: (page: URL) => void | Promise<void>;
      /** Ends the message of `login_needed`: what a person has to do. Default: nothing is added. */
      readonly howToLogIn?: string;
      /** An https address at which this client describes itself (CIMD). */
      readonly clientMetadataUrl?: string;
      /** The port of this machine to which the browser comes back. Default: any free port. */
      readonly port?: number;
      /** Milliseconds that the person has. Default: 300,000. */
      readonly waitMs?: number;
    }
);

type Tokens = Sdk.StoredOAuthTokens;
type Client = Sdk.StoredOAuthClientInformation & { readonly redirect_uris?: readonly string[] };
type Challenge = { readonly metadataUrl?: URL; readonly scope?: string; readonly isStepUp: boolean };

const defaultWaitMs = 300_000;
/** Other processes may use up what they refresh before this one comes to it. */
const maxTries = 4;

/** A `fetch` for one server, which logs in when the server asks for it. */
export function createLoginFetch(sdk: typeof Sdk, url: string, login: McpLogin): typeof fetch {
  const { credentials } = login;
  return async (input, init = {}) => {
    // A login is for this server alone.
    if (new URL(input instanceof Request ? input.url : input).origin !== new URL(url).origin) return fetch(input, init);
    const send = async () => {
      const token = readTokens(await credentials.read(url))?.access_token;
      const headers = new Headers(init.headers);
      if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
      return { token, response: await fetch(input, { ...init, headers }) };
    };
    let { token, response } = await send();
    let hasRefreshed = false;
    let hasLoggedIn = false;
    for (let tries = 0; tries < maxTries && !hasLoggedIn && isChallenge(response); tries += 1) {
      const { resourceMetadataUrl, scope, error } = sdk.extractWWWAuthenticateParams(response);
      await response.body?.cancel().catch(() => {});
      const challenge: Challenge = {
        ...(resourceMetadataUrl === undefined ? {} : { metadataUrl: resourceMetadataUrl }),
        ...(scope === undefined ? {} : { scope }),
        isStepUp: error === "insufficient_scope",
      };
      await credentials.alone(
        url,
        async () => {
          const current = readTokens(await credentials.read(url))?.access_token;
          // Another process was quicker.
          if (current !== undefined && current !== token) return;
          if (!hasRefreshed && !challenge.isStepUp && (await refresh(sdk, url, login, challenge))) hasRefreshed = true;
          else {
            // A token that was just refreshed and is refused all the same needs a person, or the program's secret.
            await authorize(sdk, url, login, challenge);
            hasLoggedIn = true;
          }
        },
        init.signal ?? AbortSignal.timeout(defaultWaitMs * 2),
      );
      ({ token, response } = await send());
    }
    return response;
  };
}

function isChallenge({ status, headers }: Response): boolean {
  return status === 401 || (status === 403 && /insufficient_scope/.test(headers.get("www-authenticate") ?? ""));
}

/**
 * Logs in now, whether or not there is a login already.
 * @throws Error if the login fails
 */
export async function logIn(sdk: typeof Sdk, url: string, login: McpLogin, signal: AbortSignal): Promise<void> {
  await login.credentials.alone(url, () => authorize(sdk, url, login, { isStepUp: false }), signal);
}

async function authorize(sdk: typeof Sdk, url: string, login: McpLogin, challenge: Challenge): Promise<void> {
  if (login.as === "client") await authorizeClient(sdk, url, login, challenge);
  else await authorizePerson(sdk, url, login, challenge);
}

/** @returns false if there is nothing to refresh, or the issuer refuses */
async function refresh(sdk: typeof Sdk, url: string, login: McpLogin, { metadataUrl }: Challenge): Promise<boolean> {
  const stored = await login.credentials.read(url);
  const tokens = readTokens(stored);
  const client = clientOf(login) ?? readClient(stored);
  if (tokens?.refresh_token === undefined || client === undefined) return false;
  const { authorizationServerUrl, authorizationServerMetadata, resourceMetadata } = await sdk.discoverOAuthServerInfo(
    url,
    {
      fetchFn: boundedFetch,
      ...(metadataUrl === undefined ? {} : { resourceMetadataUrl: metadataUrl }),
    },
  );
  const issuer = authorizationServerMetadata?.issuer ?? authorizationServerUrl;
  if (tokens.issuer !== issuer) return false;
  const resource = resourceMetadata?.resource;
  const expected = sdk.resourceUrlFromServerUrl(url);
  if (
    resource !== undefined &&
    !sdk.checkResourceAllowed({ requestedResource: expected, configuredResource: resource })
  )
    throw new Error(`${url} says that it is the resource ${JSON.stringify(resource)}. Its login is not used for that.`);
  try {
    const next = await sdk.refreshAuthorization(authorizationServerUrl, {
      ...(authorizationServerMetadata === undefined ? {} : { metadata: authorizationServerMetadata }),
      clientInformation: client,
      refreshToken: tokens.refresh_token,
      ...(resource === undefined ? {} : { resource: new URL(resource) }),
      fetchFn: boundedFetch,
    });
    const scope = next.scope ?? tokens.scope;
    await change(login.credentials, url, { tokens: { ...next, issuer, ...(scope === undefined ? {} : { scope }) } });
    return true;
  } catch (error) {
    if (!(error instanceof sdk.OAuthError) || !refusals.has(error.code)) throw error;
    await change(login.credentials, url, { tokens: undefined });
    return false;
  }
}

/** Answers of an issuer that end a login. */
const refusals: ReadonlySet<string> = new Set(["invalid_grant", "invalid_client", "unauthorized_client"]);

async function authorizeClient(
  sdk: typeof Sdk,
  url: string,
  login: Extract<McpLogin, { readonly as: "client" }>,
  challenge: Challenge,
): Promise<void> {
  await sdk.auth(
    {
      ...createProvider(url, login, { grant_types: ["client_credentials"], redirect_uris: [] }),
      redirectUrl: undefined,
      prepareTokenRequest(scope) {
        const asked = scope ?? login.scope;
        return new URLSearchParams({
          grant_type: "client_credentials",
          ...(asked === undefined ? {} : { scope: asked }),
        });
      },
    },
    await authOptions(sdk, url, login, challenge),
  );
}

async function authorizePerson(
  sdk: typeof Sdk,
  url: string,
  login: Extract<McpLogin, { readonly as: "person" }>,
  challenge: Challenge,
): Promise<void> {
  const { show, howToLogIn } = login;
  if (show === undefined) throw createLoginNeededError(url, howToLogIn);
  const state = randomBytes(24).toString("base64url");
  const loopback = await openLoopback(login.port ?? 0, state);
  try {
    const provider: Sdk.OAuthClientProvider = {
      ...createProvider(url, login, {
        redirect_uris: [loopback.address],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
      }),
      redirectUrl: loopback.address,
      ...(login.clientMetadataUrl === undefined ? {} : { clientMetadataUrl: login.clientMetadataUrl }),
      state: () => state,
      redirectToAuthorization: show,
    };
    const options = await authOptions(sdk, url, login, challenge);
    if ((await sdk.auth(provider, options)) === "AUTHORIZED") return;
    const { code, iss } = await loopback.waitForCode(login.waitMs ?? defaultWaitMs);
    await sdk.auth(provider, { ...options, authorizationCode: code, ...(iss === undefined ? {} : { iss }) });
  } finally {
    loopback.close();
  }
}

/** A step up asks for what was granted before as well. */
async function authOptions(sdk: typeof Sdk, serverUrl: string, login: McpLogin, challenge: Challenge) {
  const granted = readTokens(await login.credentials.read(serverUrl))?.scope;
  const scope = challenge.isStepUp ? sdk.computeScopeUnion(granted, challenge.scope) : challenge.scope;
  return {
    serverUrl,
    fetchFn: boundedFetch,
    ...(challenge.metadataUrl === undefined ? {} : { resourceMetadataUrl: challenge.metadataUrl }),
    ...(scope === undefined ? {} : { scope }),
  };
}

/**
 * What the MCP library asks while somebody logs in. It is given no tokens: it would refresh them without the rules of this module.
 * What it learns on the way is in memory, and stored with the tokens.
 */
function createProvider(
  url: string,
  login: McpLogin,
  registration: Omit<Sdk.OAuthClientMetadata, "redirect_uris"> & { redirect_uris: string[] },
): Sdk.OAuthClientProvider {
  const { credentials, scope } = login;
  const known = clientOf(login);
  const [redirect] = registration.redirect_uris;
  let verifier = "";
  let registered: Client | undefined;
  let discovered: Sdk.OAuthDiscoveryState | undefined;
  return {
    redirectUrl: redirect,
    clientMetadata: { client_name: "Pawl", ...registration, ...(scope === undefined ? {} : { scope }) },
    async clientInformation() {
      if (known !== undefined || registered !== undefined) return known ?? registered;
      const stored = readClient(await credentials.read(url));
      // Not every authorization server ignores the port, so a registration is for one redirect address.
      return stored?.redirect_uris?.some((uri) => uri === redirect) === true ? stored : undefined;
    },
    ...(known === undefined
      ? {
          async saveClientInformation(client: Client) {
            registered = client;
          },
        }
      : {}),
    tokens: () => undefined,
    async saveTokens(tokens: Tokens) {
      await change(credentials, url, { tokens, ...(known === undefined ? { client: registered } : {}) });
    },
    redirectToAuthorization() {
      throw createLoginNeededError(url);
    },
    saveCodeVerifier(given) {
      verifier = given;
    },
    codeVerifier: () => verifier,
    saveDiscoveryState(found) {
      discovered = found;
    },
    discoveryState: () => discovered,
  };
}

function clientOf({ client }: McpLogin): Client | undefined {
  if (client === undefined) return undefined;
  return { client_id: client.id, ...(client.secret === undefined ? {} : { client_secret: client.secret }) };
}

function readTokens({ tokens }: McpStoredLogin): Tokens | undefined {
  const { access_token: token } = Object(tokens) as { readonly access_token?: unknown };
  return typeof token === "string" ? (tokens as unknown as Tokens) : undefined;
}

function readClient({ client }: McpStoredLogin): Client | undefined {
  const { client_id: id } = Object(client) as { readonly client_id?: unknown };
  return typeof id === "string" ? (client as unknown as Client) : undefined;
}

async function change(
  credentials: McpCredentials,
  url: string,
  changes: { readonly [name: string]: unknown },
): Promise<void> {
  const next = { ...(await credentials.read(url)), ...changes };
  const stored = Object.entries(next).filter(([, value]) => value !== undefined);
  await credentials.write(url, Object.fromEntries(stored) as { [name: string]: Json });
}

function createLoginNeededError(url: string, howToLogIn?: string): PawlError {
  const more = howToLogIn === undefined ? "" : ` ${howToLogIn}`;
  return new PawlError("login_needed", `The MCP server at ${url} needs a login, and nobody can log in here.${more}`);
}
