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
import { PawlError } from "../../../errors.js";
import type { McpLogin, PersonLogin } from "./contract.js";
import { boundedFetch } from "./login-fetch.js";
import { openLoopback, readCode, waitForPerson } from "./loopback.js";
import {
  createLoginNeededError,
  createMemory,
  createPersonProvider,
  createProvider,
  getConfiguredClient,
  readClient,
  readTokens,
  updateLogin,
} from "./provider.js";
import {
  canShare,
  createLoginPageError,
  createState,
  isExpired,
  type LoginPage,
  type PendingLogin,
  parseState,
  readPendingLogin,
  toStoredPending,
} from "./remote-login.js";

type Challenge = { readonly metadataUrl?: URL; readonly scope?: string; readonly isStepUp: boolean };

const defaultWaitMs = 300_000;
/** With `redirectUrl`: as long as a call follows a task. */
const defaultRemoteWaitMs = 14 * 24 * 3_600_000;
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
  login: PersonLogin,
  challenge: Challenge,
  signal: AbortSignal,
): Promise<void> {
  const { show, howToLogIn, redirectUrl, waitMs = defaultWaitMs } = login;
  if (redirectUrl !== undefined) throw createLoginPageError(url, await beginRemoteLogin(sdk, url, login, challenge));
  if (show === undefined) throw createLoginNeededError(url, howToLogIn);
  const state = randomBytes(24).toString("base64url");
  const loopback = await openLoopback(login.port ?? 0, state);
  try {
    // The caller has the lock of the credentials, for which other calls wait.
    const showInTime = (page: URL) => waitForPerson((async () => show(page))(), waitMs, signal);
    const provider = createPersonProvider(url, login, loopback.address, state, showInTime);
    const options = await createAuthOptions(sdk, url, login, challenge);
    if ((await sdk.auth(provider, options)) === "AUTHORIZED") return;
    const { code, iss } = await loopback.waitForCode(waitMs, signal);
    await sdk.auth(provider, { ...options, authorizationCode: code, ...(iss === undefined ? {} : { iss }) });
  } finally {
    loopback.close();
  }
}

/** Begins a login, or returns the one in progress. The caller has the lock of the credentials. */
async function beginRemoteLogin(
  sdk: typeof Sdk,
  url: string,
  login: PersonLogin,
  challenge: Challenge,
): Promise<LoginPage> {
  const { credentials, redirectUrl = "", waitMs = defaultRemoteWaitMs } = login;
  const options = await createAuthOptions(sdk, url, login, challenge);
  /** Stores the login with a new expiry: the person who gets the page last also has `waitMs` to log in. */
  const store = async ({ expiresAt: _, ...begun }: PendingLogin): Promise<LoginPage> => {
    const next = { ...begun, ...(Number.isFinite(waitMs) ? { expiresAt: Date.now() + waitMs } : {}) };
    await updateLogin(credentials, url, { pending: toStoredPending(next) });
    return toLoginPage(next);
  };
  const pending = readPendingLogin(await credentials.read(url));
  if (pending !== null && canShare(pending, redirectUrl, options.scope)) return store(pending);
  const memory = createMemory();
  const state = createState(url);
  let page = "";
  const keepPage = ({ href }: URL) => {
    page = href;
  };
  const provider = createPersonProvider(url, login, redirectUrl, state, keepPage, memory);
  await sdk.auth(provider, options);
  return store({ state, page, redirectUrl, scope: options.scope ?? null, memory });
}

function toLoginPage({ page, expiresAt }: PendingLogin): LoginPage {
  return expiresAt === undefined ? { page } : { page, expiresAt };
}

/**
 * Completes a login that `redirectUrl` began.
 * @throws PawlError `bad_input` if the redirect does not belong to it, `login_needed` if it has expired
 */
export async function finishRemoteLogin(
  sdk: typeof Sdk,
  login: PersonLogin,
  parameters: URLSearchParams,
  signal: AbortSignal,
): Promise<{ readonly url: string; readonly page: string }> {
  const { credentials } = login;
  const state = parameters.get("state") ?? "";
  const url = parseState(state);
  const unknown = () => new PawlError("bad_input", "This redirect does not belong to a login that is in progress.");
  if (url === null) throw unknown();
  const readOwnPending = async () => {
    const pending = readPendingLogin(await credentials.read(url));
    if (pending === null || pending.state !== state) throw unknown();
    if (isExpired(pending))
      throw new PawlError(
        "login_needed",
        `The login page for the MCP server at ${url} has expired. The next call that needs the login shows another page.`,
      );
    return pending;
  };
  // Anyone can send a redirect, and calls that refresh their tokens wait for the lock: a forged one does not take it.
  await readOwnPending();
  return credentials.alone(
    url,
    async () => {
      const pending = await readOwnPending();
      const { code, iss } = readCode(parameters);
      const { redirectUrl, scope, memory, page } = pending;
      await sdk.auth(
        createPersonProvider(url, login, redirectUrl, state, () => {}, memory),
        {
          serverUrl: url,
          fetchFn: boundedFetch,
          ...(scope === null ? {} : { scope }),
          authorizationCode: code,
          ...(iss === undefined ? {} : { iss }),
        },
      );
      await updateLogin(credentials, url, { pending: undefined });
      return { url, page };
    },
    signal,
  );
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
