/**
 * The address that a server of the command line listens on, and the token that authorizes requests.
 */

import { chmodSync } from "node:fs";
import type { Server as HttpServer } from "node:http";
import { getErrorMessage } from "../../core/data/error-message.js";
import { PawlError } from "../../index.js";
import { createToken, type LogLine, type ServerOptions } from "../../server/index.js";
import { readSmallText } from "../files/small-file.js";

export type ListenOptions = {
  readonly port: number;
  readonly host: string;
  /** The path of a Unix socket; replaces `host` and `port`. */
  readonly socket?: string;
  readonly tokenFile?: string;
};

const loopback: ReadonlySet<string> = new Set(["127.0.0.1", "::1", "localhost"]);
const maxSecretBytes = 64 * 1024;

/** @throws PawlError `bad_configuration` */
export function resolveToken({ tokenFile, host, socket }: ListenOptions): {
  readonly token: string;
  readonly isProvided: boolean;
} {
  const provided = tokenFile === undefined ? process.env.PAWL_TOKEN : readSecret("--token-file", tokenFile);
  if (provided !== undefined && provided !== "") return { token: provided, isProvided: true };
  if (socket === undefined && !loopback.has(host))
    throw new PawlError(
      "bad_configuration",
      `${host} can be reached from other machines. Set your own token: --token-file, or the variable PAWL_TOKEN.`,
    );
  return { token: createToken(), isProvided: false };
}

/** @throws PawlError `bad_configuration` */
export function readSecret(option: string, path: string): string {
  const refuse = (why: string) => new PawlError("bad_configuration", `${option}: ${path} cannot be read: ${why}.`);
  const text = readSmallText(path, maxSecretBytes, refuse);
  if (text === null) throw refuse("there is no such file");
  return text.trim();
}

export function listen(http: HttpServer, { port, host, socket }: ListenOptions): Promise<void> {
  return new Promise((done, fail) => {
    const refuse = (cause: NodeJS.ErrnoException) =>
      fail(
        new PawlError("bad_configuration", `Cannot listen on ${socket ?? `${host}:${port}`}: ${cause.message}`, {
          cause,
        }),
      );
    http.once("error", refuse);
    const ready = () => {
      http.off("error", refuse);
      if (socket !== undefined) chmodSync(socket, 0o600);
      done();
    };
    if (socket === undefined) http.listen(port, host, ready);
    else http.listen(socket, ready);
  });
}

export function formatUrl(http: HttpServer, { socket }: ListenOptions): string {
  const address = http.address();
  if (typeof address !== "object" || address === null) return `unix:${socket}`;
  const host = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return `http://${host}:${address.port}`;
}

/** On loopback, only the loopback names are accepted. Otherwise, the names of the option are accepted. */
export function toHostOptions({ host, port, socket }: ListenOptions): Pick<ServerOptions, "hosts"> {
  return socket !== undefined || loopback.has(host) ? {} : { hosts: [`${host}:${port}`, host] };
}

/** The line contains no bodies and no tokens. */
export function formatLogLine({ at, requestId, principal, action, sessionId, status, error }: LogLine): string {
  const fields = [new Date(at).toISOString(), action, sessionId ?? "-", principal ?? "-", String(status), requestId];
  const failure = error === undefined ? [] : [getErrorMessage(error)];
  return [...fields, ...failure].join(" ");
}
