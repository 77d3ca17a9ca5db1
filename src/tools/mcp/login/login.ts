/**
 * Logs in to an MCP server by OAuth 2.1, as protocol 2026-07-28 specifies. The MCP library discovers servers, registers clients,
 * checks issuers and exchanges codes. This module stores the results and refreshes tokens, one process at a time.
 *
 * 1. Tokens belong to the address of the MCP server and to the issuer that issued them. A refresh token is sent to that issuer only.
 * 2. A refused request is sent again after a refresh, and again after a login, at most four times in all.
 * 3. If a refresh fails because of the network, the call fails. Only a refusal by the issuer ends a login.
 * 4. If nobody can log in, no client is registered and no login page is opened.
 */
import { randomBytes } from "node:crypto";
import type * as Sdk from "@modelcontextprotocol/client";
import type { Json } from "../../../core/data/message.js";
import { PawlError } from "../../../errors.js";
import type { McpCredentials, McpStoredLogin } from "./credentials.js";
import { boundedFetch } from "./login-fetch.js";
import { openLoopback } from "./loopback.js";

/** How Pawl logs in to an MCP server over HTTP. */
export type McpLogin = {
  /** Stores the login: `fileCredentials(path)`. */
  readonly credentials: McpCredentials;
  /** The scopes to request if the server names none. Default: those that the server supports. */
  readonly scope?: string;
  /** A client that is registered with the authorization server. Default: Pawl registers one, or uses `clientMetadataUrl`. */
  readonly client?: {
    /** The client's id at the authorization server. */
    readonly id: string;
    /** The client's secret. Default: none, as for a public client. */
    readonly secret?: string;
  };
} & (
  | {
      /** The program itself logs in, without a person. Requires `client` with a secret. */
      readonly as: "client";
    }
  | {
      /** A person logs in. */
      readonly as: "person";
      /**
       * Shows a person the address of the login page. The person's browser must run on this machine. Default: a call that needs a
       * login fails with `login_needed`.
       */
      readonly show?: (page: URL) => void | Promise<void>;
      /** Appended to the message of `login_needed`: what the person has to do. Default: nothing. */
      readonly howToLogIn?: string;
      /** The https address of this client's metadata document (CIMD). */
      readonly clientMetadataUrl?: string;
      /** The local port that the browser is redirected to. Default: any free port. */
      readonly port?: number;
      /** How long the person has to log in, in milliseconds. Default: 300,000. */
      readonly waitMs?: number;
    }
);

type Tokens = Sdk.StoredOAuthTokens;
type Client = Sdk.StoredOAuthClientInformation & { readonly redirect_uris?: readonly string[] };
type Challenge = { readonly metadataUrl?: URL; readonly scope?: string; readonly isStepUp: boolean };

const defaultWaitMs = 300_000;
/** Other processes may refresh tokens, and use them up, before this process gets its turn. */
const maxTries = 4;

/** Returns a `fetch` for one server that logs in when the server requires it. */
export function createLoginFetch(sdk: typeof Sdk, url: string, login: McpLogin): typeof fetch {
  const { credentials } = login;
  return async (input, init = {}) => {
    // The token is sent to this server only.
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
      const signal = init.signal ?? AbortSignal.timeout(defaultWaitMs * 2);
      await credentials.alone(
        url,
        async () => {
          const current = readTokens(await credentials.read(url))?.access_token;
          // Another process has already refreshed it.
          if (current !== undefined && current !== token) return;
          if (!hasRefreshed && !challenge.isStepUp && (await refresh(sdk, url, login, challenge))) hasRefreshed = true;
          else {
            // Nothing to refresh, or the refreshed token is refused as well: log in anew.
            await authorize(sdk, url, login, challenge, signal);
            hasLoggedIn = true;
          }
        },
        signal,
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
  await login.credentials.alone(url, () => authorize(sdk, url, login, { isStepUp: false }, signal), signal);
}

async function authorize(
  sdk: typeof Sdk,
  url: string,
  login: McpLogin,
  challenge: Challenge,
  signal: AbortSignal,
): Promise<void> {
  if (login.as === "client") await authorizeClient(sdk, url, login, challenge);
  else await authorizePerson(sdk, url, login, challenge, signal);
}

/** @returns false if there is no refresh token, or the issuer refuses it */
async function refresh(sdk: typeof Sdk, url: string, login: McpLogin, { metadataUrl }: Challenge): Promise<boolean> {
  const stored = await login.credentials.read(url);
  const tokens = readTokens(stored);
  const client = getConfiguredClient(login) ?? readClient(stored);
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
    throw new Error(`${url} claims to be the resource ${JSON.stringify(resource)}, so its login is not used.`);
  try {
    const next = await sdk.refreshAuthorization(authorizationServerUrl, {
      ...(authorizationServerMetadata === undefined ? {} : { metadata: authorizationServerMetadata }),
      clientInformation: client,
      refreshToken: tokens.refresh_token,
      ...(resource === undefined ? {} : { resource: new URL(resource) }),
      fetchFn: boundedFetch,
    });
    const scope = next.scope ?? tokens.scope;
    await updateLogin(login.credentials, url, {
      tokens: { ...next, issuer, ...(scope === undefined ? {} : { scope }) },
    });
    return true;
  } catch (error) {
    if (!(error instanceof sdk.OAuthError) || !refusals.has(error.code)) throw error;
    await updateLogin(login.credentials, url, { tokens: undefined });
    return false;
  }
}

/** OAuth errors that end a login. */
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
    await createAuthOptions(sdk, url, login, challenge),
  );
}

async function authorizePerson(
  sdk: typeof Sdk,
  url: string,
  login: Extract<McpLogin, { readonly as: "person" }>,
  challenge: Challenge,
  signal: AbortSignal,
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
    const options = await createAuthOptions(sdk, url, login, challenge);
    if ((await sdk.auth(provider, options)) === "AUTHORIZED") return;
    const { code, iss } = await loopback.waitForCode(login.waitMs ?? defaultWaitMs, signal);
    await sdk.auth(provider, { ...options, authorizationCode: code, ...(iss === undefined ? {} : { iss }) });
  } finally {
    loopback.close();
  }
}

/** A step-up requests the scopes that were granted before as well. */
async function createAuthOptions(sdk: typeof Sdk, serverUrl: string, login: McpLogin, challenge: Challenge) {
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
 * The MCP library's provider interface for a login. It returns no tokens, because the library would refresh them without a lock.
 * Registration and discovery stay in memory until the tokens are stored.
 */
function createProvider(
  url: string,
  login: McpLogin,
  registration: Omit<Sdk.OAuthClientMetadata, "redirect_uris"> & { redirect_uris: string[] },
): Sdk.OAuthClientProvider {
  const { credentials, scope } = login;
  const known = getConfiguredClient(login);
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
      await updateLogin(credentials, url, { tokens, ...(known === undefined ? { client: registered } : {}) });
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

function getConfiguredClient({ client }: McpLogin): Client | undefined {
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

async function updateLogin(
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
  return new PawlError("login_needed", `The MCP server at ${url} requires a login.${more}`);
}
