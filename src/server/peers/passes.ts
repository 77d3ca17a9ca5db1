/**
 * Passes, by which the processes of a server prove to each other that they know the secret (SEC-19).
 *
 * 1. The secret is never sent. A request has a pass: a keyed hash of the time, the requested address and the session. A process that
 *    receives a request by mistake, because its address used to belong to another process, cannot use the pass.
 * 2. A pass is compared in constant time. It is valid for five minutes, because clocks differ between machines.
 */

import { createKeys } from "../keys.js";
import { isEqualInConstantTime } from "../principal.js";

export type Passes = {
  /** Creates the `authorization` header of a request. `now` is in epoch milliseconds. */
  readonly sign: (address: string, sessionId: string, now: number) => string;
  readonly isValid: (header: string | null, address: string, sessionId: string, now: number) => boolean;
};

const validForMs = 5 * 60_000;

export function createPasses(secret: string): Passes {
  const keys = createKeys(secret);
  const computeMac = (time: number, address: string, sessionId: string) =>
    keys.sign("pawl live 2", JSON.stringify([time, address, sessionId]));

  return {
    sign: (address, sessionId, now) => `Pawl-Peer ${now}.${computeMac(now, address, sessionId)}`,
    isValid(header, address, sessionId, now) {
      const [, time = "", mac = ""] = /^Pawl-Peer (\d{1,15})\.([0-9a-f]{64})$/.exec(header ?? "") ?? [];
      if (mac === "" || Math.abs(now - Number(time)) > validForMs) return false;
      return isEqualInConstantTime(mac, computeMac(Number(time), address, sessionId));
    },
  };
}
