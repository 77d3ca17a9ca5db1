/**
 * The options of a login to an MCP server.
 */
import {
  aFunction,
  anObject,
  anyValue,
  checkOptions,
  nonEmptyString,
  type OptionTable,
  timeLimit,
} from "../../../check-options.js";
import { PawlError } from "../../../errors.js";
import { isSafeForSecrets } from "../../../platform/loopback.js";
import type { McpLogin, PersonLogin } from "./contract.js";

type ClientLogin = Extract<McpLogin, { readonly as: "client" }>;

const commonRules = { as: anyValue, credentials: anObject, scope: nonEmptyString, client: anObject };

const clientRules: OptionTable<ClientLogin> = commonRules;

const personRules: OptionTable<PersonLogin> = {
  ...commonRules,
  show: aFunction,
  redirectUrl: {
    accepts: (value) => typeof value === "string" && isSafeForSecrets(value),
    expected: "an address that begins with https://",
  },
  howToLogIn: nonEmptyString,
  clientMetadataUrl: nonEmptyString,
  port: {
    accepts: (value) => typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value < 65_536,
    expected: "a port from 0 to 65535",
  },
  waitMs: timeLimit,
};

const knownClientRules: OptionTable<NonNullable<McpLogin["client"]>> = { id: nonEmptyString, secret: nonEmptyString };

/** Whether tokens can be sent to a server at this address. */
export function canLogInTo(url: string): boolean {
  return isSafeForSecrets(url);
}

/** @throws PawlError `bad_configuration` */
export function checkLogin(url: string, login: McpLogin): void {
  if (login.as === "person") checkOptions("login", personRules, login);
  else if (login.as === "client") checkOptions("login", clientRules, login);
  else throw new PawlError("bad_configuration", 'login.as must be "person" or "client".');
  if (login.as === "person" && login.show !== undefined && login.redirectUrl !== undefined)
    throw new PawlError("bad_configuration", "A login has either `show` or `redirectUrl`, not both.");
  const { credentials, client } = login;
  if (client !== undefined) checkOptions("login.client", knownClientRules, client);
  if (client !== undefined && client.id === undefined)
    throw new PawlError("bad_configuration", "login.client needs an id.");
  if (login.as === "client" && client?.secret === undefined)
    throw new PawlError("bad_configuration", 'A login as "client" needs login.client with an id and a secret.');
  if (typeof credentials?.read !== "function")
    throw new PawlError("bad_configuration", "login.credentials is missing. Use fileCredentials(path).");
  if (!canLogInTo(url))
    throw new PawlError(
      "bad_configuration",
      `Cannot log in to ${JSON.stringify(url)}: tokens would be sent without encryption. Use an address that begins with https://.`,
    );
}
