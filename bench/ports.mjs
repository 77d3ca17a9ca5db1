/**
 * Servers that a bench starts: ports for them, and when they answer.
 */
import { once } from "node:events";
import { createServer } from "node:net";

/** Held all at once, so that they differ. */
export async function freePorts(count) {
  const holders = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(holders.map((holder) => once(holder, "listening")));
  const ports = holders.map((holder) => holder.address().port);
  await Promise.all(holders.map((holder) => once(holder.close(), "close")));
  return ports;
}

/** Waits until the server answers that it is well. The caller ends the wait if the server ends. */
export async function healthy(url) {
  for (;;) {
    const response = await fetch(url).catch(() => undefined);
    await response?.arrayBuffer();
    if (response?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
