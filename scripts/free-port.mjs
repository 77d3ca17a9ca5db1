/**
 * A port of this machine for a server that a script starts.
 */
import { once } from "node:events";
import { createServer } from "node:net";

/** A port that is free now. */
export async function freePort() {
  const probe = createServer();
  probe.listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address();
  probe.close();
  await once(probe, "close");
  return port;
}
