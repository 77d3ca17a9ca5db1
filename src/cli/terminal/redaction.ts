/**
 * Keeps secrets out of everything that the command line prints (TRC-2, SEC-14). Secrets are keys of known shapes, and
 * the values of environment variables with a name such as `API_KEY` or `TOKEN`.
 *
 * A call that a person is asked to approve is not redacted, because they must see exactly what would run (SEC-6).
 */

import {
  createRedaction,
  createStreamRedaction,
  type Json,
  type Redact,
  redactJson,
  type StreamItem,
} from "../../index.js";
import type { Environment } from "../files/store-location.js";

const secretNamePattern = /(?:^|_)(?:API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|SECRET(?:_?KEY)?|TOKEN|PASSWORD|PASSWD)$/i;
const minSecretLength = 8;

/** The values of environment variables whose names suggest a secret, and the password in `PAWL_STORE`. */
export function listSecrets(environment: Environment): readonly string[] {
  return [
    ...Object.entries(environment),
    ["PAWL_STORE_PASSWORD", readPassword(environment.PAWL_STORE)] as const,
  ].flatMap(([name, value = ""]) => (secretNamePattern.test(name) && value.length >= minSecretLength ? [value] : []));
}

function readPassword(address = ""): string {
  return URL.canParse(address) ? decodeURIComponent(new URL(address).password) : "";
}

export type Redaction = {
  readonly text: Redact;
  /** Returns a redacted copy of plain data. */
  readonly value: <T>(value: T) => T;
  /** Redacts the items of one stream, which must be passed in order. */
  readonly stream: () => (item: StreamItem) => readonly StreamItem[];
};

export function createTerminalRedaction(environment: Environment): Redaction {
  const values = listSecrets(environment);
  const text = createRedaction({ values });
  // The casts hold because redaction changes strings in plain data and keeps its shape.
  const value = <T>(data: T): T => redactJson(data as Json, text) as T;
  return { text, value, stream: () => createStreamRedaction(text, { values }) };
}
