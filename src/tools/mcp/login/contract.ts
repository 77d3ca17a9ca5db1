/**
 * How a program logs in to an MCP server.
 */
import type { McpCredentials } from "./credentials.js";

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
      /**
       * The address of your server to which browsers are redirected after a login: `finishMcpLogin` completes the login there. A call
       * that needs a login then asks a person, and goes on after the login. Cannot be combined with `show`.
       */
      readonly redirectUrl?: string;
      /** Appended to the message of `login_needed`: what the person has to do. Default: nothing. */
      readonly howToLogIn?: string;
      /** The https address of this client's metadata document (CIMD). */
      readonly clientMetadataUrl?: string;
      /** The local port that the browser is redirected to. Default: any free port. */
      readonly port?: number;
      /**
       * How long the person has to log in, in milliseconds. With `redirectUrl`, the question of each call that shows the login page expires
       * after this time, and the call fails with `login_needed`. When all of them have expired, the next call shows another page. Default:
       * 300,000, and two weeks with `redirectUrl`.
       */
      readonly waitMs?: number;
    }
);

/** A login by a person. */
export type PersonLogin = Extract<McpLogin, { readonly as: "person" }>;
